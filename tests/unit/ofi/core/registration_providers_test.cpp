// Registrations on the providers of this machine (reports A12, A13).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include "common/ofi/domain.hpp"
#include "common/ofi/endpoint.hpp"
#include "tests/unit/ofi/core/provider_device.hpp"

namespace duofi::test {
namespace {

using ofi::Domain;
using ofi::Registration;

class RealRegistration : public testing::TestWithParam<const char*> {
  protected:
    void open() {
        if (!device_.find(GetParam())) GTEST_SKIP() << GetParam() << " is not in this libfabric";
        auto opened = Domain::open(device_.device(), device_.settings());
        ASSERT_TRUE(opened);
        domain_ = std::move(*opened);
    }
    Registration add(std::byte* data, std::size_t size) {
        auto result = domain_->register_memory(data, size, nullptr);
        EXPECT_TRUE(result);
        return result ? std::move(*result) : Registration{};
    }
    ProviderDevice device_;
    std::shared_ptr<Domain> domain_;
};

/// 10,000 at once, then in and out at random; every buffer twice.
TEST_P(RealRegistration, TenThousandAtOnceThenInAndOutAtRandom) {
    device_.settings().mr_cache_disable = true;  // each call reaches the provider
    open();
    if (IsSkipped()) return;
    constexpr std::size_t kCount = 10000, kSize = 64;
    std::vector<std::byte> memory(kCount / 2 * kSize);
    std::vector<Registration> held;
    std::set<std::uint64_t> keys;
    for (std::size_t i = 0; i < kCount; ++i) {
        held.push_back(add(memory.data() + i / 2 * kSize, kSize));
        ASSERT_NE(held.back().region, nullptr) << i;
        keys.insert(held.back().region->key());
    }
    EXPECT_EQ(keys.size(), kCount);
    EXPECT_EQ(domain_->registrations(), kCount);
    std::mt19937 random(11);
    for (int round = 0; round < 5000; ++round) {
        Registration& one = held[random() % kCount];
        Domain::deregister(one);
        one = add(memory.data() + random() % (kCount / 2) * kSize, kSize);
        ASSERT_NE(one.region, nullptr) << round;
    }
    std::shuffle(held.begin(), held.end(), random);
    for (Registration& one : held) Domain::deregister(one);
    EXPECT_EQ(domain_->registrations(), 0U);
}

/// Small buffers of one page, registered and given back in all orders.
TEST_P(RealRegistration, SmallBuffersOfOnePage) {
    open();
    if (IsSkipped()) return;
    std::vector<std::byte> memory(1 << 16);
    const std::array<std::size_t, 3> offsets{0, 200, 4000};
    std::array<std::size_t, 3> in{0, 1, 2};
    do {
        std::array<std::size_t, 3> out{0, 1, 2};
        do {
            std::array<Registration, 3> held;
            for (const std::size_t i : in) held[i] = add(memory.data() + offsets[i], 100);
            for (std::size_t gone = 0; gone < 3; ++gone) {
                Domain::deregister(held[out[gone]]);
                for (std::size_t i = gone + 1; i < 3; ++i) {
                    const Registration& one = held[out[i]];
                    ASSERT_NE(one.region, nullptr);
                    ASSERT_TRUE(one.covers(memory.data() + offsets[out[i]], 100));
                    ASSERT_FALSE(one.covers(memory.data() + offsets[out[i]], 101));
                    ASSERT_LE(one.region->address, one.address);
                    ASSERT_GE(one.region->address + one.region->length, one.address + 100);
                }
            }
            ASSERT_EQ(domain_->registrations(), 0U);
        } while (std::next_permutation(out.begin(), out.end()));
    } while (std::next_permutation(in.begin(), in.end()));
}

INSTANTIATE_TEST_SUITE_P(Providers, RealRegistration, testing::ValuesIn(kTestProviders), provider_word);

}  // namespace
}  // namespace duofi::test
