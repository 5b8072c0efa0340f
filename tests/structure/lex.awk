# Splits C and C++ lines for the structure rules. lex(line) sets, with line structure kept:
#   code   no comments, the contents of strings and characters removed
#   text   no comments, strings kept
#   note   only the comments
# State reaches over lines; lex_reset() starts a new file.

function lex_reset() { lex_block = 0; lex_raw = "" }

# Length of the quoted part at the start of s, both quotes included; s begins with the quote q.
function quoted_length(s, q,    i, n, c) {
    n = length(s)
    for (i = 2; i <= n; i++) {
        c = substr(s, i, 1)
        if (c == "\\") i++
        else if (c == q) return i
    }
    return n
}

function lex(line,    at, c, two, before, n, delim) {
    code = text = note = ""
    while (line != "") {
        if (lex_block) {
            at = index(line, "*/")
            if (!at) { note = note line; return }
            note = note substr(line, 1, at - 1) " "
            line = substr(line, at + 2)
            lex_block = 0
            continue
        }
        if (lex_raw != "") {
            at = index(line, lex_raw)
            if (!at) { text = text line; return }
            text = text substr(line, 1, at + length(lex_raw) - 1)
            code = code "\""
            line = substr(line, at + length(lex_raw))
            lex_raw = ""
            continue
        }
        if (!match(line, /["']|\/[\/*]/)) { code = code line; text = text line; return }
        at = RSTART
        before = substr(line, 1, at - 1)
        c = substr(line, at, 1)
        two = substr(line, at, 2)
        code = code before
        text = text before
        line = substr(line, at)
        if (two == "//") { note = note substr(line, 3); return }
        if (two == "/*") { lex_block = 1; line = substr(line, 3); continue }
        if (c == "\"" && before ~ /(^|[^A-Za-z0-9_])(u8|u|U|L)?R$/) {
            n = index(line, "(")
            delim = substr(line, 2, n - 2)
            lex_raw = ")" delim "\""
            text = text substr(line, 1, n)
            code = code "\""
            line = substr(line, n + 1)
            continue
        }
        if (c == "'" && code ~ /(^|[^A-Za-z0-9_])[0-9][0-9a-fA-FxXbB]*$/) {  # 1'000
            code = code "0"; text = text "'"; line = substr(line, 2)
            continue
        }
        n = quoted_length(line, c)
        text = text substr(line, 1, n)
        code = code c c
        line = substr(line, n + 1)
    }
}
