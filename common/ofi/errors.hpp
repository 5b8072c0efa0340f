// From libfabric's codes to ours, and the one-line report of a failed operation (A21). Cold paths
// only.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/util/error.hpp"

namespace duofi::ofi {

/// Class of a libfabric code. `code` may be negative or positive: shm reports -265 where 265 is
/// meant (P5).
[[nodiscard]] Errc errc_of(std::int64_t code) noexcept;

/// Error from a failed libfabric call; `place` is a literal such as "fi_domain".
[[nodiscard]] Error error_from(std::int64_t code, const char* place) noexcept;

/// Error from a completion error; provider_errno is always positive.
[[nodiscard]] Error error_from(const fi_cq_err_entry& entry, const char* place) noexcept;

/// Text of a code, positive or negative. Never null, valid for ever.
[[nodiscard]] const char* error_text(std::int64_t code) noexcept;

/// The provider's own words for prov_errno, "" if it has none. `cq` may be null.
[[nodiscard]] std::string provider_text(fid_cq* cq, const fi_cq_err_entry& entry);

/// What is known about a failed operation. Views are used during the call only; empty or unset ones
/// are left out of the line.
struct OperationReport {
    std::string_view operation, device, provider, local, peer, provider_words, hint;
    std::optional<std::uint64_t> size, tag;
    std::int64_t error = 0;           ///< libfabric code, either sign
    std::int64_t provider_error = 0;  ///< as the provider gave it
};

/// `op=.. size=.. tag=0x.. dev=.. provider=.. local=.. peer=.. err=.. err_text=".." prov_err=..
/// prov_text=".." hint=".."`: keys in this order, one space between, texts quoted with \" and
/// \\ escaped, no newline.
[[nodiscard]] std::string format_report(const OperationReport& report);

}  // namespace duofi::ofi
