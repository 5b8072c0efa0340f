#!/usr/bin/env bash
# One structure rule over a source tree: check.sh <rule> [root]. Prints file:line: reason for each breach and
# exits 1; exits 0 when the tree keeps the rule. The rules are listed in docs/testing.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rule=${1:?usage: check.sh <rule> [root]}
cd "${2:-$here/../..}"

library="common net_plugin rma_plugin p2p sim_fabric"

# files <folders> [find options]: C and C++ sources of those folders that exist, tests/structure left out.
files() {
    local present=() folder
    for folder in $1; do
        if [ -d "$folder" ]; then present+=("$folder"); fi
    done
    shift
    [ ${#present[@]} -gt 0 ] || return 0
    find "${present[@]}" -path tests/structure -prune -o -type f \
        \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.c' -o -name '*.in' \) "$@" -print | sort
}

# scan <program> <folders> [awk options]: runs an awk program over the sources of the folders.
scan() {
    local program=$1 folders=$2 list
    shift 2
    mapfile -t list < <(files "$folders")
    [ ${#list[@]} -gt 0 ] || { echo "no source file under: $folders"; return 1; }
    awk "$@" -f "$here/lex.awk" -f "$here/$program" "${list[@]}"
}

line_limits() {
    local path lines limit broken=0 list
    mapfile -t list < <(files "$library tools examples tests")
    while read -r lines path; do
        case $path in
            total) continue ;;
            tests/*) limit=500 ;;
            net_plugin/abi/*.cpp | rma_plugin/abi/*.cpp) limit=180 ;;
            *.hpp | *.h) limit=300 ;;
            *) limit=500 ;;
        esac
        if [ "$lines" -gt "$limit" ]; then
            echo "$path:$lines: $lines lines (limit $limit)"
            broken=1
        fi
    done < <(wc -l "${list[@]}")
    return $broken
}

file_names() {
    local path stem broken=0
    while read -r path; do
        stem=${path##*/} stem=${stem%%.*}
        if [[ $stem =~ (_[0-9]+|_impl|_helpers?|_utils?)$ || $stem =~ ^(utils|helpers|misc|common)$ || $stem =~ _misc$ ]]; then
            echo "$path:1: the name says nothing about the content"
            broken=1
        elif [[ ! $stem =~ ^[a-z0-9_]+$ ]]; then
            echo "$path:1: file names are snake_case"
            broken=1
        fi
    done < <(files "$library tools examples tests")
    return $broken
}

clauses() {
    local list
    mapfile -t list < <(files "$library tools examples tests")
    awk -f "$here/lex.awk" -f "$here/clauses.awk" docs/contract/*.md docs/architecture.md "${list[@]}"
}

# Every source file of the library is named by a test: its header is included, or its path is written there.
units() {
    local path broken=0 known
    known=$(grep -rhoE '(common|net_plugin|rma_plugin|p2p|sim_fabric)/[a-z0-9_]+(/[a-z0-9_]+)*' \
        --include='*.cpp' --include='*.hpp' --include='*.c' --include='*.h' --include='*.sh' \
        --exclude-dir=structure tests 2>/dev/null | sort -u) || true
    while read -r path; do
        echo "$path:1: no test names ${path%.*}"
        broken=1
    done < <(awk 'NR == FNR { known[$0] = 1; next } { stem = $0; sub(/\.[^.]*$/, "", stem) } !(stem in known)' \
        - <(files "$library" '(' -name '*.cpp' -o -name '*.c' ')') <<<"$known")
    return $broken
}

# What a variable sets is read by somebody, or the table says that it has no effect.
settings() {
    local table=common/util/settings_table.cpp line variable name judged broken=0 users
    mapfile -t users < <(files "$library" ! -path 'common/util/settings*')
    while IFS=: read -r line variable name judged; do
        if grep -qE "(\.|->|::)$name\b" "${users[@]}"; then
            [ "$judged" = no ] || { echo "$table:$line: $name is judged only, but somebody reads it"; broken=1; }
        elif [ "$judged" = no ] && ! grep -qE "\b$name\b|\(\"$variable\"\)" common/util/settings.cpp; then
            echo "$table:$line: nobody reads $name (judged_only?)"
            broken=1
        fi
    done < <(awk '/^    \{\.name/ { flush(); at = NR; split($0, w, "\""); variable = w[2] }
                  /\.binding = &S::/ { split($0, w, "&S::"); name = w[2]; sub(/[^a-z0-9_].*/, "", name) }
                  /\.judged_only = true/ { judged = "yes" } END { flush() }
                  function flush() { if (name != "") print at ":" variable ":" name ":" judged; name = ""; judged = "no" }' "$table")
    return $broken
}

# The pages offer only commands that `run` has, and link only to files that exist.
pages() {
    local page folder word link broken=0 known list
    known=$(sed -n '/^case \$command in/,/^esac/s/^    \([a-z][a-z |-]*\)).*/\1/p' run | tr '|\n' '  ')
    mapfile -t list < <(find . -maxdepth 1 -name '*.md' -printf '%P\n'; find docs -name '*.md' 2>/dev/null)
    while IFS=: read -r page word; do
        word=${word#./run }
        case " $known " in
            *" $word "*) ;;
            *) echo "$page:1: ./run $word is no command of run"; broken=1 ;;
        esac
    done < <(grep -oHE '\./run [a-z]+' "${list[@]}" | sort -u)
    while IFS=: read -r page link; do
        link=${link#](} folder=.
        [[ $page != */* ]] || folder=${page%/*}
        if [[ $link != *://* && ! -e $folder/$link ]]; then
            echo "$page:1: link to $link, which does not exist"
            broken=1
        fi
    done < <(grep -oHE '\]\([^)# ]+' "${list[@]}" | sort -u)
    for word in demo test; do
        grep -q "^\./run $word\$" README.md || { echo "README.md:1: does not offer ./run $word"; broken=1; }
    done
    return $broken
}

case $rule in
    includes) scan includes.awk "$library tools examples" ;;
    lines) line_limits ;;
    functions) scan functions.awk "$library tools examples tests" -v limit=80 ;;
    names) file_names ;;
    providers) scan literals.awk "$library examples tools" -v rule=providers ;;
    environment) scan literals.awk "$library examples tools" -v rule=environment ;;
    logs) scan literals.awk "$library" -v rule=logs ;;
    prints) scan literals.awk "common/util common/abi common/memory common/topology common/ofi common/local net_plugin rma_plugin" -v rule=prints ;;
    clauses) clauses ;;
    units) units ;;
    pages) pages ;;
    settings) settings ;;
    *)
        echo "unknown rule: $rule" >&2
        exit 2
        ;;
esac
