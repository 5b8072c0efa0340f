#include "tools/duofi/gin_cost.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "common/gin/gin_proxy.hpp"
#include "tools/duofi/statistics.hpp"
#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

/// Anything that is not NULL will do for a plugin's objects.
int object = 0;

ncclResult_t give(void** out) {
    *out = &object;
    return ncclSuccess;
}

/// Every call succeeds, every request is done.
constexpr ncclRma_v16_t kNullTable = {
    .name = "null",
    .init = [](void** out, std::uint64_t, ncclDebugLogger_t) { return give(out); },
    .devices =
        [](int* count) {
            *count = 1;
            return ncclSuccess;
        },
    .getRmaProperties =
        [](void*, ncclRmaProperties_v16_t* out) {
            *out = {};
            return ncclSuccess;
        },
    .getProperties =
        [](int, ncclNetProperties_v12_t* out) {
            *out = {};
            out->maxRecvs = 1;
            return ncclSuccess;
        },
    .listen = [](void*, int, void*, void** out) { return give(out); },
    .connect = [](void*, void**, int, int, void*, void** out) { return give(out); },
    .createContext = [](void*, ncclRmaConfig_v16_t*, void** out) { return give(out); },
    .regMrSym = [](void*, void*, std::size_t, int, std::uint64_t, void** out) { return give(out); },
    .regMrSymDmaBuf = [](void*, void*, std::size_t, int, std::uint64_t, int, std::uint64_t,
                         void**) { return ncclInvalidUsage; },
    .deregMrSym = [](void*, void*) { return ncclSuccess; },
    .destroyContext = [](void*) { return ncclSuccess; },
    .closeColl = [](void*) { return ncclSuccess; },
    .closeListen = [](void*) { return ncclSuccess; },
    .iput = [](void*, int, std::uint64_t, void*, std::size_t, std::uint64_t, void*, std::uint32_t,
               std::uint32_t, void** request) { return give(request); },
    .iputSignal = [](void*, int, std::uint64_t, void*, std::size_t, std::uint64_t, void*,
                     std::uint32_t, std::uint64_t, void*, std::uint64_t, std::uint32_t, bool,
                     std::uint32_t, void** request) { return give(request); },
    .iget = [](void*, int, std::uint64_t, void*, std::size_t, std::uint64_t, void*, std::uint32_t,
               std::uint32_t, void** request) { return give(request); },
    .iflush = [](void*, int, void*, std::uint32_t, void** request) { return give(request); },
    .test =
        [](void*, void*, int* done) {
            *done = 1;
            return ncclSuccess;
        },
    .rmaProgress = [](void*) { return ncclSuccess; },
    .queryLastError =
        [](void*, bool* has_error) {
            *has_error = false;
            return ncclSuccess;
        },
    .finalize = [](void*) { return ncclSuccess; },
};

enum class Kind { put, put_signal, put_value, get };

struct Plan {
    const char* name;
    Kind kind;
    int peers;
    int poll_batch;
};

constexpr Plan kPlans[] = {
    {"put", Kind::put, 1, 32},
    {"put", Kind::put, 1, 1},
    {"put+signal", Kind::put_signal, 1, 32},
    {"put_value", Kind::put_value, 1, 32},
    {"get", Kind::get, 1, 32},
    {"put", Kind::put, 64, 32},
};

/// The exchange of a rank whose peers are never asked.
gin::Exchange imagined(int size) {
    return {0, size, [](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                for (std::size_t at = 0; at < all.size(); at += mine.size())
                    std::ranges::copy(mine, all.subspan(at).begin());
                return {};
            }};
}

class Bench {
  public:
    static Outcome<std::unique_ptr<Bench>> open(const Plan& plan) {
        auto made = std::make_unique<Bench>(plan);
        auto proxy =
            gin::GinProxy::open(loader::RmaTable(&kNullTable), &object, imagined(plan.peers), {});
        if (!proxy) return failed(describe(proxy.error()));
        made->proxy_ = std::move(*proxy);
        auto window = made->proxy_->register_window(made->memory_);
        if (!window) return failed(describe(window.error()));
        made->window_ = *window;
        gin::DeviceCommShape shape;
        shape.shape.signals = 1;
        shape.shape.poll_batch = plan.poll_batch;
        auto comm = made->proxy_->create(shape);
        if (!comm) return failed(describe(comm.error()));
        made->comm_ = *comm;
        return made;
    }
    explicit Bench(const Plan& plan) : plan_(plan), memory_(4096) {}

    /// One round.
    Outcome<void> run(double seconds, ProxyCost& cost) {
        gin::Queues& rings = comm_->part(0).queues(0);
        const Deadline deadline(static_cast<Nanoseconds>(seconds * kSecond));
        std::uint64_t descriptors = 0;
        Nanoseconds posting = 0, passing = 0;
        do {
            const Nanoseconds start = now_ns();
            for (std::uint32_t i = 0; i < rings.depth(); ++i)
                if (auto done = post(); !done) return done;
            const Nanoseconds posted = now_ns();
            while (rings.consumed(kPeer) != rings.produced(kPeer))
                if (proxy_->progress() == gin::Pass::failed)
                    return failed("the proxy failed over the null table");
            const Nanoseconds drained = now_ns();
            posting += posted - start;
            passing += drained - posted;
            descriptors += rings.depth();
        } while (!deadline.passed());
        cost.post_ns.push_back(static_cast<double>(posting) / static_cast<double>(descriptors));
        cost.proxy_ns.push_back(static_cast<double>(passing) / static_cast<double>(descriptors));
        return {};
    }

  private:
    static constexpr int kPeer = 0;

    Outcome<void> post() {
        gin::Device kernel = comm_->device(0);
        gin::GinStatus status = gin::GinStatus::failed;
        switch (plan_.kind) {
            case Kind::put:
                status = kernel.put(kPeer, {window_, 64}, {window_, 0}, 64);
                break;
            case Kind::put_signal:
                status = kernel.put(kPeer, {window_, 64}, {window_, 0}, 64, gin::Signal::inc(0));
                break;
            case Kind::put_value:
                status = kernel.put_value(kPeer, {window_, 64}, std::uint64_t{1});
                break;
            case Kind::get:
                status = kernel.get(kPeer, {window_, 64}, {window_, 0}, 64);
                break;
        }
        if (status == gin::GinStatus::done) return {};
        return failed(std::string("proxy cost: ") + gin::to_string(status));
    }

    Plan plan_;
    std::vector<std::byte> memory_;
    std::unique_ptr<gin::GinProxy> proxy_;
    gin::Window window_;
    gin::DeviceComm* comm_ = nullptr;
};

}  // namespace

Outcome<std::vector<ProxyCost>> measure_proxy_cost(int rounds, double seconds) {
    std::vector<std::unique_ptr<Bench>> benches;
    std::vector<ProxyCost> rows;
    for (const Plan& plan : kPlans) {
        auto bench = Bench::open(plan);
        if (!bench) return failed(bench.error());
        benches.push_back(std::move(*bench));
        rows.push_back({plan.name, plan.peers, plan.poll_batch, {}, {}});
    }
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (auto done = benches[i]->run(seconds, rows[i]); !done) return failed(done.error());
    return rows;
}

std::string proxy_cost_table(const std::vector<ProxyCost>& rows) {
    const Table table({{"descriptor", "", 12, true},
                       {"peers", "", 7},
                       {"batch", "", 7},
                       {"post", "ns", 9},
                       {"proxy", "ns", 9},
                       {"lowest", "ns", 9},
                       {"highest", "ns", 9},
                       {"rate", "M/s", 8}});
    std::string text =
        "# cost of the GIN proxy on a table that does nothing, one descriptor of a full ring\n"
        "# post = kernel's side, proxy = from the ring to the completion; medians of rounds, range "
        "of proxy\n" +
        table.header();
    for (const ProxyCost& row : rows) {
        const Spread proxy = spread_of(row.proxy_ns);
        text += table.row(
            {row.operation, fmt::format("{}", row.peers), fmt::format("{}", row.poll_batch),
             fmt::format("{:.1f}", spread_of(row.post_ns).median),
             fmt::format("{:.1f}", proxy.median), fmt::format("{:.1f}", proxy.minimum),
             fmt::format("{:.1f}", proxy.maximum),
             fmt::format("{:.2f}", proxy.median > 0 ? 1e3 / proxy.median : 0.0)});
    }
    return text;
}

std::vector<Record> proxy_cost_records(const std::vector<ProxyCost>& rows) {
    std::vector<Record> records;
    for (const ProxyCost& row : rows) {
        const Spread proxy = spread_of(row.proxy_ns);
        records.push_back({{"operation", row.operation},
                           {"peers", std::int64_t{row.peers}},
                           {"poll_batch", std::int64_t{row.poll_batch}},
                           {"rounds", static_cast<std::int64_t>(row.proxy_ns.size())},
                           {"post_ns_median", spread_of(row.post_ns).median},
                           {"proxy_ns_median", proxy.median},
                           {"proxy_ns_min", proxy.minimum},
                           {"proxy_ns_max", proxy.maximum}});
    }
    return records;
}

}  // namespace duofi::tool
