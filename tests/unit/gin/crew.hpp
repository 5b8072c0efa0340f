// Several ranks as threads of this process over one fake table, each with a running proxy.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "common/gin/gin_proxy.hpp"
#include "tests/unit/gin/fake_rma.hpp"
#include "tests/unit/gin/thread_exchange.hpp"

namespace duofi::gin::test {

/// Calls body(exchange) in one thread per rank.
inline void run_ranks(int size, const std::function<void(const Exchange&)>& body) {
    const std::vector<Exchange> exchanges = thread_exchanges(size);
    std::vector<std::thread> threads;
    for (const Exchange& exchange : exchanges) threads.emplace_back([&] { body(exchange); });
    for (std::thread& thread : threads) thread.join();
}

/// One rank with memory, a window and a device communicator.
struct Rank {
    Rank(FakeRma& fake, const Exchange& exchange, const DeviceCommShape& shape,
         const GinOptions& options, std::size_t bytes)
        : memory(bytes) {
        auto opened = GinProxy::open(fake.table(), fake.new_instance(), exchange, options);
        if (!opened) return;
        proxy = std::move(*opened);
        auto made = proxy->register_window(memory);
        if (!made) return;
        window = *made;
        auto created = proxy->create(shape);
        if (!created) return;
        comm = *created;
        proxy->start();
    }
    /// Arrivals at a barrier may still be under way: first flush, then close.
    void close() {
        for (int context = 0; context < comm->contexts(); ++context)
            EXPECT_EQ(comm->device(context).flush(), GinStatus::done);
        EXPECT_TRUE(proxy->close());
    }
    [[nodiscard]] bool good() const { return comm != nullptr; }
    [[nodiscard]] std::uint8_t& byte(std::size_t at) {
        return reinterpret_cast<std::uint8_t&>(memory[at]);
    }

    std::vector<std::byte> memory;
    std::unique_ptr<GinProxy> proxy;
    Window window;
    DeviceComm* comm = nullptr;
};

inline DeviceCommShape crew_shape(int contexts = 1) {
    DeviceCommShape shape;
    shape.shape.contexts = contexts;
    shape.shape.signals = 8;
    shape.shape.counters = 2;
    shape.device.limit = 20 * kSecond;
    return shape;
}

}  // namespace duofi::gin::test
