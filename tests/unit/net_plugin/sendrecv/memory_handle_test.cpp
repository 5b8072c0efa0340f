// Range checks of our own: providers accept anything (P4, P-5).
#include "net_plugin/memory_handle.hpp"

#include <cstdint>
#include <span>

#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {
namespace {

class MemoryHandles : public OverProvider {
  protected:
    void SetUp() override {
        OverProvider::SetUp();
        if (IsSkipped()) return;
        side.emplace(GetParam());
        handle = make();
    }
    static Result<void*> register_on(Side& side, void* data, std::size_t size) {
        ofi::Endpoint* rail = &side.ofi();
        return make_memory_handle(std::span(&rail, 1), data, size);
    }
    void* make() {
        const auto made = register_on(*side, memory + 16, 64);
        EXPECT_TRUE(made.has_value());
        return made ? *made : nullptr;
    }
    ofi::Domain& domain() { return side->ofi().domain(); }
    bool check(const void* data, std::size_t size, void* region) {
        void* descriptor = this;
        const bool ok = check_memory(domain(), region, data, size, "isend", descriptor);
        if (!domain().needs_local_registration()) {
            EXPECT_EQ(descriptor, nullptr);
        }
        return ok;
    }
    std::optional<Side> side;
    unsigned char memory[96] = {};
    void* handle = nullptr;
};

TEST_P(MemoryHandles, cover_exactly_what_was_registered) {
    const unsigned char* begin = memory + 16;
    EXPECT_TRUE(check(begin, 64, handle));
    EXPECT_TRUE(check(begin, 1, handle));
    EXPECT_TRUE(check(begin + 63, 1, handle));
    EXPECT_TRUE(check(begin + 10, 54, handle));
    EXPECT_TRUE(log.all().empty()) << log.dump();
    EXPECT_FALSE(check(begin - 1, 1, handle));
    EXPECT_FALSE(check(begin - 1, 65, handle));
    EXPECT_FALSE(check(begin, 65, handle));
    EXPECT_FALSE(check(begin + 64, 1, handle));
    EXPECT_FALSE(check(begin + 63, 2, handle));
    EXPECT_FALSE(check(begin, SIZE_MAX, handle)) << "the end overflows";
    EXPECT_FALSE(check(begin + 1, SIZE_MAX, handle));
    EXPECT_FALSE(check(reinterpret_cast<const void*>(UINTPTR_MAX), 1, handle));
    EXPECT_FALSE(check(reinterpret_cast<const void*>(UINTPTR_MAX - 3), 64, handle));
    EXPECT_EQ(log.with("is outside the registration").size(), 9u) << log.dump();
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

TEST_P(MemoryHandles, are_not_looked_at_for_zero_bytes) {
    EXPECT_TRUE(check(nullptr, 0, nullptr));
    EXPECT_TRUE(check(reinterpret_cast<const void*>(8), 0, reinterpret_cast<void*>(8)));
    EXPECT_TRUE(log.all().empty()) << log.dump();
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

TEST_P(MemoryHandles, null_data_is_refused) {
    EXPECT_FALSE(check(nullptr, 1, nullptr));
    EXPECT_FALSE(check(nullptr, 1, handle));
    EXPECT_EQ(log.with("isend: argument data is NULL").size(), 2u) << log.dump();
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

TEST_P(MemoryHandles, may_be_null_where_the_provider_needs_none) {
    EXPECT_EQ(check(memory, 8, nullptr), !domain().needs_local_registration());
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

TEST_P(MemoryHandles, of_another_domain_are_refused) {
    Side other(GetParam());
    const auto foreign = register_on(other, memory, 96);
    ASSERT_TRUE(foreign.has_value());
    EXPECT_FALSE(check(memory + 16, 8, *foreign));
    EXPECT_EQ(log.with("the mhandle is not registered on this device").size(), 1u) << log.dump();
    EXPECT_TRUE(drop_memory_handle(*foreign).has_value());
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

TEST_P(MemoryHandles, are_refused_once_dropped) {
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
    EXPECT_FALSE(check(memory + 16, 8, handle));
    const auto again = drop_memory_handle(handle);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, Errc::invalid_argument);
    EXPECT_EQ(log.with("the mhandle is not registered on this device").size(), 2u) << log.dump();
    const auto null = drop_memory_handle(nullptr);
    EXPECT_FALSE(null.has_value());
}

TEST_P(MemoryHandles, overlap_and_go_in_any_order) {
    const std::size_t before = domain().registrations();
    void* second = make();
    void* third = make();
    EXPECT_NE(handle, second);
    EXPECT_TRUE(drop_memory_handle(second).has_value());
    EXPECT_TRUE(check(memory + 16, 64, handle));
    EXPECT_TRUE(check(memory + 16, 64, third));
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
    EXPECT_TRUE(check(memory + 16, 64, third));
    EXPECT_TRUE(drop_memory_handle(third).has_value());
    EXPECT_EQ(domain().registrations(), before - 1);
}

TEST_P(MemoryHandles, keep_their_domain_open_after_the_last_endpoint) {
    side.reset();
    EXPECT_TRUE(drop_memory_handle(handle).has_value());
}

DUOFI_OVER_PROVIDERS(MemoryHandles);

}  // namespace
}  // namespace duofi::net::comm_test
