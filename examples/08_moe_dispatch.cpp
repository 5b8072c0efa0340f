// A mixture-of-experts layer's traffic: each token (7168 bytes) goes to the ranks of its 8 experts,
// the experts work on it, and the results come back and are added up. Dispatch and combine are puts
// with a signal per expert; every byte is checked.
//
//   NCCL_RMA_PLUGIN=duofi LD_LIBRARY_PATH=<folder of librccl-rma-duofi.so> ./08_moe_dispatch
//
// Example 04 explains how a proxy is made. Read kernel() first.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/local_spawn.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "common/gin/gin_proxy.hpp"
#include "common/loader/host_logger.hpp"
#include "common/loader/rma_host.hpp"

namespace {

using namespace duofi;

constexpr int kRanks = 4;
constexpr int kExperts = 32;  // expert e lives on rank e / kExpertsPerRank
constexpr int kExpertsPerRank = kExperts / kRanks;
constexpr int kTop = 8;      // experts per token
constexpr int kTokens = 64;  // per rank
constexpr std::size_t kTokenBytes = 7168;
constexpr int kSteps = 3;
constexpr Nanoseconds kPatience = 30 * kSecond;

// A rank's memory: its tokens, then a place for each token that any rank may send to each of its
// experts, then a place for each answer to its own tokens.
constexpr std::size_t kOwn = 0;
constexpr std::size_t kInbox = kOwn + kTokens * kTokenBytes;
constexpr std::size_t kAnswers =
    kInbox + std::size_t{kExpertsPerRank} * kRanks * kTokens * kTokenBytes;
constexpr std::size_t kMemory = kAnswers + std::size_t{kTokens} * kTop * kTokenBytes;

// Signals: one per own expert for what is dispatched to it, one for the answers.
constexpr std::uint32_t kAnswered = kExpertsPerRank;

std::size_t inbox_offset(int local_expert, int from, int token) {
    const auto slot = static_cast<std::size_t>((local_expert * kRanks + from) * kTokens + token);
    return kInbox + slot * kTokenBytes;
}
std::size_t answer_offset(int token, int place) {
    return kAnswers + static_cast<std::size_t>(token * kTop + place) * kTokenBytes;
}
std::uint8_t token_byte(int rank, int token, int step, std::size_t at) {
    return static_cast<std::uint8_t>(rank * 53 + token * 17 + step * 5 +
                                     static_cast<int>(at % 239));
}
/// What an expert does with a byte.
std::uint8_t expert_byte(int expert, std::uint8_t byte) {
    return static_cast<std::uint8_t>(byte ^ (expert * 3 + 1));
}

/// The router's choice for all tokens of all ranks, the same on every rank because all know the
/// seed. (A real router sends its counts; that is an all-to-all of its own, as in example 04.)
class Routing {
  public:
    explicit Routing(int step) {
        std::mt19937 random(static_cast<unsigned>(1000 + step));
        std::array<int, kExperts> all{};
        std::iota(all.begin(), all.end(), 0);
        for (auto& of_rank : choice_)
            for (auto& of_token : of_rank) {
                std::shuffle(all.begin(), all.end(), random);
                std::copy_n(all.begin(), kTop, of_token.begin());
            }
    }
    /// The experts of a token.
    [[nodiscard]] const std::array<int, kTop>& of(int rank, int token) const {
        return choice_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(token)];
    }
    /// Tokens that an expert gets from all ranks.
    [[nodiscard]] std::uint64_t load(int expert) const {
        std::uint64_t count = 0;
        for (const auto& of_rank : choice_)
            for (const auto& of_token : of_rank)
                count += static_cast<std::uint64_t>(
                    std::count(of_token.begin(), of_token.end(), expert));
        return count;
    }

  private:
    std::array<std::array<std::array<int, kTop>, kTokens>, kRanks> choice_{};
};

bool good(gin::GinStatus status, const char* what) {
    if (status == gin::GinStatus::done) return true;
    std::fprintf(stderr, "%s: %s\n", what, gin::to_string(status));
    return false;
}

class Layer {
  public:
    Layer(gin::Device device, const gin::Window& window, std::vector<std::byte>& memory)
        : device_(device), window_(window), memory_(memory), own_(device.rank()) {}

    /// One step of the layer.
    bool run(int step) {
        const Routing routing(step);
        for (int token = 0; token < kTokens; ++token)
            for (std::size_t i = 0; i < kTokenBytes; ++i)
                byte(own_offset(token) + i) = token_byte(own_, token, step, i);
        // Nobody writes into an inbox whose owner still works on the last step.
        if (!good(device_.barrier(), "barrier")) return false;
        if (!dispatch(routing)) return false;
        for (int local = 0; local < kExpertsPerRank; ++local)
            if (!serve(routing, local, step)) return false;
        expected_answers_ += std::uint64_t{kTokens} * kTop;
        if (!good(device_.wait_signal(kAnswered, expected_answers_), "answers")) return false;
        if (!combine(routing, step)) return false;
        return good(device_.flush(), "flush");  // sources may change from here on
    }

  private:
    static std::size_t own_offset(int token) {
        return kOwn + static_cast<std::size_t>(token) * kTokenBytes;
    }
    std::uint8_t& byte(std::size_t at) { return reinterpret_cast<std::uint8_t&>(memory_[at]); }

    bool dispatch(const Routing& routing) {
        for (int token = 0; token < kTokens; ++token)
            for (const int expert : routing.of(own_, token)) {
                const int local = expert % kExpertsPerRank;
                const auto sent = device_.put(expert / kExpertsPerRank,
                                              {window_, inbox_offset(local, own_, token)},
                                              {window_, own_offset(token)}, kTokenBytes,
                                              gin::Signal::inc(static_cast<std::uint32_t>(local)));
                if (!good(sent, "dispatch")) return false;
            }
        return true;
    }

    /// Waits for all tokens of one expert, checks and changes them, sends them home.
    bool serve(const Routing& routing, int local, int step) {
        const int expert = own_ * kExpertsPerRank + local;
        std::uint64_t& expected = expected_tokens_[static_cast<std::size_t>(local)];
        expected += routing.load(expert);
        const auto arrived = device_.wait_signal(static_cast<std::uint32_t>(local), expected);
        if (!good(arrived, "dispatched tokens")) return false;
        for (int from = 0; from < kRanks; ++from)
            for (int token = 0; token < kTokens; ++token) {
                const auto& chosen = routing.of(from, token);
                const auto place = std::find(chosen.begin(), chosen.end(), expert);
                if (place == chosen.end()) continue;
                if (!work(expert, from, token, step)) return false;
                const auto home = answer_offset(token, static_cast<int>(place - chosen.begin()));
                const auto sent =
                    device_.put(from, {window_, home}, {window_, inbox_offset(local, from, token)},
                                kTokenBytes, gin::Signal::inc(kAnswered));
                if (!good(sent, "combine")) return false;
            }
        return true;
    }

    bool work(int expert, int from, int token, int step) {
        const std::size_t at = inbox_offset(expert % kExpertsPerRank, from, token);
        for (std::size_t i = 0; i < kTokenBytes; ++i) {
            if (byte(at + i) != token_byte(from, token, step, i)) {
                std::fprintf(stderr, "expert %d: byte %zu of token %d of rank %d is wrong\n",
                             expert, i, token, from);
                return false;
            }
            byte(at + i) = expert_byte(expert, byte(at + i));
        }
        return true;
    }

    /// The sum over the answers must be what the experts would have given here.
    bool combine(const Routing& routing, int step) {
        for (int token = 0; token < kTokens; ++token)
            for (std::size_t i = 0; i < kTokenBytes; ++i) {
                unsigned sum = 0, right = 0;
                for (int place = 0; place < kTop; ++place) {
                    const int expert = routing.of(own_, token)[static_cast<std::size_t>(place)];
                    sum += byte(answer_offset(token, place) + i);
                    right += expert_byte(expert, token_byte(own_, token, step, i));
                    if (sum == right) continue;
                    std::fprintf(stderr, "rank %d: token %d, byte %zu, expert %d: wrong answer\n",
                                 own_, token, i, expert);
                    return false;
                }
            }
        return true;
    }

    gin::Device device_;
    const gin::Window& window_;
    std::vector<std::byte>& memory_;
    int own_;
    std::array<std::uint64_t, kExpertsPerRank> expected_tokens_{};
    std::uint64_t expected_answers_ = 0;
};

gin::Exchange exchange_over(bootstrap::Store& store) {
    return {store.rank(), store.size(),
            [&store](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                auto blocks = store.gather("exchange", mine, Deadline(kPatience));
                if (!blocks) return fail(blocks.error().code, "exchange");
                for (std::size_t i = 0; i < blocks->size(); ++i)
                    std::memcpy(&all[i * mine.size()], (*blocks)[i].data(), mine.size());
                return {};
            }};
}

bool run_layer(gin::GinProxy& proxy, int rank) {
    std::vector<std::byte> memory(kMemory);
    const auto window = proxy.register_window(memory);
    gin::DeviceCommShape shape;
    shape.shape.signals = kExpertsPerRank + 1;
    const auto comm = proxy.create(shape);
    if (!window || !comm) return false;
    proxy.start();
    Layer layer((*comm)->device(0), *window, memory);
    bool right = true;
    for (int step = 0; step < kSteps && right; ++step) {
        const Nanoseconds start = now_ns();
        right = layer.run(step);
        if (rank == 0)
            std::printf("step %d: %d tokens to %d experts and back in %.1f ms\n", step,
                        kRanks * kTokens, kTop, static_cast<double>(now_ns() - start) / 1e6);
    }
    return proxy.close() && right;
}

int run(bootstrap::Store& store) {
    // Reads NCCL_RMA_PLUGIN. The plugin looks at it, too: unless its name is there it declines, so
    // that a host which finds these tables beside the net plugin does not use them unasked.
    const loader::RmaRequest request = loader::RmaRequest::from_environment();
    loader::RmaHost host(request, loader::host_logger(), loader::host_line);
    const auto plugin = host.attach(/*comm_id=*/2024);
    if (!plugin || !plugin->gin) {
        std::fprintf(stderr,
                     "no RMA plugin; see NCCL_RMA_PLUGIN and LD_LIBRARY_PATH, "
                     "NCCL_DEBUG=INFO shows why\n");
        return 1;
    }
    bool right = false;
    {
        auto proxy = gin::GinProxy::open(plugin->table, plugin->gin_instance, exchange_over(store),
                                         gin::GinOptions());
        right = proxy && run_layer(**proxy, store.rank());
    }
    host.release(*plugin);
    std::printf("rank %d: %d tokens of %zu bytes, dispatched and combined %d times: %s\n",
                store.rank(), kTokens, kTokenBytes, kSteps, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

}  // namespace

int main() {
    const auto port = bootstrap::free_port();
    if (!port) return 1;
    bootstrap::SpawnRequest request;
    request.size = kRanks;
    request.root_port = *port;
    request.timeout = 80 * kSecond;
    const auto outcome = bootstrap::run_ranks(request, [](int) {
        const auto facts = bootstrap::launch_facts();
        if (!facts) return 1;
        auto session = bootstrap::open_session(*facts, Deadline(kPatience));
        return session ? run(*session->store) : 1;
    });
    if (!outcome) return 1;
    std::printf("%s\n", outcome->summary().c_str());
    return outcome->ok() ? 0 : 1;
}
