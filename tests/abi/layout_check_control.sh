#!/bin/sh
# layout_check_control.sh <C++ compiler> <source root>: common/abi/layout_check compiles, and stops compiling as
# soon as any one struct of the caller headers gets a field too many or has its fields in another order.
set -eu
cxx=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/common/abi"
failed=0 changed=0

compiles() { # headers come from the copy first
    $cxx -std=c++20 -I"$work" -I"$root" -fsyntax-only "$root/common/abi/layout_check.cpp" 2>"$work/log"
}

# change <insert|rotate> <number of the struct>: rewrites one header text, stdin to stdout; fails if nothing changed.
change() {
    awk -v how="$1" -v wanted="$2" '
        /^typedef struct \{/ { number++; if (number == wanted) { print; inside = 1; members = ""; last = ""; next } }
        inside && /^\}/ {
            inside = 0
            if (how == "insert") { print "    char inserted;"; printf "%s%s", members, last; done = 1 }
            else { printf "%s%s", last, members; done = members != "" }
        }
        inside {
            text = text $0 "\n"
            if ($0 ~ /;/) { members = members last; last = text; text = "" }
            next
        }
        { print }
        END { exit !done }'
}

cp "$root"/common/abi/*.h "$work/common/abi/"
compiles || { cat "$work/log"; echo "layout_check does not compile"; exit 1; }

for header in "$root"/common/abi/*.h; do
    copy=$work/common/abi/$(basename "$header")
    structs=$(grep -c '^typedef struct {' "$header" || true)
    number=0
    while [ "$number" -lt "$structs" ]; do
        number=$((number + 1))
        for how in insert rotate; do
            change $how $number <"$header" >"$copy" || continue # a struct of one field has one order
            changed=$((changed + 1))
            if compiles; then
                echo "$how in struct $number of $(basename "$header") went unnoticed"
                failed=1
            elif ! grep -qE 'static assertion|static_assert|constexpr|constant expression' "$work/log"; then
                echo "$how in struct $number of $(basename "$header") failed for another reason:"
                head -n 5 "$work/log"
                failed=1
            fi
        done
    done
    cp "$header" "$copy"
done
[ "$changed" -ge 40 ] || { echo "only $changed changes tried"; failed=1; }
echo "$changed changes tried"
exit $failed
