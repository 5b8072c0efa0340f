// What a simulated NIC claims to be: the attributes that a provider of real hardware shows, each with the place where
// they can be read. Constant data, any thread.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace duofi::sim {

/// Errors that completions carry: libfabric code and the provider's own.
struct Failure {
    int error = 0;
    int provider_error = 0;
};

struct Personality {
    std::string_view name;          ///< as the knob spells it
    const char* provider = "";      ///< registered with libfabric; shown behind "duofisim;", "" = "duofisim" alone
    const char* fabric = "";
    const char* domain_format = ""; ///< of the NIC's number
    std::uint32_t address_format = 0;
    std::uint32_t protocol = 0;
    std::uint64_t caps = 0;
    std::uint64_t order = 0;        ///< msg_order that can be granted
    std::uint64_t mr_mode = 0;
    bool application_keys = false;  ///< a second entry per NIC without FI_MR_PROV_KEY
    std::size_t key_bytes = 8, application_key_bytes = 8;
    std::size_t cq_data_bytes = 8;
    std::size_t inject = 0;
    std::size_t largest_message = 0;
    std::size_t largest_waw = 0, largest_raw = 0;
    std::size_t tx_depth = 0, rx_depth = 0;
    fi_progress progress = FI_PROGRESS_MANUAL;
    std::uint64_t op_flags = 0;     ///< of tx_attr that can be granted
    bool writes_data = true;        ///< fi_writedata works without being switched on
    bool data_takes_receive = false;///< a write with data consumes a posted receive
    bool efa_options = false;       ///< knows the endpoint options of efa
    Failure bad_key, unreachable, no_local_key;
    const char* driver = "";
    const char* vendor = "";
    const char* device = "";
    const char* network = "";
    double gbps = 0;                ///< link speed when the knobs name none
};

[[nodiscard]] std::span<const Personality> personalities() noexcept;

/// nullptr: no such name.
[[nodiscard]] const Personality* find_personality(std::string_view name) noexcept;

}  // namespace duofi::sim
