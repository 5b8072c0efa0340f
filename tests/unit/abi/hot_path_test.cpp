// A program of its own, because it counts every allocation of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "common/abi/boundary.hpp"
#include "common/abi/net_v6.h"

namespace {
std::atomic<long> allocations{0};
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* p = std::malloc(bytes)) return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
    std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

namespace duofi::abi {
namespace {

Status send_entry(void* comm, void* data, int size, int tag, void*, void** request) {
    if (comm == nullptr) return fail(Errc::internal, "send_entry");
    *request = static_cast<char*>(data) + size + tag;
    return {};
}

TEST(HotPath, allocates_nothing_on_success_and_on_an_error_value) {
    ncclNet_v6_t table{};
    table.isend = entry<&send_entry>;
    char data[64];
    void* request = nullptr;
    int failures = 0;

    const long control = allocations.load();
    ::operator delete(::operator new(16));
    ASSERT_GT(allocations.load(), control) << "the counter does not count";

    const long before = allocations.load();
    for (int i = 0; i < 1000; ++i) {
        if (table.isend(&table, data, 16, i % 8, nullptr, &request) != ncclSuccess) ++failures;
        if (table.isend(nullptr, data, 16, 0, nullptr, &request) != ncclInternalError) ++failures;
    }
    EXPECT_EQ(allocations.load(), before);
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(request, data + 16 + 999 % 8);
}

}  // namespace
}  // namespace duofi::abi
