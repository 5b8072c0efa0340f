#include "common/loader/candidates.hpp"

#include <fmt/core.h>
#include <strings.h>

#include <cstddef>
#include <string_view>

#include "common/abi/host_types.h"
#include "common/loader/host_policy.hpp"
#include "common/util/messages/loader.hpp"

namespace duofi::loader {
namespace {

constexpr std::size_t kSlots = 16;              // entries of the caller's table
constexpr std::size_t kNetReserved = 2;         // IB, Socket
constexpr std::size_t kRmaReserved = 3;         // GIN library, net library, built-in proxy
constexpr std::size_t kEntryBufferBytes = 255;  // an entry with its final zero

/// Everything about one caller that building a list needs.
struct Context {
    Flavour flavour;
    Host host;
    HostPolicy policy;

    [[nodiscard]] std::string prefix() const {
        return fmt::format("lib{}-{}", host == Host::rccl ? "rccl" : "nccl",
                           flavour == Flavour::net ? "net" : "rma");
    }
    [[nodiscard]] const char* variable() const {
        return flavour == Flavour::net ? "NCCL_NET_PLUGIN" : "NCCL_RMA_PLUGIN";
    }
    /// The caller copies a file name into a buffer of fixed size before it opens it.
    [[nodiscard]] std::string cut(std::string name) const {
        if (name.size() > policy.longest_name) name.resize(policy.longest_name);
        return name;
    }
    [[nodiscard]] std::string prefixed(const std::string& entry) const {
        return cut(prefix() + "-" + entry + ".so");
    }
};

bool is_library_name(std::string_view name) {
    return name.starts_with("lib") && name.ends_with(".so");
}

void add_attempt(Candidate& candidate, const Context& context, const std::string& name) {
    const bool program = context.policy.static_word && means_running_program(name);
    candidate.attempts.push_back(program ? std::string() : name);
    candidate.names.push_back(name);
}

Candidate make_entry(const Context& context, const std::string& entry, Origin origin) {
    Candidate candidate;
    candidate.entry = entry;
    candidate.origin = origin;
    const std::string as_given = context.cut(entry);
    if (origin == Origin::default_name) {
        add_attempt(candidate, context, as_given);
        return candidate;
    }
    switch (context.policy.generation) {
        case Generation::suffix_only:
            add_attempt(candidate, context, context.prefixed(entry));
            break;
        case Generation::one_name:
            add_attempt(candidate, context, as_given);
            add_attempt(candidate, context, context.prefixed(entry));
            break;
        case Generation::strict_list: {
            const bool whole = entry.size() >= 7 && is_library_name(entry);
            add_attempt(candidate, context, whole ? as_given : context.prefixed(entry));
            break;
        }
        case Generation::list:
            add_attempt(candidate, context, as_given);
            if (entry.find('/') == std::string::npos && !is_library_name(entry))
                add_attempt(candidate, context, context.prefixed(entry));
            break;
    }
    return candidate;
}

Candidate make_adopted(const std::string& library, Origin origin) {
    Candidate candidate;
    candidate.entry = library;
    candidate.origin = origin;
    candidate.attempts.push_back(library);
    candidate.names.push_back(library);
    return candidate;
}

void parse_list(const Context& context, std::string_view value, CandidateList& list) {
    const unsigned long subsystems =
        context.policy.wording == Wording::r2_28 ? NCCL_NET | NCCL_ENV : NCCL_NET | NCCL_INIT;
    const bool net = context.flavour == Flavour::net;
    const std::size_t capacity = kSlots - (net ? kNetReserved : kRmaReserved);
    // The net loader names one less than it takes; the RMA loader names what it takes.
    const std::size_t announced = net ? capacity - 1 : capacity;
    while (!value.empty()) {
        const std::size_t end = value.find(',');
        const std::string item(value.substr(0, end));
        value.remove_prefix(end == std::string_view::npos ? value.size() : end + 1);
        if (item.empty()) continue;
        if (list.entries.size() >= capacity) {
            list.lines.push_back(
                {NCCL_LOG_INFO, subsystems,
                 fmt::format(messages::kListTooLong, context.variable(), announced)});
            return;
        }
        if (item.size() + 1 > kEntryBufferBytes) {
            list.lines.push_back(
                {NCCL_LOG_INFO, subsystems,
                 fmt::format(messages::kNameTooLong, context.variable(), item, kEntryBufferBytes)});
            continue;
        }
        list.entries.push_back(make_entry(context, item, Origin::environment));
    }
}

void add_environment_entries(const Context& context, const std::optional<std::string>& value,
                             CandidateList& list) {
    const bool one = context.policy.generation == Generation::suffix_only ||
                     context.policy.generation == Generation::one_name;
    if (!value || (one && value->empty())) {
        list.entries.push_back(make_entry(context, context.prefix() + ".so", Origin::default_name));
        return;
    }
    if (one) {
        list.entries.push_back(make_entry(context, *value, Origin::environment));
        return;
    }
    if (context.policy.wording == Wording::r2_28)
        list.lines.push_back(
            {NCCL_LOG_INFO, NCCL_ENV | NCCL_NET,
             fmt::format(messages::kSetByEnvironment, context.variable(), *value)});
    if (context.policy.none_empties_list && ::strcasecmp(value->c_str(), "none") == 0) return;
    parse_list(context, *value, list);
}

}  // namespace

bool means_running_program(const std::string& name) noexcept {
    return !name.empty() && ::strncasecmp(name.c_str(), "STATIC_PLUGIN", name.size()) == 0;
}

CandidateList candidates(Flavour flavour, Host host, int release,
                         const std::optional<std::string>& value, const OpenLibraries& open) {
    CandidateList list;
    if (host == Host::libnccom) {
        if (flavour == Flavour::net)
            list.entries.push_back(make_adopted("libnccom-net.so", Origin::default_name));
        return list;
    }
    if (flavour == Flavour::rma && rma_probe_order(host, release).empty()) return list;
    add_environment_entries(Context{flavour, host, policy_of(release)}, value, list);
    if (flavour == Flavour::rma) {
        if (open.gin) list.entries.push_back(make_adopted(*open.gin, Origin::gin_library));
        if (open.net) list.entries.push_back(make_adopted(*open.net, Origin::net_library));
    }
    return list;
}

}  // namespace duofi::loader
