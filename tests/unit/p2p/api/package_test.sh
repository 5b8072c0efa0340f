#!/bin/sh
# package_test.sh <cmake> <build folder> <C source> <C compiler> [sanitizer]: installs the component p2p into an empty
# folder, finds it there as a CMake package and through pkg-config, builds the source against it and runs it.
set -eu
cmake=$1 build=$2 source=$3 compiler=$4
[ -z "${5:-}" ] || exit 77 # a sanitizer's library needs a program that was built for it
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$cmake" --install "$build" --component p2p --prefix "$place/prefix" > "$place/install.log" ||
    { cat "$place/install.log"; exit 1; }

mkdir "$place/user"
cat > "$place/user/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(duofi_p2p REQUIRED CONFIG)
find_package(Threads REQUIRED)
add_executable(user ${USER_SOURCE})
target_link_libraries(user PRIVATE duofi::p2p Threads::Threads)
END
"$cmake" -G Ninja -S "$place/user" -B "$place/out" -DCMAKE_PREFIX_PATH="$place/prefix" -DUSER_SOURCE="$source" \
    -DCMAKE_C_COMPILER="$compiler" > "$place/configure.log" || { cat "$place/configure.log"; exit 1; }
"$cmake" --build "$place/out" > "$place/build.log" || { cat "$place/build.log"; exit 1; }
"$place/out/user"

command -v pkg-config > /dev/null || exit 0
PKG_CONFIG_PATH=$(dirname "$(find "$place/prefix" -name duofi-p2p.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$compiler" "$source" -o "$place/second" $(pkg-config --cflags --libs duofi-p2p) -pthread
LD_LIBRARY_PATH=$(pkg-config --variable=libdir duofi-p2p) "$place/second"
