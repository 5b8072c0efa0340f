#!/bin/sh
# exports_test.sh <library> <source root> [sanitizers]: what libduofi-p2p.so shows: every function that p2p/p2p.h
# declares, the two tables of p2p/abi.h, nothing else; what it needs; and V-1 from the outside: the words of the vtable
# that have no relocation are the six empty slots. Exit 77: not judged.
set -eu
library=$1 root=$2
if [ -n "${3:-}" ]; then
    echo "skipped: a library built with sanitizers ($3) exports and needs more"
    exit 77
fi
failed=0
complain() { echo "$library: $*"; failed=1; }
for tool in nm readelf; do
    command -v $tool >/dev/null || { echo "$tool is missing"; exit 1; }
done

declared=$(grep -oE '\bduofiP2p[A-Za-z0-9]+\(' "$root/p2p/p2p.h" | tr -d '(' | sort -u)
[ "$(echo "$declared" | wc -l)" -ge 20 ] || complain "only $(echo "$declared" | wc -l) functions found in p2p.h"
wanted=$(printf '%s\nncclTransports\np2pTransport\n' "$declared" | sort)
exports=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort)
[ "$exports" = "$wanted" ] || complain "exports [$(echo $exports)], not [$(echo $wanted)]"

dynamic=$(readelf -d "$library")
echo "$dynamic" | grep -q 'SONAME.*libduofi-p2p\.so\.[0-9]' || complain "has no SONAME libduofi-p2p.so.N"
if echo "$dynamic" | grep -qE 'TEXTREL|NODELETE'; then complain "is marked NODELETE or TEXTREL"; fi
for needed in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $needed in
        libhwloc.so.15 | libexpat.so.1 | libstdc++.so.6 | libgcc_s.so.1 | libc.so.6 | libm.so.6 | ld-linux* | libpthread.so.0 | libdl.so.2 | librt.so.1) ;;
        *) complain "needs $needed" ;;
    esac
done

# The vtable: 120 bytes, words at 0x10.. with a relocation, but for those of proxy, allocRequest and freeRequest (C-4).
at=$(nm -D "$library" | awk '$3 == "p2pTransport" {print $1}')
size=$(readelf -W --dyn-syms "$library" | awk '$8 == "p2pTransport" {print $3}')
[ "$size" = 120 ] || complain "p2pTransport has $size bytes, not 120"
size=$(readelf -W --dyn-syms "$library" | awk '$8 == "ncclTransports" {print $3}')
[ "$size" = 16 ] || complain "ncclTransports has $size bytes, not 16"
relocated=$(readelf -W -r "$library" | awk '{print $1}' | sed 's/^0*//')
for offset in 16 24 32 40 48 56 64 72 80 88 96 104 112; do
    address=$(printf '%x' $((0x$at + offset)))
    case $offset in
        48 | 56 | 64 | 96 | 104 | 112) expected=0 ;;
        *) expected=1 ;;
    esac
    found=$(echo "$relocated" | grep -cx "$address" || true)
    [ "$found" = $expected ] || complain "offset $offset of p2pTransport has $found relocations, not $expected"
done
[ $failed = 0 ] && echo "$library: exports, needs and vtable are as they should be"
exit $failed
