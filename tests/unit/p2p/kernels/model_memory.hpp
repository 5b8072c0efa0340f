// The state of the model's memory under each of the rules: what a load may return, what a store
// does. Values only, so that states can be copied and compared.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/p2p/kernels/model_explorer.hpp"

namespace duofi::test {

class MemoryState {
  public:
    MemoryState(MemoryRules rules, std::size_t locations);

    /// Ways in which this operation may go now; 0 = it has to wait (a fence behind stores).
    [[nodiscard]] std::size_t choices(int thread, const ModelStep& step) const;
    /// Carries it out in way `choice` and returns the loaded value.
    std::uint64_t apply(int thread, const ModelStep& step, std::size_t choice);
    /// Stores that may reach memory by themselves now.
    [[nodiscard]] std::size_t drains(int thread) const;
    void drain(int thread, std::size_t which);
    [[nodiscard]] const std::string& race() const { return race_; }
    void append_key(std::vector<std::uint64_t>& key) const;

  private:
    using Clock = std::array<std::uint64_t, 2>;
    struct Pending {
        std::size_t location;
        std::uint64_t value;
    };
    struct Message {
        std::uint64_t value = 0;
        bool release = false;
        Clock clock{};
        std::vector<std::size_t> view;  // of a release: position per location
    };
    struct Location {
        std::vector<Message> order{1};
        std::array<std::uint64_t, 2> read_at{};
        int writer = -1;
        std::uint64_t written_at = 0;
    };

    std::uint64_t apply_buffered(int thread, const ModelStep& step);
    std::uint64_t apply_views(int thread, const ModelStep& step, std::size_t choice);
    std::uint64_t load_view(int thread, const ModelStep& step, std::size_t position);
    void store_view(int thread, const ModelStep& step, std::size_t position);
    std::uint64_t data_view(int thread, const ModelStep& step);

    MemoryRules rules_;
    std::vector<std::uint64_t> values_;                       // sequential, total_store
    std::array<std::vector<Pending>, 2> buffer_, streaming_;  // total_store
    std::vector<Location> locations_;                         // release_acquire
    std::array<std::vector<std::size_t>, 2> view_;
    std::array<Clock, 2> clock_{{{1, 0}, {0, 1}}};
    std::string race_;
};

}  // namespace duofi::test
