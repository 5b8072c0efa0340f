// Ranks as threads over the plugin that NCCL_RMA_PLUGIN names, each with an instance of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/gin/gin_proxy.hpp"
#include "common/gin/rma_proxy.hpp"
#include "common/loader/host_logger.hpp"
#include "common/loader/rma_host.hpp"
#include "tests/unit/gin/crew.hpp"

namespace duofi::gin::test {

/// Calls body(exchange, plugin) in one thread per rank; a communicator of its own for each.
inline void run_plugin_ranks(
    int size, const std::function<void(const Exchange&, const loader::AssignedRma&)>& body) {
    loader::RmaHost host(loader::RmaRequest::from_environment(), loader::host_logger());
    run_ranks(size, [&](const Exchange& exchange) {
        auto rma = host.attach(4711);
        ASSERT_TRUE(rma) << "NCCL_RMA_PLUGIN names no plugin that works here";
        ASSERT_TRUE(rma->gin);
        body(exchange, *rma);
        host.release(*rma);
    });
}

/// No rank goes before all have come here.
inline void leave_together(const Exchange& exchange) {
    const std::vector<std::byte> mine(1);
    std::vector<std::byte> all(static_cast<std::size_t>(exchange.size));
    EXPECT_TRUE(exchange.all_gather(mine, all));
}

/// Like Rank, over the plugin.
struct PluginRank {
    PluginRank(const loader::AssignedRma& rma, const Exchange& given, const DeviceCommShape& shape,
               const GinOptions& options, std::size_t bytes)
        : exchange(given), rank(given.rank), memory(bytes) {
        auto opened = GinProxy::open(rma.table, rma.gin_instance, exchange, options);
        if (!opened) {
            error = opened.error().place;
            return;
        }
        proxy = std::move(*opened);
        auto made = proxy->register_window(memory);
        auto created = proxy->create(shape);
        if (!made || !created) {
            error = made ? created.error().place : made.error().place;
            return;
        }
        window = *made;
        comm = *created;
        proxy->start();
    }
    [[nodiscard]] bool good() const { return comm != nullptr; }
    [[nodiscard]] std::uint8_t& byte(std::size_t at) {
        return reinterpret_cast<std::uint8_t&>(memory[at]);
    }
    void close() {
        for (int context = 0; context < comm->contexts(); ++context)
            EXPECT_EQ(comm->device(context).flush(), GinStatus::done);
        leave_together(exchange);
        EXPECT_TRUE(proxy->close());
    }

    const Exchange& exchange;
    int rank;
    std::string error;
    std::vector<std::byte> memory;
    std::unique_ptr<GinProxy> proxy;
    Window window;
    DeviceComm* comm = nullptr;
};

/// One byte from each of two ranks to the other, at 2048, with signal 7.
inline void swap_a_byte(PluginRank& own) {
    Device kernel = own.comm->device(0);
    own.byte(0) = static_cast<std::uint8_t>(40 + own.rank);
    ASSERT_EQ(kernel.put(1 - own.rank, {own.window, 2048}, {own.window, 0}, 1, Signal::inc(7)),
              GinStatus::done);
    ASSERT_EQ(kernel.wait_signal(7, 1), GinStatus::done);
    EXPECT_EQ(own.byte(2048), 41 - own.rank);
}

}  // namespace duofi::gin::test
