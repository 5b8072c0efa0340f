#!/bin/sh
# Installs the gin library alone and builds and runs the program of docs/gin.md against it, as a
# stranger would. Arguments: cmake, build folder, C++ compiler, page, plugin.
set -eu
cmake=$1 build=$2 compiler=$3 page=$4 plugin=$5

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }

"$cmake" --install "$build" --component gin --prefix "$folder/prefix" >"$folder/log" ||
    fail "install: $(cat "$folder/log")"
pc=$(find "$folder/prefix" -name duofi-gin.pc)
[ -n "$pc" ] || fail "no duofi-gin.pc"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
cd "$folder"

# Every header is there with all that it includes.
(cd prefix/include/duofi && find common -name '*.h' -o -name '*.hpp') | LC_ALL=C sort |
    sed 's/.*/#include "&"/' >headers.cpp
[ "$(wc -l <headers.cpp)" -gt 20 ] || fail "too few headers"
# shellcheck disable=SC2046  # options are meant to split
"$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags duofi-gin) headers.cpp

awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$page" >ring.cpp
# shellcheck disable=SC2046
"$compiler" -std=c++20 -O1 -Wall -Wextra -Werror ring.cpp \
    $(pkg-config --cflags --libs duofi-gin) -o ring

export NCCL_RMA_PLUGIN="$plugin" DUOFI_OFI_PROVIDER=shm
for mode in record replay; do
    ./ring $mode >"$mode.out" 2>"$mode.err" || fail "$mode: $(cat "$mode.out" "$mode.err")"
    [ "$(grep -c '^rank [0-3]: right$' "$mode.out")" = 4 ] || fail "$mode: $(cat "$mode.out")"
    for rank in 0 1 2 3; do
        [ -s ring.$rank.json ] || fail "$mode: no trace of rank $rank"
        rm ring.$rank.json
    done
done
