// Registrations on the fake provider: coverage, counts, keys and failures (reports A12, A13; P7).
#include "common/ofi/registration_cache.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/ofi/domain.hpp"
#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::Domain;
using ofi::Registration;

class Cache : public testing::Test {
  protected:
    void open(int mr_mode = 0, std::size_t key_bytes = 8) {
        device_ = fabric_.device(mr_mode, 16, key_bytes);
        auto opened = Domain::open(device_, settings_);
        ASSERT_TRUE(opened);
        domain_ = std::move(*opened);
    }
    Registration add(std::size_t offset, std::size_t size) {
        auto result = domain_->register_memory(memory_.data() + offset, size, nullptr);
        EXPECT_TRUE(result);
        return result ? std::move(*result) : Registration{};
    }
    FakeFabric fabric_;
    LogLines log_;
    Settings settings_;
    ofi::DeviceInfo device_;
    std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 16);
    std::shared_ptr<Domain> domain_;
};

TEST_F(Cache, ARangeInsideARegisteredOneSharesIt) {
    open();
    Registration whole = add(1000, 5000);
    Registration part = add(1500, 100);
    Registration same = add(1000, 5000);
    EXPECT_EQ(part.region, whole.region);
    EXPECT_EQ(same.region, whole.region);
    EXPECT_EQ(whole.region->references, 3U);
    EXPECT_EQ(domain_->registrations(), 1U);
    EXPECT_EQ(fabric_.open_objects("mr"), 1);
    EXPECT_TRUE(part.covers(memory_.data() + 1500, 100));
    EXPECT_FALSE(part.covers(memory_.data() + 1499, 1)) << "the handle covers what was asked for";
    EXPECT_FALSE(part.covers(memory_.data() + 1600, 1));

    Domain::deregister(whole);
    EXPECT_EQ(whole.region, nullptr);
    EXPECT_EQ(fabric_.open_objects("mr"), 1) << "the part still needs it";
    Domain::deregister(part);
    Domain::deregister(same);
    EXPECT_EQ(fabric_.open_objects("mr"), 0);
    EXPECT_EQ(domain_->registrations(), 0U);
    Domain::deregister(same);  // an empty one: nothing
}

TEST_F(Cache, ARangeThatStandsOutIsRegisteredItself) {
    open();
    Registration first = add(1000, 1000);
    for (const auto& [offset, size] :
         {std::pair<std::size_t, std::size_t>{999, 1}, {999, 1001}, {1000, 1001}, {1999, 2}, {2000, 1}}) {
        Registration other = add(offset, size);
        EXPECT_NE(other.region, first.region) << offset << "+" << size;
        EXPECT_TRUE(other.region->address <= other.address &&
                    other.address + other.length <= other.region->address + other.region->length);
        Domain::deregister(other);
    }
    Domain::deregister(first);
}

TEST_F(Cache, ALongRangeBelowShortOnesIsFound) {
    open();
    Registration whole = add(0, 60000);
    std::vector<Registration> many;
    for (std::size_t i = 1; i < 100; ++i) many.push_back(add(i * 100, 50));
    EXPECT_EQ(domain_->registrations(), 1U);
    EXPECT_EQ(whole.region->references, 100U);
    Domain::deregister(whole);
    for (Registration& one : many) Domain::deregister(one);
    EXPECT_EQ(domain_->registrations(), 0U);
}

TEST_F(Cache, SmallBuffersOfOnePageInAllOrders) {
    open();
    const std::array<std::size_t, 3> offsets{0, 200, 4000};  // report A13
    std::array<int, 3> in{0, 1, 2};
    do {
        std::array<int, 3> out{0, 1, 2};
        do {
            std::array<Registration, 3> held;
            for (const int i : in) held[static_cast<std::size_t>(i)] = add(offsets[static_cast<std::size_t>(i)], 100);
            for (std::size_t gone = 0; gone < 3; ++gone) {
                Domain::deregister(held[static_cast<std::size_t>(out[gone])]);
                for (std::size_t i = gone + 1; i < 3; ++i) {
                    const auto place = static_cast<std::size_t>(out[i]);
                    const std::byte* data = memory_.data() + offsets[place];
                    ASSERT_TRUE(held[place].covers(data, 100));
                    ASSERT_FALSE(held[place].covers(data, 101));
                    ASSERT_GT(held[place].region->references, 0U);
                }
            }
            ASSERT_EQ(domain_->registrations(), 0U);
            ASSERT_EQ(fabric_.open_objects("mr"), 0);
        } while (std::next_permutation(out.begin(), out.end()));
    } while (std::next_permutation(in.begin(), in.end()));
}

TEST_F(Cache, WithoutSharingEachHasItsOwnRegionAndKey) {
    settings_.mr_cache_disable = true;
    open();
    Registration first = add(0, 100), second = add(0, 100);
    EXPECT_NE(first.region, second.region);
    EXPECT_NE(first.region->key(), second.region->key());
    EXPECT_NE(first.region->key(), 0U);
    Domain::deregister(first);
    EXPECT_EQ(fabric_.open_objects("mr"), 1);
    Domain::deregister(second);
}

TEST_F(Cache, KeysOfTheProviderAreUsedWhereItChoosesThem) {
    open(FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED);
    Registration one = add(0, 100);
    EXPECT_FALSE(one.region->has_own_key);
    Domain::deregister(one);
}

TEST_F(Cache, AFailureLeavesNothing) {
    open();
    for (int i = 0; i < 20; ++i) {
        fabric_.fail_next("fi_mr_regattr", -FI_ENOMEM);
        const auto failed = domain_->register_memory(memory_.data(), 100, nullptr);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, Errc::no_memory);
    }
    EXPECT_EQ(domain_->registrations(), 0U);
    EXPECT_EQ(domain_.use_count(), 1) << "a failed registration keeps the domain";
    Registration works = add(0, 100);
    Domain::deregister(works);
}

TEST_F(Cache, TheKeySpaceEndsWithAnErrorAndComesBack) {
    settings_.mr_cache_disable = true;
    settings_.mr_key_size = 1;
    open(0, 1);
    std::vector<Registration> held;
    for (std::size_t i = 0; i < 255; ++i) held.push_back(add(i, 1));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(domain_->register_memory(memory_.data(), 1, nullptr));
    EXPECT_EQ(log_.with("registration keys").size(), 5U) << log_.dump();
    fabric_.fail_next("fi_mr_regattr", -FI_ENOMEM);
    Domain::deregister(held.back());
    EXPECT_FALSE(domain_->register_memory(memory_.data(), 1, nullptr));
    held.back() = add(0, 1);  // the key of the failed one came back too
    for (Registration& one : held) Domain::deregister(one);
    EXPECT_EQ(fabric_.open_objects("mr"), 0);
}

TEST_F(Cache, ARegistrationKeepsTheDomainOpen) {
    open();
    Registration one = add(0, 100);
    domain_.reset();
    EXPECT_EQ(fabric_.open_objects("domain"), 1);
    Domain::deregister(one);
    EXPECT_EQ(fabric_.open_objects(), 0);
}

TEST(RegistrationRange, IsCheckedWithoutOverflow) {
    Registration one;
    one.address = 0x1000;
    one.length = 0x100;
    const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
    EXPECT_TRUE(one.covers(at(0x1000), 0x100));
    EXPECT_TRUE(one.covers(at(0x10ff), 1));
    EXPECT_TRUE(one.covers(at(0x1100), 0));
    EXPECT_FALSE(one.covers(at(0x1100), 1));
    EXPECT_FALSE(one.covers(at(0x0fff), 1));
    EXPECT_FALSE(one.covers(at(0x1001), ~std::size_t{0}));
    EXPECT_FALSE(one.covers(at(~std::uintptr_t{0}), 2));
    EXPECT_FALSE(one.covers(nullptr, 1));
}

}  // namespace
}  // namespace duofi::test
