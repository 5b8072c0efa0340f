#!/bin/sh
# module_exports_test.sh <module> [sanitizers [allow-list [SONAME]]]: what the built module shows to the dynamic linker.
# Exports are the allow-list (exports.txt; a number behind a name is its size), it needs only what an RHEL 9 has, and it
# can be unloaded. Exit 77: not judged.
set -u
module=$1
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${2:-}" ]; then
    echo "skipped: a module built with sanitizers ($2) exports and needs more"
    exit 77
fi
failed=0
complain() { echo "$module: $*"; failed=1; }

for tool in nm readelf strings; do
    command -v $tool >/dev/null || { echo "$tool is missing"; exit 1; }
done
[ -r "$module" ] || { echo "$module cannot be read"; exit 1; }

# Exports: exactly the list, and none of the unique kind, which would forbid dlclose.
exports=$(nm -D --defined-only "$module" | awk '{print $NF}' | sed 's/@.*//' | sort)
list=$here/${3:-exports.txt}
allowed=$(sed 's/#.*//; /^[[:space:]]*$/d; s/[[:space:]].*//' "$list" | sort)
[ "$exports" = "$allowed" ] || complain "exports [$(echo $exports)], not [$(echo $allowed)]"
sizes=$(nm -D -S --defined-only "$module" | awk '{print $NF, $2}' | sed 's/@[^ ]*//')
for name in $allowed; do
    wanted=$(awk -v name="$name" '$1 == name {print $2}' "$list")
    has=$(echo "$sizes" | awk -v name="$name" '$1 == name {print $2}')
    [ -z "$wanted" ] || [ "$((0x${has:-0}))" = "$wanted" ] || complain "$name has $((0x${has:-0})) bytes, not $wanted"
done
unique=$(readelf -W --dyn-syms "$module" | awk '$5 == "UNIQUE"' | wc -l)
[ "$unique" = 0 ] || complain "$unique unique symbols among the dynamic ones"

dynamic=$(readelf -d "$module")
soname=$(echo "$dynamic" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
[ "$soname" = "${4:-}" ] || complain "has the SONAME '$soname', not '${4:-}'"
if echo "$dynamic" | grep -qE 'NODELETE|TEXTREL'; then complain "is marked NODELETE or TEXTREL"; fi
if echo "$dynamic" | grep -qE 'R(UN)?PATH'; then complain "carries a library search path"; fi
for library in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $library in
        libfabric.so.1 | libhwloc.so.15 | libstdc++.so.6 | libgcc_s.so.1 | libc.so.6 | libm.so.6) ;;
        ld-linux* | libpthread.so.0 | libdl.so.2 | librt.so.1) ;;
        *) complain "needs $library" ;;
    esac
done

# Newest version of every family that the module asks for; 2.34, 3.4.29 and 1.3.13 are those of RHEL 9.
newest_allowed() { # newest_allowed <family> <version>
    for version in $(readelf -W -V "$module" | grep -oE "Name: $1_[0-9.]+" | sed "s/.*$1_//" | sort -u); do
        last=$(printf '%s\n%s\n' "$version" "$2" | sort -V | tail -n 1)
        [ "$last" = "$2" ] || complain "needs $1_$version, newer than $1_$2"
    done
}
newest_allowed GLIBC 2.34
newest_allowed GLIBCXX 3.4.29
newest_allowed CXXABI 1.3.13
newest_allowed GCC 11.0

strings -a "$module" | grep -q 'duofi ' || complain "has no version string that starts with 'duofi '"
[ $failed = 0 ] && echo "$module: exports and needs are as allowed"
exit $failed
