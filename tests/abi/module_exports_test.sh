#!/bin/sh
# module_exports_test.sh <module> [sanitizers]: what the built module shows to the dynamic linker. Exports are
# the allow-list exports.txt, it needs only what an RHEL 9 has, and it can be unloaded. Exit 77: not judged.
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
allowed=$(sed 's/#.*//; /^[[:space:]]*$/d' "$here/exports.txt" | sort)
[ "$exports" = "$allowed" ] || complain "exports [$(echo $exports)], not [$(echo $allowed)]"
unique=$(readelf -W --dyn-syms "$module" | awk '$5 == "UNIQUE"' | wc -l)
[ "$unique" = 0 ] || complain "$unique unique symbols among the dynamic ones"

dynamic=$(readelf -d "$module")
if echo "$dynamic" | grep -q SONAME; then complain "has a SONAME"; fi
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
