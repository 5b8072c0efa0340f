#include "common/topology/platform_table.hpp"

#include <regex.h>

#include <array>

namespace duofi::topology {

namespace {

// Sets A and B of net contract 4.10; the last one adds a policy.
constexpr std::array<EnvironmentRow, 2> kBuffers{{
    {"NCCL_BUFFSIZE", "8388608"},
    {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
}};
constexpr std::array<EnvironmentRow, 6> kBuffersNvls{{
    {"NCCL_BUFFSIZE", "8388608"},
    {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288"},
    {"NCCL_NVLS_CHUNKSIZE", "524288"},
    {"NCCL_NET_FORCE_FLUSH", "0"},
    {"NCCL_NETDEVS_POLICY", "max:1"},
}};
constexpr std::span<const EnvironmentRow> kNone{};
constexpr std::span<const EnvironmentRow> kA{kBuffers};
constexpr std::span<const EnvironmentRow> kAB{kBuffersNvls.data(), 5};
constexpr std::span<const EnvironmentRow> kABPolicy{kBuffersNvls};

constexpr const char* kSendrecv = "SENDRECV";
constexpr const char* kRdma = "RDMA";

// match, pattern, protocol, us, GDR required, dup conns, domain per thread, topology file,
// environment
constexpr std::array<PlatformRow, 13> kRows{{
    {"p4d.24xlarge", false, kSendrecv, 75, true, 0, false, true, kA},
    {"p4de.24xlarge", false, kSendrecv, 75, true, 0, false, true, kA},
    {"p3dn.24xlarge", false, kSendrecv, 150, false, 4, false, false, kNone},
    {"p5.4xlarge", false, kSendrecv, 75, false, 0, false, false, kNone},
    {R"(^p5(e?\..*))", true, kRdma, 75, true, 0, false, false, kAB},
    {"^(p5en|p6-b200).*", true, kRdma, 35, true, 0, false, false, kABPolicy},
    {"^p6-b300.*", true, kRdma, 35, true, 0, false, false, kAB},
    {"^p([5-9]|[0-9]{2,}).*", true, kRdma, 35, true, 0, false, false, kAB},
    {"g5.48xlarge", false, kSendrecv, 75, false, 0, false, true, kNone},
    {"g7e.8xlarge", false, kSendrecv, 35, false, 0, false, false, kA},
    {R"(^g7e\.(12|24|48)xlarge)", true, kRdma, 35, true, 0, false, false, kA},
    {"^trn.*", true, kRdma, 75, true, 0, true, false, kNone},
    {"^inf.*", true, kSendrecv, 75, true, 0, true, false, kNone},
}};

bool pattern_matches(const char* pattern, const std::string& text) {
    regex_t compiled;
    if (::regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    ::regfree(&compiled);
    return found;
}

}  // namespace

std::span<const PlatformRow> platform_rows() noexcept {
    return kRows;
}

const PlatformRow* find_platform_row(const std::string& product_name) {
    if (product_name.empty()) return nullptr;
    for (const PlatformRow& row : kRows) {
        const bool hit =
            row.is_pattern ? pattern_matches(row.match, product_name) : product_name == row.match;
        if (hit) return &row;
    }
    return nullptr;
}

}  // namespace duofi::topology
