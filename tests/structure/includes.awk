# Who may include whom (docs/architecture.md 3). Needs lex.awk. Prints file:line: reason.

BEGIN {
    may["common/util"] = "common/util"
    may["common/abi"] = "common/abi common/util"
    may["common/memory"] = "common/memory common/util"
    may["common/local"] = "common/local common/util"
    may["common/topology"] = "common/topology common/util"
    may["common/ofi"] = "common/ofi common/util common/memory common/topology"
    may["common/bootstrap"] = "common/bootstrap common/util common/abi/*.h"
    may["common/loader"] = "common/loader common/bootstrap common/util common/abi/*.h"
    may["common/gin"] = "common/gin common/loader common/bootstrap common/util common/abi/*.h"
    core = "common/util common/abi common/memory common/topology common/ofi common/local"
    may["net_plugin"] = "net_plugin " core
    may["rma_plugin"] = "rma_plugin " core
    may["p2p"] = "p2p common/util common/memory common/topology common/abi common/local common/loader common/bootstrap"
    may["sim_fabric"] = "sim_fabric common/util common/local"
    may["tools"] = "tools common p2p"
    may["examples"] = "examples common p2p"

    libfabric["common/ofi"] = libfabric["sim_fabric"] = libfabric["tools"] = 1   # tools: the raw loops of the benchmark
}

function area_of(path,    part) {
    split(path, part, "/")
    return part[1] == "common" ? "common/" part[2] : part[1]
}

function is_allowed(path, area,    list, n, i, prefix) {
    n = split(may[area], list, " ")
    for (i = 1; i <= n; i++) {
        prefix = list[i]
        if (sub(/\*\.h$/, "", prefix)) {
            if (index(path, prefix) == 1 && path ~ /\.h$/) return 1
        } else if (index(path, prefix "/") == 1) return 1
    }
    return 0
}

function refuse(why) { print FILENAME ":" FNR ": " why; bad = 1 }

# A heavy header belongs to one source file in the whole tree, inside `where`.
function heavy(name, where) {
    if (FILENAME !~ where) refuse(name " may be included only in a file that matches " where)
    if (name in owner && owner[name] != FILENAME) refuse(name " is already included in " owner[name])
    owner[name] = FILENAME
}

function system_header(name) {
    if (name ~ /^rdma\//) {
        if (!(area in libfabric)) refuse(area " must not include libfabric")
    } else if (name ~ /^hwloc/) heavy("hwloc", "^common/topology/machine\\.cpp$")
    else if (name ~ /^spdlog\//) heavy("spdlog", "^common/util/.*\\.cpp$")
    else if (name ~ /^CLI\//) heavy("CLI11", "^tools/.*\\.cpp$")
    else if (name ~ /^nlohmann\//) heavy("nlohmann-json", "^tools/.*\\.cpp$")
    else if (name ~ /^tl\//) {
        if (FILENAME !~ /^(common\/util|tools)\//) refuse("tl::expected comes with common/util/error.hpp")
    }
    else if (name ~ /^fmt\//) {
        if (name != "fmt/core.h" && FILENAME !~ /^common\/util\/.*\.cpp$/)
            refuse("only fmt/core.h, but for the source files of common/util")
    } else if (name ~ /\// && name !~ /^(sys|net|netinet|arpa|linux)\//) refuse("unknown outside header " name)
    if (c_header && name !~ /^[a-z]+\.h$/) refuse("a C header includes C headers only")
}

FNR == 1 { lex_reset(); area = area_of(FILENAME); c_header = FILENAME ~ /^(common\/abi|p2p)\/.*\.h$/ }
{
    lex($0)
    if (text !~ /^[ \t]*#[ \t]*include/) next
    if (match(text, /<[^>]*>/)) { system_header(substr(text, RSTART + 1, RLENGTH - 2)); next }
    if (!match(text, /"[^"]*"/)) next
    name = substr(text, RSTART + 1, RLENGTH - 2)
    if (name !~ /\// && FILENAME ~ /^common\/abi\/.*\.h$/ && name ~ /\.h$/) next   # C headers sit side by side
    if (name !~ /\//) refuse("\"" name "\": include paths start at the repository root")
    else if (!(area in may)) refuse("no include rule for " area)
    else if (!is_allowed(name, area)) refuse(area " must not include " name)
    else if (c_header && name !~ /\.h$/) refuse("a C header includes C headers only")
}
END { exit bad }
