#!/usr/bin/env bash
# rail_rate.sh <build folder>: two nodes joined by two interfaces of 1 Gbit/s each; large messages over one rail and over two, in
# turns. Prints the rates and fails if the middle one of two rails is less than 1.8 times that of one.
set -euo pipefail
build=${1:?build folder}
export DUOFI_PLUGIN_PATH=$build/lib/libduofi-plugin.so
rate() {
    DUOFI_NET_TCP_RAILS=$1 "$build/tests/conformance/net_rail_rate" --protocol=rdma --provider=native --nodes=2,rate=1000 |
        sed -n 's/.*rate \([0-9.]*\) MB.*/\1/p'
}
one=() two=()
for _ in 1 2 3; do
    one+=("$(rate 1)")
    two+=("$(rate 2)")
done
middle() { printf '%s\n' "$@" | sort -n | sed -n 2p; }
echo "one rail: ${one[*]} MB/s; two rails: ${two[*]} MB/s"
awk -v one="$(middle "${one[@]}")" -v two="$(middle "${two[@]}")" \
    'BEGIN { printf "two rails are %.2f times one\n", two / one; exit !(one > 0 && two >= 1.8 * one) }'
