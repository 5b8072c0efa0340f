# Table literals whose slots are not made by the boundary wrapper. Prints file:line: reason.
# A slot may hold abi::entry<&function>, a null pointer, or, if it is the name, anything.

function refuse(at, why,    before) {
    before = substr(text, 1, at)
    print name ":" gsub(/\n/, "\n", before) + 1 ": " why
    bad = 1
}

# Blanks out comments and the inside of literals, keeping every newline and every offset.
function without_comments(s,    out, n, end, i) {
    out = ""
    while (match(s, /\/\/|\/\*|"|'/)) {
        out = out substr(s, 1, RSTART - 1)
        n = substr(s, RSTART, substr(s, RSTART, 1) == "/" ? 2 : 1)
        s = substr(s, RSTART)
        end = length_of(s, n)
        i = substr(s, 1, end)
        s = substr(s, end + 1)
        if (n == "\"" || n == "'") { gsub(/[^\n]/, " ", i); i = n substr(i, 2, length(i) - 2) n }
        else gsub(/[^\n]/, " ", i)
        out = out i
    }
    return out s
}

function length_of(s, opening,    i, c) {
    if (opening == "//") { i = index(s, "\n"); return i ? i - 1 : length(s) }
    if (opening == "/*") { i = index(substr(s, 3), "*/"); return i ? i + 3 : length(s) }
    for (i = 2; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c == "\\") i++
        else if (c == opening) return i
    }
    return length(s)
}

function trim(s) { gsub(/^[ \t\n]+|[ \t\n]+$/, "", s); return s }

function is_wrapped(value) {
    value = trim(value)
    if (value ~ /^(nullptr|NULL)$/) return 1
    return value ~ /^(::)?(duofi::)?(abi::)?entry<[ \t\n]*&[ \t\n]*[A-Za-z_:][A-Za-z0-9_:<>, ]*>$/
}

# One initialiser; `first` is true for the slot at offset 0, the name.
function check_slot(item, at, first,    slot) {
    match(item, /^[ \t\n]*/); at += RLENGTH
    item = trim(item)
    if (item == "") return
    slot = ""
    if (match(item, /^\.[A-Za-z_0-9]+[ \t\n]*=/)) {
        slot = substr(item, 2, RLENGTH - 2); sub(/[ \t\n]*$/, "", slot)
        item = substr(item, RLENGTH + 1)
    }
    if (slot == "name" || (slot == "" && first)) return
    slots++
    if (!is_wrapped(item)) refuse(at, "slot " slot " holds " trim(item) ", not abi::entry<&...>")
}

# Checks the braces that open at `at`; returns the offset behind them.
function check_literal(at,    i, c, depth, start, first) {
    depth = 0; first = 1; start = at + 1; slots = 0
    for (i = at; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c ~ /[{(<\[]/) depth++
        if (c ~ /[})>\]]/) depth--
        if ((c == "," && depth == 1) || depth == 0) {
            check_slot(substr(text, start, i - start), start, first)
            first = 0; start = i + 1
        }
        if (depth == 0) break
    }
    if (slots == 0) refuse(at, "a table without a slot")
    tables++
    return i + 1
}

function check_definitions(    at, rest) {
    at = 1
    while (match(substr(text, at), type "[ \t\n]+[A-Za-z_][A-Za-z0-9_]*[ \t\n]*")) {
        at += RSTART + RLENGTH - 1
        rest = substr(text, at)
        if (rest ~ /^[;,)]/) continue
        if (match(rest, /^=?[ \t\n]*\{/)) { at = check_literal(at + RLENGTH - 1); continue }
        refuse(at, "a table that is no literal")
    }
}

function check_assignments(    at, value, target) {
    at = 1
    while (match(substr(text, at), /[A-Za-z0-9_\])](\.|->)[A-Za-z_0-9]+[ \t\n]*=[^=]/)) {
        target = substr(text, at + RSTART - 1, RLENGTH - 2)
        sub(/^.*(\.|->)/, "", target)
        at += RSTART + RLENGTH - 2
        value = substr(text, at); sub(/;.*/, "", value)
        if (trim(target) in slot_name && !is_wrapped(value))
            refuse(at, "slot " trim(target) " is assigned " trim(value) ", not abi::entry<&...>")
    }
}

function check_file() {
    if (name == "") return
    text = without_comments(text)
    check_definitions()
    check_assignments()
}

BEGIN {
    type = "nccl(Net|Net_neuron|Rma)_v[0-9]+_t"
    n = split("init fini devices getProperties listen connect accept regMr regMrDmaBuf deregMr isend irecv " \
              "iflush test closeSend closeRecv closeListen getDeviceMr irecvConsumed makeVDevice finalize " \
              "setNetAttr getMrKey iwrite iwriteInline iread getRmaProperties createContext regMrSym " \
              "regMrSymDmaBuf deregMrSym destroyContext closeColl iput iputSignal iget ginProgress " \
              "rmaProgress queryLastError", list, " ")
    for (i = 1; i <= n; i++) slot_name[list[i]] = 1
}
FNR == 1 { check_file(); name = FILENAME; text = "" }
{ text = text $0 "\n" }
END { check_file(); print tables + 0 " tables" > "/dev/stderr"; exit bad }
