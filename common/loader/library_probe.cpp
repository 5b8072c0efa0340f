#include <fmt/core.h>
#include <strings.h>

#include <span>
#include <string>
#include <utility>

#include "common/abi/host_types.h"
#include "common/loader/library.hpp"
#include "common/util/messages/loader.hpp"

namespace duofi::loader {
namespace {

constexpr unsigned long kInitNet = NCCL_INIT | NCCL_NET;

/// A table that was looked up; `table` is nullptr when the library has none of the versions.
struct Found {
    const void* table = nullptr;
    int version = 0;
};

std::string table_name(const void* table) {
    const char* name = *static_cast<const char* const*>(table);
    return name != nullptr ? name : "(null)";
}

void info(const HostLog& log, const std::string& text) {
    say(log, NCCL_LOG_INFO, kInitNet, text);
}

/// Looks the versions of one symbol up and prints as the callers up to 2.27 do about what is
/// missing (report A1: "Failed to find ncclNetPlugin_v8 symbol" is one of these).
class SymbolSearch {
  public:
    SymbolSearch(const Library& library, const char* stem, const char* kind, int release,
                 const HostLog& log)
        : library_(library),
          stem_(stem),
          kind_(kind),
          release_(release),
          wording_(policy_of(release).wording),
          log_(log) {}

    [[nodiscard]] Found run(std::span<const int> versions) const {
        for (const int version : versions) {
            const std::string symbol = fmt::format("{}_v{}", stem_, version);
            if (const void* table = library_.symbol(symbol.c_str())) {
                found(table, version, version == versions.front());
                return {table, version};
            }
            missed(version, version == versions.front());
        }
        nothing();
        return {};
    }

  private:
    [[nodiscard]] bool each_miss_has_a_line() const {
        return wording_ == Wording::r2_26 || wording_ == Wording::r2_27;
    }

    void found(const void* table, int version, bool newest) const {
        // Before 2.24 the newest table is taken without a word.
        if (newest && release_ < release_number(2, 24, 0)) return;
        info(log_, fmt::format(messages::kLoadedTable, "NET", kind_, table_name(table), version));
    }

    void missed(int version, bool newest) const {
        if (each_miss_has_a_line() || (newest && wording_ < Wording::r2_26))
            info(log_, fmt::format(messages::kFailedToFindSymbol, stem_, version));
    }

    void nothing() const {
        if (wording_ >= Wording::r2_26) return;
        if (release_ < release_number(2, 19, 0))
            info(log_, fmt::format(messages::kFailedToFindOld, stem_));
        else
            info(log_, fmt::format(messages::kFailedToFindAny, stem_, stem_));
    }

    const Library& library_;
    const char* stem_;
    const char* kind_;
    int release_;
    Wording wording_;
    const HostLog& log_;
};

void say_net_result(const Library& library, const Candidate& entry, bool found, int release,
                    const HostLog& log) {
    const Wording wording = policy_of(release).wording;
    if (wording == Wording::r2_28)
        info(log, found ? fmt::format(messages::kNetLoadedExternalNetwork, library.mapped_name())
                        : fmt::format(messages::kNetUnsupported, library.mapped_name()));
    else if (wording == Wording::r2_27 && found)
        info(log, fmt::format(messages::kNetLoadedExternal, entry.entry));
}

Found probe_rma(const Library& library, std::span<const int> versions, const HostLog& log) {
    for (const int version : versions) {
        const std::string symbol = fmt::format("ncclRmaPlugin_v{}", version);
        const void* table = library.symbol(symbol.c_str());
        if (table == nullptr && version == 13) table = library.symbol("ncclGinPlugin_v13");
        if (table == nullptr) continue;
        info(log, fmt::format(messages::kLoadedTable, "RMA", "rma", table_name(table), version));
        return {table, version};
    }
    return {};
}

/// NCCL says it for an entry that did not open, too; RCCL never does.
void say_rma_failure(const Library& library, const Candidate& entry, Host host,
                     const HostLog& log) {
    if (host == Host::rccl) return;
    const bool open = static_cast<bool>(library);
    info(log, fmt::format(messages::kRmaLoadFailed, open ? library.mapped_name() : entry.entry,
                          library.handle_text(), "(nil)"));
}

}  // namespace

std::optional<LoadedTable> load_net(const Candidate& entry, Host host, int release,
                                    const HostLog& log) {
    const HostPolicy policy = policy_of(release);
    std::optional<Library> library = open_entry(entry, Flavour::net, policy, log);
    if (!library) return std::nullopt;
    const std::span<const int> versions = net_probe_order(host, release);
    const Found found = SymbolSearch(*library, "ncclNetPlugin", "net", release, log).run(versions);
    if (found.table != nullptr) {
        const char* collective = release < release_number(2, 22, 0) ? "coll" : "collnet";
        static_cast<void>(
            SymbolSearch(*library, "ncclCollNetPlugin", collective, release, log).run(versions));
    }
    say_net_result(*library, entry, found.table != nullptr, release, log);
    if (found.table == nullptr) return std::nullopt;
    return LoadedTable{std::move(*library), found.table, found.version, table_name(found.table)};
}

std::optional<LoadedTable> load_rma(const Candidate& entry, Host host, int release,
                                    const HostLog& log) {
    std::optional<Library> library = open_entry(entry, Flavour::rma, policy_of(release), log);
    if (!library) {
        // A library that is to be adopted but cannot be opened again never becomes an entry.
        if (entry.origin == Origin::environment || entry.origin == Origin::default_name)
            say_rma_failure(Library(), entry, host, log);
        return std::nullopt;
    }
    const Found found = probe_rma(*library, rma_probe_order(host, release), log);
    if (found.table == nullptr) {
        say_rma_failure(*library, entry, host, log);
        return std::nullopt;
    }
    info(log, fmt::format(messages::kRmaLoadedExternal, library->mapped_name()));
    return LoadedTable{std::move(*library), found.table, found.version, table_name(found.table)};
}

bool name_accepted(const std::string& wanted, const std::string& name) noexcept {
    return wanted.empty() || ::strcasecmp(wanted.c_str(), name.c_str()) == 0;
}

void say_no_network(const NetRequest& request, const HostLog& log) {
    if (request.net.empty() || ::strcasecmp(request.net.c_str(), "IB") == 0 ||
        ::strcasecmp(request.net.c_str(), "Socket") == 0)
        return;
    const bool list = policy_of(request.release).wording >= Wording::r2_27;
    say(log, NCCL_LOG_WARN, static_cast<unsigned long>(NCCL_ALL),
        list ? std::string(messages::kNetNone)
             : fmt::format(messages::kNetworkNotFound, request.net));
}

}  // namespace duofi::loader
