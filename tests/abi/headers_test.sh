#!/bin/sh
# headers_test.sh <C compiler> <C++ compiler> <source root>: every caller header compiles alone as C99 and
# as C++20 without a warning, included once or twice, and all of them together in any order.
set -eu
cc=$1 cxx=$2 root=$3
warnings="-Wall -Wextra -Wpedantic -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

compile() { # compile <file without extension>, text on stdin
    cat >"$work/$1.c"
    cp "$work/$1.c" "$work/$1.cpp"
    $cc -std=c99 $warnings -Wstrict-prototypes -Wc++-compat -I"$root" -fsyntax-only "$work/$1.c" &&
        $cxx -std=c++20 $warnings -I"$root" -fsyntax-only "$work/$1.cpp"
}

if echo 'ncclResult_t undeclared(void);' | compile control 2>/dev/null; then
    echo "control: a missing include went unnoticed"
    exit 1
fi
if printf '#include "common/abi/net_v6.h"\ntypedef char ncclNet_v6_t;\n' | compile control 2>/dev/null; then
    echo "control: a clash of names went unnoticed"
    exit 1
fi

headers=$(cd "$root" && ls common/abi/*.h p2p/*.h)
for header in $headers; do
    include="#include \"$header\""
    printf '%s\n%s\nextern int not_empty;\n' "$include" "$include" |
        compile "$(basename "$header" .h)" || { echo "$header does not compile alone"; failed=1; }
    outside=$(grep -E '^ *# *include' "$root/$header" |
        grep -vE '<(stdint|stddef|stdbool)\.h>|"common/abi/[a-z0-9_]+\.h"' || true)
    [ -z "$outside" ] || { echo "$header includes $outside"; failed=1; }
done
echo "$headers" | sed 's/.*/#include "&"/' | compile upwards || { echo "all together fails"; failed=1; }
echo "$headers" | sort -r | sed 's/.*/#include "&"/' | compile downwards ||
    { echo "all together in reverse fails"; failed=1; }
count=$(echo "$headers" | wc -l)
[ "$count" -ge 14 ] || { echo "only $count headers found"; failed=1; }
echo "$count headers checked"
exit $failed
