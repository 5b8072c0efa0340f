// What differs between the callers' releases, as one table of plain facts. Any thread; values only.
// Facts: net contract 1.2 to 1.4 and 1.7, completed from the callers' public sources of each
// release.
#pragma once

#include <cstddef>
#include <limits>

#include "common/loader/host_release.hpp"

namespace duofi::loader {

/// Wording of the lines around dlopen and the symbol look-ups.
enum class Wording {
    r2_12,  ///< up to 2.20
    r2_21,
    r2_22,  ///< to 2.25
    r2_26,
    r2_27,
    r2_28,  ///< and later, RCCL's head
};

/// Facts of one release.
struct HostPolicy {
    Generation generation = Generation::list;
    Wording wording = Wording::r2_28;
    bool none_empties_list = true;      ///< from 2.28
    bool static_word = true;            ///< STATIC_PLUGIN, from 2.22
    bool init_per_comm = true;          ///< from 2.28; v10 and older counted by a wrapper
    bool devices_per_comm = false;      ///< 2.28 before 2.28.7
    bool name_before_init = true;       ///< NCCL_NET compared before init, from 2.28.7
    bool finalize_failed_init = false;  ///< 2.28 to 2.29.3: finalize also after a failed init
    bool count_before_init = false;     ///< 2.28 to 2.29.3: wrapper counts an init that then fails
    bool keeps_name = true;             ///< from 2.30: an unloaded entry is reopened by its name
    bool unloads_all = false;           ///< list callers before 2.28.7 sweep all entries on release
    bool only_loader_counts_down = false;  ///< 2.22 to 2.26: only the comm that loaded gives back
    int initial_count = 0;                 ///< NCCL_NET_PLUGIN_REF_COUNT unset
    std::size_t longest_name = 254;        ///< bytes that a file name is cut to before dlopen
};

/// Count that never falls to zero: callers that never unload.
inline constexpr int kNeverUnload = std::numeric_limits<int>::max() / 2;

/// libnccom has no list and follows none of this.
[[nodiscard]] HostPolicy policy_of(int release) noexcept;

}  // namespace duofi::loader
