// Many endpoints in one process, each in touch with all the others.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "tests/sim_fabric/fabric_ends.hpp"
#include "tests/sim_fabric/sim_groups.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

DUOFI_RANK_BODY(many_endpoints) {
    const auto count = static_cast<std::uint32_t>(rank.number("endpoints", 64));
    Opened opened;
    std::deque<End> ends;
    std::vector<std::vector<fi_addr_t>> peers(count);
    std::vector<std::vector<std::uint32_t>> heard(count, std::vector<std::uint32_t>(count));
    for (std::uint32_t i = 0; i < count; ++i) ends.emplace_back(opened);
    for (std::uint32_t i = 0; i < count; ++i)
        for (std::uint32_t j = 0; j < count; ++j) {
            peers[i].push_back(ends[i].insert(ends[j].name()));
            require(fi_recv(ends[i].ep, &heard[i][j], 4, nullptr, FI_ADDR_UNSPEC, &heard[i][j]) == 0, "fi_recv");
        }
    std::vector<End*> all;
    for (End& end : ends) all.push_back(&end);
    const Nanoseconds begin = now_ns();
    for (std::uint32_t i = 0; i < count; ++i)
        for (std::uint32_t j = 0; j < count; ++j)
            require(post([&] { return fi_inject(ends[i].ep, &i, 4, peers[i][j]); }, all) == 0, "fi_inject");
    const Deadline deadline(120 * kSecond);
    std::vector<std::vector<int>> times(count, std::vector<int>(count));
    for (std::uint32_t left = count * count; left != 0;) {
        require(!deadline.passed(), "{} messages are missing", left);
        for (std::uint32_t j = 0; j < count; ++j)
            for (Event event; ends[j].poll(event); --left) {
                require(event.error == 0, "completion: {}", event.error);
                const std::uint32_t from = *static_cast<std::uint32_t*>(event.entry.op_context);
                require(from < count && event.source == peers[j][from] && ++times[j][from] == 1, "message of {} to {}", from, j);
            }
    }
    std::printf("%u endpoints x %u peers: %.2f s, %ld KiB\n", count, count, static_cast<double>(now_ns() - begin) / 1e9,
                ProcessFacts::now().rss_kib);
}

TEST(Scale, EndpointsInOneProcess) { run_group("many_endpoints", on_personality("ideal", 1)); }

}  // namespace
}  // namespace duofi::test
