#!/usr/bin/env bash
# Proves that a structure rule bites: control.sh <rule> lets it judge small trees, some clean, some in breach.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rule=${1:?usage: control.sh <rule>}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
wrong=0
seen=0

# A small tree that keeps every rule.
fresh() {
    rm -rf "${tree:?}"/*
    put common/util/error.hpp '// Errors (net contract 3.9, P5, architecture 4.12).' '#include <tl/expected.hpp>'
    put common/util/settings.cpp '#include "common/util/error.hpp"' 'int f() { return getenv("X") != nullptr; }'
    put common/util/settings_table.cpp '    {.name = "A",' '     .binding = &S::read_one},' \
        '    {.name = "B",' '     .binding = &S::judged_one,' '     .judged_only = true},'
    put common/ofi/domain.cpp 'int f(const S& s) { return s.read_one; }'
    put common/ofi/quirks.cpp '#include <rdma/fabric.h>' 'const char* name() { return "shm"; }'
    put common/util/messages/ofi.hpp 'inline constexpr char kGone[] = "peer is gone";'
    put net_plugin/send_comm.cpp '#include "common/ofi/quirks.hpp"' \
        'void f() { log::warn(log::net, messages::kGone, 1); }'
    put tools/duofi/main.cpp '#include <CLI/CLI.hpp>' 'int main() { return 0; }'
    put tests/unit/all_test.cpp '// Covers common/util/settings, common/util/settings_table, common/ofi/domain, common/ofi/quirks and net_plugin/send_comm.'
    put docs/contract/net.md '### 3.9 Errors' '- **P5** truncation'
    put docs/contract/rma.md '### 1.1 Names' '- **L-13** shared'
    put docs/architecture.md '## 4. Decisions' '12. **Settings**'
    put README.md './run demo' './run test' 'see [the architecture](docs/architecture.md)'
    put run 'case $command in' '    demo | bench)' '        ;;' '    test) x ;;' 'esac'
}

# put <path> <lines...>
put() {
    local path=$tree/$1
    [ -d "${path%/*}" ] || mkdir -p "${path%/*}"
    printf '%s\n' "${@:2}" >"$path"
}

judge() { output=$("$here/check.sh" "$rule" "$tree" 2>&1) && rc=0 || rc=$?; }

# accepts <what>: the tree as it stands keeps the rule. Then a fresh tree begins.
accepts() {
    judge
    seen=$((seen + 1))
    if [ "$rc" != 0 ]; then
        printf 'FAILED: %s was refused: %s\n' "$1" "$output"
        wrong=$((wrong + 1))
    fi
    fresh
}

# flags <path:line> <what>: the tree is refused with that place, and with nothing else.
flags() {
    judge
    seen=$((seen + 1))
    if [ "$rc" != 1 ] || [[ $output != "$1: "* ]] || [ "$(grep -c . <<<"$output")" != 1 ]; then
        printf 'FAILED: %s: expected one line at %s and exit 1, got exit %s: %s\n' "$2" "$1" "$rc" "$output"
        wrong=$((wrong + 1))
    fi
    fresh
}

lines() { yes "$2" | head -n "$1"; }
body() { printf '%s\n' "$2 {"; lines "$(($1 - 2))" "    x = 1;"; printf '}\n'; }

fresh
accepts "the clean tree"
# shellcheck source=/dev/null
. "$here/controls/$rule.sh"
echo "$rule: $seen trees judged, $wrong wrongly"
[ "$wrong" = 0 ]
