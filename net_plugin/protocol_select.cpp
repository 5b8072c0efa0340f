#include "net_plugin/protocol_select.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/parse.hpp"

namespace duofi::net {

namespace {

constexpr unsigned long kWhere = log::init | log::net;
constexpr const char* kNotInThisVersion = "not available in this version";

using Candidates = std::span<const ProtocolCandidate>;

/// What stands in the way of `kind`; empty = nothing.
std::string obstacle(ProtocolKind kind, Candidates candidates) {
    const auto it = std::find_if(candidates.begin(), candidates.end(),
                                 [kind](const auto& c) { return c.kind == kind; });
    return it == candidates.end() ? kNotInThisVersion : it->missing;
}

const ProtocolCandidate* first_possible(Candidates candidates) {
    const auto it = std::find_if(candidates.begin(), candidates.end(),
                                 [](const auto& c) { return c.missing.empty(); });
    return it == candidates.end() ? nullptr : &*it;
}

ProtocolChoice chosen(ProtocolKind kind, ProtocolSource source) {
    const std::string_view name = to_string(kind);
    switch (source) {
        case ProtocolSource::user:
            log::info(kWhere, messages::kProtocolUser, name);
            break;
        case ProtocolSource::platform:
            log::info(kWhere, messages::kProtocolPlatform, name);
            break;
        case ProtocolSource::automatic:
            log::info(kWhere, messages::kProtocolAutomatic, name);
            break;
    }
    return {kind, source};
}

Result<ProtocolChoice> users_choice(ProtocolKind kind, Candidates candidates) {
    const std::string missing = obstacle(kind, candidates);
    if (missing.empty()) return chosen(kind, ProtocolSource::user);
    if (const ProtocolCandidate* other = first_possible(candidates); other != nullptr)
        log::warn(kWhere, messages::kProtocolMissing, to_string(kind), missing,
                  to_string(other->kind));
    else
        log::warn(kWhere, messages::kProtocolMissingNoOther, to_string(kind), missing);
    return fail(Errc::internal, "OFI_NCCL_PROTOCOL", EINVAL);
}

}  // namespace

std::string_view to_string(ProtocolKind kind) noexcept {
    switch (kind) {
        case ProtocolKind::sendrecv:
            return "SENDRECV";
        case ProtocolKind::rdma:
            return "RDMA";
        case ProtocolKind::automatic:
            break;
    }
    return "AUTO";
}

Result<ProtocolKind> parse_protocol(std::string_view text) {
    if (text.empty()) return ProtocolKind::automatic;
    for (const ProtocolKind kind : {ProtocolKind::sendrecv, ProtocolKind::rdma})
        if (equal_ignoring_case(text, to_string(kind))) return kind;
    log::warn(kWhere, messages::kProtocolInvalid, text);
    return fail(Errc::internal, "OFI_NCCL_PROTOCOL", EINVAL);
}

std::span<const ProtocolCandidate> built_protocols(bool prefer_writes) {
    static const std::array<ProtocolCandidate, 3> kBuilt{{
        {ProtocolKind::rdma, {}},
        {ProtocolKind::sendrecv, {}},
        {ProtocolKind::rdma, {}},
    }};
    return std::span(kBuilt).subspan(prefer_writes ? 0 : 1, 2);
}

Result<ProtocolChoice> select_protocol(std::string_view user_text, ProtocolKind platform_default,
                                       std::span<const ProtocolCandidate> candidates) {
    DUOFI_ASSIGN(const ProtocolKind users, parse_protocol(user_text));
    if (users != ProtocolKind::automatic) return users_choice(users, candidates);
    if (platform_default != ProtocolKind::automatic) {
        const std::string missing = obstacle(platform_default, candidates);
        if (missing.empty()) return chosen(platform_default, ProtocolSource::platform);
        log::info(kWhere, messages::kPlatformProtocolMissing, to_string(platform_default), missing);
    }
    if (const ProtocolCandidate* first = first_possible(candidates); first != nullptr)
        return chosen(first->kind, ProtocolSource::automatic);
    log::warn(kWhere, messages::kNoProtocol);
    return fail(Errc::internal, "select_protocol", EINVAL);
}

}  // namespace duofi::net
