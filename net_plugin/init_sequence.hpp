// The order of init (net contract 4.1, I1-I14) over injected steps. Runs in one thread under the
// plugin's init lock. Nothing is kept here: success fills InitContext, failure leaves no trace (net
// contract 1.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/memory/registration_policy.hpp"
#include "common/topology/platform.hpp"
#include "common/util/error.hpp"
#include "common/util/settings.hpp"
#include "net_plugin/protocol_select.hpp"

namespace duofi::net {

/// Size of registration granules: min(page size, 4 KiB) (I4).
[[nodiscard]] std::size_t registration_granule(std::size_t page_bytes) noexcept;

/// What discovery found.
struct DiscoverySummary {
    std::string provider;                   ///< of the selected entries
    std::vector<std::string> device_names;  ///< in device order
};

/// What the self-test learned from device, endpoint and properties (I11).
struct SelfTestReport {
    bool reg_is_global = false;
    bool dmabuf_supported = false;
    memory::GdrState gdr = memory::GdrState::unknown;
};

/// Everything decided so far; grows from step to step and belongs to the caller of run_init.
struct InitContext {
    int table_version = 6;          ///< set by the caller of run_init, kept after a failure
    bool prefer_sendrecv = false;   ///< likewise: SENDRECV unless the user says otherwise (net contract 4.2)
    Settings settings;              // I1, as the user set them
    std::uint32_t fi_version = 0;   // I3, packed
    std::string libfabric_file;     // file the library was loaded from
    std::size_t page_bytes = 0;     // I4
    std::size_t granule_bytes = 0;  // I4
    topology::Platform platform;    // I5
    Settings effective;             // I5, platform values filled in; what all later steps use
    ProtocolChoice protocol;        // I6
    DiscoverySummary discovery;     // I7
    SelfTestReport self_test;       // I11
};

/// The outside world of init. Steps are called in the order written here, each at most once.
class InitSteps {
  public:
    InitSteps() = default;
    InitSteps(const InitSteps&) = delete;
    InitSteps& operator=(const InitSteps&) = delete;
    virtual ~InitSteps() = default;

    virtual Result<Settings> load_settings() = 0;      ///< I1, logs what it refuses
    virtual std::uint32_t fi_version() = 0;            ///< I3
    virtual std::string libfabric_file() = 0;          ///< "" if unknown; see library_file()
    virtual std::string dmi_product_name() = 0;        ///< I5; see read_product_name()
    virtual std::string_view efa_provider_name() = 0;  ///< quirks own the literal
    /// Protocols that can run here, in AUTO's order (I6), from context.effective. Default: built_protocols().
    virtual std::span<const ProtocolCandidate> protocols(const InitContext&) { return built_protocols(); }
    /// I7, I8: discovery with context.effective. It logs its own lines, decides the efa gate (4.5,
    /// Errc::unsupported) and answers Errc::no_data when there is nothing. The step keeps the
    /// device list.
    virtual Result<DiscoverySummary> discover(const InitContext& context) = 0;
    virtual Status create_plugin(const InitContext& context) = 0;  ///< I9, I10
    virtual Result<SelfTestReport> self_test() = 0;  ///< I11: opens and closes endpoint 0
    /// I13: path of a description of this machine for NCCL_TOPO_FILE, "" for none. Called after everything has succeeded.
    virtual std::string topology_file(const InitContext&) { return {}; }
    /// Names and values for the summary line; default: setting_rows over the real environment.
    virtual std::vector<SettingRow> setting_rows(const Settings& settings);
    /// One write of the final batch (architecture 4.11). Default: set_environment_default.
    virtual bool set_environment(const char* name, const char* value);
    /// Undoes discover and create_plugin after a failure, also after an exception. Called once for
    /// each protocol that was tried.
    virtual void discard() noexcept = 0;
};

/// Runs I1-I14. Errors (all logged, the last line is I14's): Errc::internal (-22),
/// Errc::unsupported (-95), Errc::no_data (-61), and what a step returned. A machine without our
/// network is told at INFO only, unless the user named this plugin. The environment is written
/// after everything else has succeeded.
[[nodiscard]] Status run_init(InitSteps& steps, InitContext& context);

/// "NAME=value" of every row that differs from its default, joined by blanks; "none" if all are
/// default.
[[nodiscard]] std::string changed_settings(std::span<const SettingRow> rows);

}  // namespace duofi::net
