#include "tests/support/rma_exchange.hpp"

#include <algorithm>

namespace duofi::test {
namespace {

std::uint64_t seed_of(const ExchangeOptions& options, int from, int to, int round) {
    return options.seed * 1'000'003 + static_cast<std::uint64_t>((from * 64 + to) * 4096 + round);
}

}  // namespace

void exchange_all(Rank& rank, const RmaTeam& team, void* context, const ExchangeOptions& options) {
    const auto ranks = static_cast<std::size_t>(team.count);
    const auto self = static_cast<std::size_t>(team.index);
    RmaMemory out(team, ranks * options.bytes, 1);
    RmaMemory in(team, ranks * options.bytes, self % 8);
    SignalWords words(team, ranks);
    const RmaStream on{team.rma, team.coll.get(), context, options.context};
    for (int round = 0; round < options.rounds; ++round) {
        in.buffer.poison();
        rank.barrier();
        std::vector<void*> requests;
        for (std::size_t k = 0; k < ranks; ++k) {
            const std::size_t to = (self + k) % ranks;
            fill_pattern(out.data() + to * options.bytes, options.bytes,
                         seed_of(options, team.index, static_cast<int>(to), round));
            const RmaPut put = copy(out, to * options.bytes, options.bytes, in,
                                    self * options.bytes, static_cast<int>(to));
            requests.push_back(post_signal(on, put, inc(words, self)));
        }
        rma_wait_all(on, requests);
        for (std::size_t from = 0; from < ranks; ++from) {
            words.await(on, from, static_cast<std::uint64_t>(round) + 1);
            const auto bad =
                first_mismatch(in.data() + from * options.bytes, options.bytes,
                               seed_of(options, static_cast<int>(from), team.index, round));
            require(!bad, "byte {} from rank {} is wrong in round {}", bad.value_or(0), from,
                    round);
        }
        require(in.buffer.guards_intact(), "wrote outside the region");
        rank.barrier();
    }
}

void exchange_all(Rank& rank, const RmaTeam& team, const ExchangeOptions& options) {
    exchange_all(rank, team, team.context.get(), options);
}

void exchange_self(const RmaTeam& team, RmaMemory& window, SignalWords& words, std::uint64_t seed) {
    const RmaStream on = team.on();
    const std::size_t half = window.buffer.size() / 2;
    const std::uint64_t before = words.load(0);
    fill_pattern(window.data(), half, seed);
    rma_wait(on, post_signal(on, copy(window, 0, half, window, half, team.index), inc(words, 0)));
    words.await(on, 0, before + 1);
    require(!first_mismatch(window.data() + half, half, seed), "a put to oneself is wrong");
    std::fill_n(window.data(), half, std::uint8_t{0});
    rma_wait(on, post_get(on, copy(window, 0, half, window, half, team.index)));
    rma_wait(on, post_flush(on, window.handle(), team.index));
    require(!first_mismatch(window.data(), half, seed), "a get from oneself is wrong");
}

}  // namespace duofi::test
