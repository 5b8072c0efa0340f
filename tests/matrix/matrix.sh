#!/usr/bin/env bash
# matrix.sh <build folder> [--write]: runs the bodies of every table over every provider and libfabric, prints the table,
# writes it to <build folder>/guarantees.md and, with --write, into docs/guarantees.md. Fails if a cell fails.
# DUOFI_MATRIX_LIBFABRIC: folders that hold a libfabric.so.1, with colons between them; the system's is always there.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?build folder}
out=$build/guarantees.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DUOFI_RMA=1 NCCL_RMA_PLUGIN=duofi DUOFI_PLUGIN_PATH=$build/lib/libduofi-plugin.so
bad=0

tables=("net v6" "net-rdma v6")
for version in 13 14 15 16; do tables+=("rma v$version"); done
[ -x "$build/tests/conformance/neuron/neuron_conformance" ] &&
    for version in 4 5 6; do tables+=("neuron v$version"); done

# fact <key>: from the last run of provider_facts
fact() { awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$work/facts"; }

# cell <table>: what the bodies of it say about $provider
cell() {
    local kind=${1% *} version=${1##*v} program log=$work/log
    case $kind in
        net) program=("$build/tests/conformance/net_conformance" --protocol=sendrecv) ;;
        net-rdma) program=("$build/tests/conformance/net_conformance" --protocol=rdma) ;;
        rma) program=("$build/tests/conformance/rma/rma_conformance" "--version=$version") ;;
        neuron) program=("$build/tests/conformance/neuron/neuron_conformance" "--version=$version") ;;
    esac
    if [ "$kind" = rma ] && [ -n "$(fact 'no one-sided')" ]; then
        FI_PROVIDER=$provider NCCL_DEBUG=INFO LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
            timeout 60 "$build/examples/03_put_with_signal" >"$log" 2>&1
        grep -q 'cannot serve one-sided operations' "$log" && printf 'refused: %s' "$(fact 'no one-sided')" && return
    elif timeout 900 "${program[@]}" "--provider=$provider" --mode=processes >"$log" 2>&1; then
        printf '%s pass' "$(sed -n 's/.*PASSED *\] \([0-9]*\) test.*/\1/p' "$log" | tail -1)" && return
    fi
    printf '**fails**'
    cp "$log" "$build/matrix-$provider-${1// /-}.log"
    return 1
}

# row: one provider
row() {
    local text table
    if ! "$build/tests/matrix/provider_facts" "$provider" >"$work/facts"; then
        printf '| `%s` | refused: %s |' "$(fact provider)" "$(fact refused | sed 's/|/,/g')"
        for table in "${tables[@]:1}"; do printf ' – |'; done
        printf ' – | – | – |\n'
        return
    fi
    printf '| `%s` |' "$(fact provider)"
    for table in "${tables[@]}"; do
        text=$(cell "$table") || echo "$table over $provider" >>"$work/bad"
        printf ' %s |' "$text"
    done
    printf ' %s | %s | %s |\n' "$(fact order)" "$(fact completion)" "$(fact atomics)"
}

# section <folder of libfabric, or nothing>
section() {
    local folder=$1 table
    [ -z "$folder" ] || export LD_LIBRARY_PATH=$folder
    "$build/tests/matrix/provider_facts" native >"$work/facts" || { echo "no libfabric in '$folder'" >&2; bad=1; return; }
    printf '### libfabric %s\n\n| provider |' "$(fact libfabric)"
    for table in "${tables[@]}"; do printf ' %s |' "$table"; done
    printf ' order granted | completion | atomics |\n|---|'
    for table in "${tables[@]}"; do printf -- '---|'; done
    printf -- '---|---|---|\n'
    for provider in native rxm shm sockets "udp;ofi_rxd"; do row; done
    printf '\n'
}

{
    section ""
    IFS=: read -r -a others <<<"${DUOFI_MATRIX_LIBFABRIC:-}"
    for folder in "${others[@]}"; do (section "$folder"); done
} >"$out"
cat "$out"
if [ "${2:-}" = --write ]; then
    awk -v table="$out" '/<!-- matrix: end -->/ { skip = 0 }
        !skip { print }
        /<!-- matrix: begin -->/ { skip = 1; while ((getline line < table) > 0) print line }' \
        "$root/docs/guarantees.md" >"$work/page" && cp "$work/page" "$root/docs/guarantees.md"
fi
[ ! -s "$work/bad" ] || { echo "failed:" >&2; cat "$work/bad" >&2; bad=1; }
exit $bad
