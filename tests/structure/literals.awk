# Where some texts may stand. Needs lex.awk; `rule` selects providers, environment, logs or prints.

function refuse(line, why) { print name ":" line ": " why; bad = 1 }

# Collects the text of the file, a line start marked by \n, for calls that go over several lines.
function end_of_file(    rest, line, at, call) {
    if (name == "" || rule != "logs" || name ~ /^common\/util\/messages\//) return
    rest = whole
    line = 1
    while (match(rest, /log::(warn|info|write)[ \t\n]*\([^,;]*,[ \t\n]*(u8|R)*"/)) {
        call = substr(rest, 1, RSTART - 1)
        line += gsub(/\n/, "", call)
        refuse(line, "a log line with its text at the call; use a constant of common/util/messages")
        call = substr(rest, RSTART, RLENGTH)
        line += gsub(/\n/, "", call)
        rest = substr(rest, RSTART + RLENGTH)
    }
}

FNR == 1 { end_of_file(); lex_reset(); name = FILENAME; whole = "" }
{ lex($0); whole = whole text "\n" }

rule == "providers" && name !~ /^(common\/ofi\/quirks|sim_fabric\/personality)\./ {
    rest = text
    while (match(rest, /"[^"]*"/)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        if (word == "net" && name ~ /^(tools|common\/(loader|bootstrap|gin))\//) continue   # a kind of plugin there
        if (word ~ /^(efa|efa-direct|tcp|net|shm|sm2|sockets|udp|verbs|cxi|psm2|psm3|opx|rxm|rxd|ofi_rxm|ofi_rxd)$/ ||
            word ~ /;ofi_rx[md]$/)
            refuse(FNR, "provider name \"" word "\"; ask common/ofi/quirks")
    }
}
rule == "environment" && name != "common/util/settings.cpp" {
    if (code ~ /(^|[^A-Za-z0-9_])(secure_)?getenv[ \t]*\(/ || code ~ /std::getenv/)
        refuse(FNR, "getenv; read settings instead (common/util/settings.cpp)")
    if (code ~ /(^|[^A-Za-z0-9_])(setenv|putenv|unsetenv|clearenv)[ \t]*\(/ &&
        name !~ /^(tools\/|common\/bootstrap\/child_process\.)/)
        refuse(FNR, "the environment is written only by common/util/settings.cpp")
}
rule == "prints" {
    if (code ~ /std::(cout|cerr|clog)/ || code ~ /(^|[^A-Za-z0-9_])(printf|fprintf|vprintf|vfprintf|puts|fputs|perror)[ \t]*\(/)
        refuse(FNR, "the library never prints by itself; log through the caller's logger")
}
END { end_of_file(); exit bad }
