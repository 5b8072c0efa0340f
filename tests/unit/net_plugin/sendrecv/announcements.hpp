// Announcements as they are on the wire, written and read by the test.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "net_plugin/comms/wire.hpp"
#include "tests/support/failure.hpp"

namespace duofi::net::comm_test {

inline std::vector<std::byte> announcement_bytes(std::span<const Announcement> announcements) {
    std::vector<std::byte> bytes;
    for (const Announcement& a : announcements) {
        const auto all = std::as_bytes(std::span(&a, 1)).first(a.bytes());
        bytes.insert(bytes.end(), all.begin(), all.end());
    }
    return bytes;
}

inline std::vector<Announcement> announcements_in(std::span<const std::byte> bytes) {
    std::vector<Announcement> result;
    while (!bytes.empty()) {
        Announcement a;
        test::require(bytes.size() >= Announcement::kHead, "a piece of an announcement");
        std::memcpy(static_cast<void*>(&a), bytes.data(), Announcement::kHead);
        test::require(a.targets <= a.target.size() && a.bytes() <= bytes.size(), "an announcement without its targets");
        std::memcpy(&a.target, bytes.data() + Announcement::kHead, a.bytes() - Announcement::kHead);
        result.push_back(a);
        bytes = bytes.subspan(a.bytes());
    }
    return result;
}

}  // namespace duofi::net::comm_test
