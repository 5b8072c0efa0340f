#include "common/memory/registration_policy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"

namespace duofi::memory {

namespace {

/// Reads digits (no sign, no blank) from the front of `text` and drops them.
std::optional<int> take_number(std::string_view& text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

}  // namespace

std::optional<KernelVersion> parse_kernel_release(std::string_view release) {
    const auto major = take_number(release);
    if (!major || release.empty() || release.front() != '.') return std::nullopt;
    release.remove_prefix(1);
    const auto minor = take_number(release);
    if (!minor) return std::nullopt;
    return KernelVersion{*major, *minor};
}

bool kernel_has_dmabuf(KernelVersion kernel) noexcept {
    return (kernel.major == 5 && kernel.minor >= 12) || kernel.major > 5;
}

bool dmabuf_viable(const DmabufViability& in) {
    if (!in.flag_known || in.disabled_by_user || !in.device_exports) return false;
    const auto kernel = parse_kernel_release(in.kernel_release);
    return kernel && kernel_has_dmabuf(*kernel);
}

bool dmabuf_supported(const DmabufSupport& in) noexcept {
    constexpr std::array<std::uint16_t, 3> kEfaWithoutDmabuf{0xefa0, 0xefa1, 0xefa2};
    if ((in.caps & kCapHmem) == 0 || in.api_version <= kLastApiWithoutDmabuf) return false;
    if (!in.viable || in.gdr != GdrState::supported) return false;
    if (!in.is_efa) return true;
    return in.has_nic_attributes && std::find(kEfaWithoutDmabuf.begin(), kEfaWithoutDmabuf.end(),
                                              in.nic_device_id) == kEfaWithoutDmabuf.end();
}

std::uint64_t expanded_mr_mode(std::uint64_t mr_mode) noexcept {
    if ((mr_mode & kModeBasic) == 0) return mr_mode;
    return (mr_mode & ~kModeBasic) | kModeVirtAddr | kModeAllocated | kModeProvKey;
}

bool need_own_key(std::uint64_t mr_mode) noexcept {
    return (expanded_mr_mode(mr_mode) & kModeProvKey) == 0;
}

Result<KeyPolicy> key_policy(std::string_view provider, std::uint64_t mr_mode,
                             std::size_t provider_key_bytes, std::size_t requested_key_bytes) {
    const bool own = need_own_key(mr_mode);
    if (own && provider_key_bytes < requested_key_bytes) {
        log::warn(log::init | log::net, messages::kKeySize, provider, provider_key_bytes,
                  requested_key_bytes);
        return fail(Errc::internal, "key_policy", EINVAL);
    }
    return KeyPolicy{own, std::min(provider_key_bytes, sizeof(std::uint64_t))};
}

}  // namespace duofi::memory
