// One rank of a group whose other ranks do not exist, over the fake table; passes are made by hand.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "common/gin/gin_proxy.hpp"
#include "tests/unit/gin/fake_rma.hpp"

namespace duofi::gin::test {

/// The exchange of rank 0 among `size`: every block is its own.
inline Exchange solo_exchange(int size) {
    return {0, size, [size](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
                    std::copy(mine.begin(), mine.end(),
                              all.begin() + static_cast<std::ptrdiff_t>(i * mine.size()));
                return {};
            }};
}

class Solo : public ::testing::Test {
  protected:
    static constexpr int kPeers = 3;

    void SetUp() override { fake_.alone = true; }

    /// Opens the proxy and one device communicator.
    void open(const DeviceCommShape& shape, const GinOptions& options = {}) {
        auto proxy =
            GinProxy::open(fake_.table(), fake_.new_instance(), solo_exchange(kPeers), options);
        ASSERT_TRUE(proxy) << proxy.error().place;
        proxy_ = std::move(*proxy);
        auto window = proxy_->register_window(std::as_writable_bytes(std::span(memory_)));
        ASSERT_TRUE(window);
        window_ = *window;
        auto comm = proxy_->create(shape);
        ASSERT_TRUE(comm) << comm.error().place;
        comm_ = *comm;
        fake_.forget_calls();
    }

    static DeviceCommShape shape(int poll_batch = kDefaultPollBatch) {
        DeviceCommShape made;
        made.shape.signals = 4;
        made.shape.counters = 4;
        made.shape.poll_batch = poll_batch;
        made.device.limit = 5 * kSecond;
        return made;
    }

    Device device(int context = 0) { return comm_->device(context); }

    /// One put of 8 bytes whose source offset tells it from the others.
    void post_put(int peer, std::uint64_t offset = 0, int counter = kNoCounter) {
        ASSERT_EQ(device().put(peer, {window_, 64}, {window_, offset}, 8, {}, counter),
                  GinStatus::done);
    }
    void post_puts(int peer, int count) {
        for (int i = 0; i < count; ++i) post_put(peer, static_cast<std::uint64_t>(i));
    }

    /// The flags of the data calls so far, 1 = hinted.
    std::vector<std::uint32_t> flags() const {
        std::vector<std::uint32_t> all;
        for (const FakeCall& call : fake_.calls()) all.push_back(call.flags);
        return all;
    }
    Queues& rings(int context = 0) { return comm_->part(0).queues(context); }

    FakeRma fake_;
    std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>(512);
    std::unique_ptr<GinProxy> proxy_;
    DeviceComm* comm_ = nullptr;
    Window window_;
};

}  // namespace duofi::gin::test
