# Every clause that a comment cites is explained in docs/contract or docs/architecture.md. Needs lex.awk.
# The documents come first on the command line, then the sources.
#   net contract 3.2, rma contract 1.1-1.3    a numbered heading of docs/contract/net.md, rma.md, p2p.md
#   architecture 4.12                         a numbered heading, or item 12 under heading 4, of that page
#   A4 P5 S3 I7 T5 G1 W3 L2 L-13              written in bold in docs/contract
#   C-3 T-6 V-8 G6 in sources of P2P          written in bold in docs/contract/p2p.md

function define_heading(family, line) {
    if (match(line, /^#+ [0-9]+(\.[0-9]+)*/)) {
        sub(/^#+ /, "", line)
        match(line, /^[0-9]+(\.[0-9]+)*/)
        section = substr(line, 1, RLENGTH)
        known[family " " section] = 1
    } else if (family == "architecture" && match(line, /^[0-9]+\. /)) known[family " " section "." (line + 0)] = 1
}

function define_ids(family, line) {
    while (match(line, /\*\*[A-Z]-?[0-9]+\*\*/)) {
        known[substr(line, RSTART + 2, RLENGTH - 4)] = 1
        known[family " " substr(line, RSTART + 2, RLENGTH - 4)] = 1
        line = substr(line, RSTART + RLENGTH)
    }
}

function demand(clause) {
    if (clause in known) return
    print FILENAME ":" FNR ": " clause " is not explained in the documents"
    bad = 1
}

function cited_sections(family, rest,    first, last) {
    while (match(rest, family " [0-9]+(\\.[0-9]+)*(-[0-9]+(\\.[0-9]+)*)?")) {
        first = substr(rest, RSTART + length(family) + 1, RLENGTH - length(family) - 1)
        rest = substr(rest, RSTART + RLENGTH)
        last = first
        if (sub(/-.*/, "", first)) { sub(/.*-/, "", last); demand(family " " last) }
        demand(family " " first)
    }
}

function cited_ids(rest,    before, id, after) {
    while (match(rest, /[A-Z]-?[0-9]+/)) {
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : " "
        after = substr(rest, RSTART + RLENGTH, 1)
        id = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (before ~ /[A-Za-z0-9_.+-]/ || after ~ /[A-Za-z_]/) continue
        if (p2p && id ~ /^([CTV]-|G)[0-9][0-9]?$/) demand("p2p contract " id)
        else if (id ~ /^([APSITGWL]|[A-Z]-)[0-9][0-9]?$/) demand(id)
    }
}

FNR == 1 {
    lex_reset()
    section = ""
    p2p = FILENAME ~ /(^|\/)p2p|^(common|tests\/unit)\/local\//
    document = FILENAME ~ /\.md$/
    family = FILENAME
    if (!sub(/^.*contract\//, "", family)) family = "architecture"
    else { sub(/\.md$/, "", family); family = family " contract" }
}
document { define_heading(family, $0); if (family != "architecture") define_ids(family, $0); next }
{
    lex($0)
    if (note == "") next
    if (note ~ /(net|rma|p2p) spec [0-9]/) { print FILENAME ":" FNR ": say \"contract\", not \"spec\""; bad = 1 }
    cited_sections("net contract", note)
    cited_sections("rma contract", note)
    cited_sections("p2p contract", note)
    cited_sections("architecture", note)
    cited_ids(note)
}
END { exit bad }
