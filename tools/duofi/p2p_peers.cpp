#include "tools/duofi/p2p_peers.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "common/bootstrap/local_spawn.hpp"
#include "common/util/settings.hpp"

namespace duofi::tool {
namespace {

constexpr char kMpiProgram[] = "duofi-mpi-pair";

std::string find_in_path(const std::string& name) {
    std::istringstream folders(environment_value("PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string path = folder + "/" + name; ::access(path.c_str(), X_OK) == 0)
            return path;
    return {};
}

/// Standard output of a command line; every command is bounded by timeout(1).
Outcome<std::string> output_of(const std::string& command, double seconds) {
    const std::string bounded = fmt::format("timeout {:.0f} {}", 60 + 20 * seconds, command);
    std::FILE* const pipe = ::popen(bounded.c_str(), "re");
    if (pipe == nullptr) return failed("cannot start: " + command);
    std::string text;
    char part[4096];
    while (const std::size_t n = std::fread(part, 1, sizeof part, pipe)) text.append(part, n);
    const int status = ::pclose(pipe);
    if (status != 0) return failed(fmt::format("{}: wait status {}: {}", command, status, text));
    return text;
}

Outcome<std::vector<double>> run_mpi(const P2pPeer& peer, std::span<const std::size_t> sizes,
                                     double seconds) {
    std::string command = peer.program + fmt::format(" {}", seconds);
    for (const std::size_t bytes : sizes) command += fmt::format(" {}", bytes);
    const auto text = output_of(command + " 2>&1", seconds * static_cast<double>(sizes.size()));
    if (!text) return failed(text.error());
    std::vector<double> values;
    const auto pairs = parse_pair_lines(*text);
    for (const std::size_t bytes : sizes) {
        const auto found = std::ranges::find(pairs, bytes, &std::pair<std::size_t, double>::first);
        values.push_back(found != pairs.end() ? found->second : 0);
    }
    return values;
}

Outcome<double> run_perftest(const std::string& program, std::size_t bytes, double seconds) {
    const auto port = bootstrap::free_port();
    if (!port) return failed(describe(port.error()));
    const double guess_ns = 200 + static_cast<double>(bytes) / 4;
    const auto rounds = static_cast<long>(std::clamp(seconds * 1e9 / guess_ns / 2, 10.0, 1e6));
    // Server and client; the client tries until the server is there.
    const std::string common =
        fmt::format("UCX_TLS=posix,cma,self {} -p {} -t tag_lat -s {} -n {} -w {}", program, *port,
                    bytes, rounds, std::max(10L, rounds / 10));
    const std::string client = fmt::format(
        "for try in 1 2 3 4 5; do sleep 0.2; {} 127.0.0.1 -c 1 2>&1 && break; done", common);
    const auto text = output_of(
        fmt::format("sh -c '{} -c 0 > /dev/null 2>&1 & {}; wait'", common, client), seconds);
    if (!text) return failed(text.error());
    return parse_perftest(*text) * 1000;
}

}  // namespace

std::vector<std::pair<std::size_t, double>> parse_pair_lines(const std::string& text) {
    std::vector<std::pair<std::size_t, double>> pairs;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::size_t bytes = 0;
        double ns = 0;
        std::string rest;
        if (words >> bytes >> ns && !(words >> rest)) pairs.emplace_back(bytes, ns);
    }
    return pairs;
}

double parse_perftest(const std::string& text) {
    const std::size_t at = text.rfind("Final:");
    if (at == std::string::npos) return 0;
    // Final: iterations, typical, average, overall latency in us, ...
    std::istringstream words(text.substr(at + 6));
    double iterations = 0, typical = 0, average = 0;
    return words >> iterations >> typical >> average ? average : 0;
}

std::vector<P2pPeer> find_p2p_peers() {
    std::vector<P2pPeer> peers;
    std::error_code ignored;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    std::string pair = own / kMpiProgram;
    if (::access(pair.c_str(), X_OK) != 0) pair = find_in_path(kMpiProgram);
    if (const std::string run = find_in_path("mpirun"); !run.empty() && !pair.empty()) {
        const std::string root = ::geteuid() == 0 ? " --allow-run-as-root" : "";
        peers.push_back({"openmpi", run + root +
                                        " -np 2 --oversubscribe --bind-to core --mca pml ob1 "
                                        "--mca btl self,vader " +
                                        pair});
    }
    if (const std::string perftest = find_in_path("ucx_perftest"); !perftest.empty())
        peers.push_back({"ucx", perftest});
    return peers;
}

Outcome<std::vector<double>> run_p2p_peer(const P2pPeer& peer, std::span<const std::size_t> sizes,
                                          double seconds) {
    if (peer.name != "ucx") return run_mpi(peer, sizes, seconds);
    std::vector<double> values;
    for (const std::size_t bytes : sizes) {
        const auto ns = run_perftest(peer.program, bytes, seconds);
        if (!ns) return failed(ns.error());
        values.push_back(*ns);
    }
    return values;
}

}  // namespace duofi::tool
