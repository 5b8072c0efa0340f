#include "common/loader/host_release.hpp"

#include "common/loader/host_policy.hpp"

namespace duofi::loader {
namespace {

// The newest version first; a row is a slice of this.
constexpr int kNetVersions[] = {12, 11, 10, 9, 8, 7, 6, 5, 4};
constexpr int kRmaVersions[] = {16, 15, 14, 13};

std::span<const int> net_slice(int newest, int oldest) noexcept {
    return std::span<const int>(kNetVersions)
        .subspan(static_cast<std::size_t>(12 - newest),
                 static_cast<std::size_t>(newest - oldest + 1));
}

Wording wording_of(int release) noexcept {
    if (release < release_number(2, 21, 0)) return Wording::r2_12;
    if (release < release_number(2, 22, 0)) return Wording::r2_21;
    if (release < release_number(2, 26, 0)) return Wording::r2_22;
    if (release < release_number(2, 27, 0)) return Wording::r2_26;
    if (release < release_number(2, 28, 0)) return Wording::r2_27;
    return Wording::r2_28;
}

std::size_t longest_name_of(int release) noexcept {
    if (release < release_number(2, 21, 0)) return 127;
    if (release < release_number(2, 26, 0)) return 4095;
    return 254;
}

int initial_count_of(int release) noexcept {
    if (release < release_number(2, 22, 0)) return kNeverUnload;
    if (release < release_number(2, 26, 0)) return 0;
    if (release < release_number(2, 28, 0)) return 1;
    return 0;
}

}  // namespace

std::span<const int> net_probe_order(Host host, int release) noexcept {
    if (host == Host::libnccom) return net_slice(6, 6);
    if (release < release_number(2, 13, 0)) return net_slice(5, 4);
    if (release < release_number(2, 19, 0)) return net_slice(6, 4);
    if (release < release_number(2, 20, 0)) return net_slice(7, 5);
    if (release < release_number(2, 24, 0)) return net_slice(8, 5);
    if (release < release_number(2, 26, 0)) return net_slice(9, 5);
    if (release < release_number(2, 28, 0)) return net_slice(10, 6);
    if (release < release_number(2, 30, 0)) return net_slice(11, 6);
    return net_slice(12, 6);
}

std::span<const int> rma_probe_order(Host host, int release) noexcept {
    if (host == Host::libnccom || release < release_number(2, 30, 5)) return {};
    const std::span<const int> all(kRmaVersions);
    return host == Host::nccl && release <= kNewestRelease ? all.subspan(2) : all;
}

HostPolicy policy_of(int release) noexcept {
    HostPolicy policy;
    const bool from_2_28 = release >= release_number(2, 28, 0);
    const bool from_2_28_7 = release >= release_number(2, 28, 7);
    const bool before_2_29_4 = release < release_number(2, 29, 4);
    policy.generation = generation_of(release);
    policy.wording = wording_of(release);
    policy.none_empties_list = from_2_28;
    policy.static_word = release >= release_number(2, 22, 0);
    policy.init_per_comm = from_2_28;
    policy.devices_per_comm = from_2_28 && !from_2_28_7;
    policy.name_before_init = from_2_28_7;
    policy.finalize_failed_init = from_2_28 && before_2_29_4;
    policy.count_before_init = from_2_28 && before_2_29_4;
    policy.keeps_name = release >= release_number(2, 30, 0);
    policy.unloads_all = !from_2_28_7;
    policy.only_loader_counts_down = policy.generation == Generation::one_name;
    policy.initial_count = initial_count_of(release);
    policy.longest_name = longest_name_of(release);
    return policy;
}

}  // namespace duofi::loader
