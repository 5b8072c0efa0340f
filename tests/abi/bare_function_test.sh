#!/bin/sh
# bare_function_test.sh <source root>: every slot of every exported table is made by abi::entry, so that
# no exception can leave the module. Checks itself with tables that must pass and tables that must not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { awk -f "$here/tables.awk" "$@" 2>"$work/count"; }

control() { # control <pass|fail> <label>, table text on stdin
    cat >"$work/control.cpp"
    if check "$work/control.cpp" >"$work/out"; then got=pass; else got=fail; fi
    if [ "$got" != "$1" ]; then
        echo "control '$2': expected $1, got $got"
        cat "$work/out"
        failed=1
    fi
}

control pass "designated, wrapped" <<'END'
extern "C" const ncclNet_v6_t ncclNetPlugin_v6;
// .init = bare in a comment
extern "C" const ncclNet_v6_t ncclNetPlugin_v6 = {
    .name = "a, {b}",
    .init = abi::entry<&init>, /* .devices = bare, */
    .getProperties = duofi::abi::entry<&net::properties<ncclNetProperties_v6_t, 6>>,
    .regMrDmaBuf = nullptr,
};
ncclResult_t f(const ncclNet_v6_t& table, ncclNetProperties_v6_t* props) { props->name = 0; }
END
control pass "positional" <<'END'
const ncclRma_v16_t ncclRmaPlugin_v16{"x", entry<&init>, abi::entry<&devices>, NULL};
END
control fail "bare function, designated" <<'END'
const ncclNet_v6_t t = {.name = "x", .init = abi::entry<&init>, .isend = isend};
END
control fail "address of a function, positional" <<'END'
const ncclNet_neuron_v5_t t{"x", abi::entry<&init>, &devices};
END
control fail "cast around a wrapped entry" <<'END'
ncclRma_v13_t t = {"x", reinterpret_cast<Init>(abi::entry<&init>)};
END
control fail "lambda" <<'END'
ncclNet_v9_t t = {.name = "x", .init = [](ncclDebugLogger_t) { return ncclSuccess; }};
END
control fail "table made by a function" <<'END'
const ncclNet_v7_t t = make_table();
END
control fail "slot assigned later" <<'END'
ncclNet_v8_t t = {.name = "x", .init = abi::entry<&init>};
void late() { t.isend = raw_send; }
END
control fail "no slot at all" <<'END'
ncclNet_v8_t t = {};
END
[ $failed = 0 ] || exit 1

files=$(find "$root/net_plugin/abi" "$root/rma_plugin/abi" -name '*.[ch]pp' 2>/dev/null | sort) || true
if [ -z "$files" ]; then
    echo "no adapters yet; controls passed"
    exit 0
fi
# shellcheck disable=SC2086  # paths of this tree have no blanks
check $files || exit 1
exported=$(cat $files | grep -cE 'nccl(Net|Rma)Plugin_v[0-9]+ *(=|\{)' || true)
tables=$(cut -d' ' -f1 "$work/count")
echo "$tables tables checked, $exported exported"
[ "$tables" -ge "$exported" ] || { echo "an exported table was not recognised"; exit 1; }
