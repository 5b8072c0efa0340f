#!/bin/sh
# module_exports_control.sh <C compiler>: module_exports_test.sh accepts a small module that is right and
# refuses one for each rule that it breaks.
set -u
cc=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
source=$work/m.c
trap 'rm -rf "$work"' EXIT
failed=0
names=$(sed 's/#.*//; /^[[:space:]]*$/d; s/[[:space:]].*//' "$here/exports.txt")

good() {
    echo 'const char version_text[] __attribute__((visibility("hidden"), used)) = "duofi 0.0.0";'
    for name in $names; do echo "const void *const $name = version_text;"; done
}

# control <status> <part of the message> <label> <compiler and linker flags>: judges the source in $source
control() {
    want=$1 part=$2 label=$3
    shift 3
    if ! $cc -shared -fPIC -o "$work/m.so" "$source" "$@" 2>"$work/log"; then
        echo "control '$label' does not build"
        cat "$work/log"
        failed=1
        return
    fi
    sh "$here/module_exports_test.sh" "$work/m.so" >"$work/log"
    got=$?
    if [ $got != "$want" ] || ! grep -q -- "$part" "$work/log"; then
        echo "control '$label': status $got, wanted $want with '$part'"
        cat "$work/log"
        failed=1
    fi
}

good >"$source"
control 0 "as allowed" "right"
control 1 "SONAME" "with a SONAME" -Wl,-soname,libm.so
control 1 "NODELETE" "cannot be unloaded" -Wl,-z,nodelete
control 1 "search path" "with a search path" -Wl,-rpath,/nowhere

{ good; echo 'int extra(void) { return 1; }'; } >"$source"
control 1 "exports" "one export too many"
good | sed '2,$d' >"$source"
control 1 "exports" "no export"
good | sed 's/duofi /other /' >"$source"
control 1 "version string" "without version string"
{ good; echo '__asm__(".globl u; .type u, @gnu_unique_object; .data; u: .long 1; .size u, 4; .text");'; } >"$source"
control 1 "unique" "unique symbol"

uses() { # uses <function>: the right module, but calling into another library
    good
    echo "extern int $1(void);"
    echo "__attribute__((visibility(\"hidden\"), used)) int caller(void) { return $1(); }"
}
echo 'int other(void) { return 0; }' >"$work/other.c"
$cc -shared -fPIC -Wl,-soname,libother.so.3 -o "$work/libother.so" "$work/other.c"
uses other >"$source"
control 1 "needs libother.so.3" "one library too many" -L"$work" -lother

printf 'GLIBC_2.90 { global: other; };\n' >"$work/new.map"
$cc -shared -fPIC -Wl,-soname,libm.so.6 -Wl,--version-script="$work/new.map" -o "$work/libnew.so" "$work/other.c"
control 1 "GLIBC_2.90" "too new a C library" -L"$work" -lnew

# A list with sizes and a SONAME, as Neuron's module has.
{
    echo 'const char version_text[] __attribute__((visibility("hidden"), used)) = "duofi 0.0.0";'
    echo 'char ncclNetPlugin_v4[128], ncclNetPlugin_v5[168], ncclNetPlugin_v6[176];'
} >"$source"
neuron() { # neuron <status> <part of the message> <label> <flags>
    want=$1 part=$2 label=$3
    shift 3
    $cc -shared -fPIC -o "$work/m.so" "$source" "$@" || failed=1
    sh "$here/module_exports_test.sh" "$work/m.so" '' exports_neuron.txt libnccom-net.so >"$work/log"
    if [ $? != "$want" ] || ! grep -q -- "$part" "$work/log"; then
        echo "control '$label':"
        cat "$work/log"
        failed=1
    fi
}
neuron 0 "as allowed" "sizes and SONAME right" -Wl,-soname,libnccom-net.so
neuron 1 "SONAME ''" "without its SONAME"
sed -i 's/\[168\]/[136]/' "$source"
neuron 1 "ncclNetPlugin_v5 has 136 bytes, not 168" "a table of another size" -Wl,-soname,libnccom-net.so

sh "$here/module_exports_test.sh" "$work/m.so" address >/dev/null
[ $? = 77 ] || { echo "a sanitized module is not skipped"; failed=1; }
[ $failed = 0 ] && echo "all controls behave"
exit $failed
