# Function bodies longer than `limit` lines. Needs lex.awk. A function is a brace that opens outside of other
# functions after a text with parentheses that is no type, namespace or initialiser. Prints file:line: reason.

function reset_file() {
    lex_reset(); depth = 0; head = ""; head_line = 0; inside = 0; in_macro = 0
}

function refuse(line, why) { print name ":" line ": " why; bad = 1 }

function kind_of(h) {
    if (h ~ /(^|[^A-Za-z0-9_])namespace([^A-Za-z0-9_]|$)/ || h ~ /extern *""/) return "scope"
    if (h !~ /\)/ && h ~ /(^|[^A-Za-z0-9_])(class|struct|union|enum)([^A-Za-z0-9_]|$)/) return "scope"
    if (h ~ /^[^(]*(class|struct|union|enum)[ \t]/ && h !~ /\)[ \t]*(const|noexcept|override|final)?[ \t]*$/ && h !~ /->/)
        return "scope"
    if (h !~ /\(/) return "value"
    if (h ~ /[=(,][ \t]*$/) return "value"
    # a member in a constructor's initialiser list: `: a_` or `, b_` before the brace
    if (h ~ /\)[^;]*:[^:]/ && h ~ /[,:][ \t]*[A-Za-z_][A-Za-z0-9_:<>]*[ \t]*$/ && h !~ /->[^:,]*$/) return "member"
    return "function"
}

function opened(line,    k) {
    depth++
    if (inside) return
    k = kind_of(head)
    kind[depth] = k
    if (k == "function") { inside = depth; first = head_line ? head_line : line; label = head }
    if (k != "member") { head = ""; head_line = 0 }
}

function closed(line,    n) {
    if (depth == 0) { refuse(line, "a brace closes that never opened"); return }
    if (inside == depth) {
        inside = 0
        n = line - first + 1
        if (n > limit) {
            sub(/\(.*/, "", label); sub(/.*[ \t*&]/, "", label)
            refuse(first, "function " label " has " n " lines (limit " limit ")")
        }
        head = ""; head_line = 0
    } else if (!inside) {
        if (kind[depth] == "member") head = head "{}"
        else { head = ""; head_line = 0 }
    }
    depth--
}

function scan(line,    c) {
    while (match(line, /[{};]/)) {
        c = substr(line, RSTART, 1)
        if (!inside) {
            head = head substr(line, 1, RSTART - 1)
            if (!head_line && substr(line, 1, RSTART - 1) ~ /[^ \t]/) head_line = FNR
        }
        line = substr(line, RSTART + 1)
        if (c == "{") opened(FNR)
        else if (c == "}") closed(FNR)
        else if (!inside) { head = ""; head_line = 0 }
    }
    if (!inside && line ~ /[^ \t]/) {
        sub(/(public|private|protected)[ \t]*:/, "", line)
        if (!head_line && line ~ /[^ \t]/) head_line = FNR
        head = head line " "
    }
}

function end_of_file() { if (name != "" && depth != 0) refuse(last, "braces do not balance") }

FNR == 1 { end_of_file(); reset_file(); name = FILENAME }
{
    last = FNR
    lex($0)
    macro = in_macro || code ~ /^[ \t]*#/
    in_macro = macro && code ~ /\\[ \t]*$/
    if (!macro) scan(code)
}
END { end_of_file(); exit bad }
