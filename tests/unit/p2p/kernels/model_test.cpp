// Every interleaving and every allowed stale value of the protocols (V-37): the code of the kernels
// over the model's memory, two slots, under three sets of rules; then the same with one fault each,
// which the explorer has to find. Units: p2p/kernels/counters, p2p/kernels/ll, p2p/kernels/ll128,
// p2p/kernels/pointer_exchange
#include <gtest/gtest.h>

#include "p2p/kernels/counters.hpp"
#include "p2p/kernels/ll.hpp"
#include "p2p/kernels/ll128.hpp"
#include "p2p/kernels/pointer_exchange.hpp"
#include "tests/unit/p2p/kernels/model_explorer.hpp"

namespace duofi::test {
namespace {

constexpr std::uint64_t kSlots = 2;
constexpr std::uint64_t kStepCount = 5;
using Sender = p2p::SendCounters<ModelMemory, kSlots>;
using Receiver = p2p::RecvCounters<ModelMemory, kSlots>;

/// Where things lie among the shared words.
struct Layout {
    ModelWords words;
    std::uint64_t* head = &words.word[0];
    std::uint64_t* tail = &words.word[1];
    std::uint64_t* pointer = &words.word[2];  // and the number of bytes behind it
    std::uint64_t* slot(std::uint64_t step) { return &words.word[8 + step % kSlots * 16]; }
    std::uint64_t* output = &words.word[40];
};

std::uint64_t datum(std::uint64_t step, std::uint64_t i) {
    return 100 * (step + 1) + i;
}

struct Faults {
    bool relaxed_tail = false;
    bool streams = false;
    bool no_fence = false;
    bool head_before_read = false;
    bool empties_pointer_late = false;
};

void write_slot(std::uint64_t* slot, std::uint64_t step, const Faults& faults) {
    const std::uint64_t data[] = {datum(step, 0), datum(step, 1)};
    if (!faults.streams) return ModelMemory::write_data(slot, data, sizeof data);
    model_perform(ModelOperation::stream_data, slot, data[0]);
    model_perform(ModelOperation::stream_data, slot + 1, data[1]);
    if (!faults.no_fence) model_perform(ModelOperation::stream_fence, nullptr);
}

void check_data(const std::uint64_t* got, std::uint64_t step) {
    model_check(got[0] == datum(step, 0) && got[1] == datum(step, 1), "wrong data");
}

struct Scene {
    Layout layout;
    std::uint32_t abort = 0;
    p2p::KernelContext context;
    p2p::Waiter waiter{context};
    Scene() { context.abort = &abort; }
};

ModelResult explore_simple(MemoryRules rules, const Faults& faults) {
    Scene scene;
    Layout& at = scene.layout;
    ModelProgram program;
    program.words = &at.words;
    if (faults.relaxed_tail) program.weakened = at.tail;
    program.threads[0] = [&] {
        Sender sender(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < kStepCount; ++step) {
            model_check(sender.await_credit(1, scene.waiter) == p2p::KernelResult::ok,
                        "credit out of bounds");
            write_slot(at.slot(step), step, faults);
            sender.publish(1);
        }
    };
    program.threads[1] = [&] {
        Receiver receiver(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < kStepCount; ++step) {
            model_check(receiver.await_data(1, scene.waiter) == p2p::KernelResult::ok,
                        "tail out of bounds");
            std::uint64_t got[2];
            if (faults.head_before_read) receiver.release(1);
            ModelMemory::read_data(got, at.slot(step), sizeof got);
            if (!faults.head_before_read) receiver.release(1);
            check_data(got, step);
        }
    };
    return explore(program, rules);
}

/// LL and LL128 differ in the two functions only.
template <typename Write, typename Read>
ModelResult explore_lines(MemoryRules rules, Write write, Read read) {
    Scene scene;
    Layout& at = scene.layout;
    ModelProgram program;
    program.words = &at.words;
    program.threads[0] = [&] {
        Sender sender(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < kStepCount; ++step) {
            model_check(sender.await_credit(1, scene.waiter) == p2p::KernelResult::ok,
                        "credit out of bounds");
            const std::uint64_t data[] = {datum(step, 0), datum(step, 1)};
            write(at.slot(step), data, step + 1);
            sender.advance(1);
        }
    };
    program.threads[1] = [&] {
        Receiver receiver(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < kStepCount; ++step) {
            std::uint64_t got[2];
            model_check(read(at.slot(step), got, step + 1, scene.waiter) == p2p::KernelResult::ok,
                        "no data");
            receiver.release(1);
            check_data(got, step);
        }
    };
    return explore(program, rules);
}

/// Operations of one step each, in which the sender writes the receiver's output itself.
ModelResult explore_pointers(MemoryRules rules, const Faults& faults) {
    Scene scene;
    Layout& at = scene.layout;
    ModelProgram program;
    program.words = &at.words;
    program.threads[0] = [&] {
        Sender sender(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < 4; ++step) {
            p2p::OfferedBuffer offered;
            if (faults.empties_pointer_late) {
                (void)ModelMemory::await_acquire(
                    at.pointer, scene.waiter, offered.address,
                    [](std::uint64_t address) { return address != 0; });
                offered.bytes = ModelMemory::load_relaxed(at.pointer + 1);
            } else {
                (void)p2p::await_buffer<ModelMemory>(at.pointer, offered, scene.waiter);
            }
            model_check(offered.address == 4 * step + 4 && offered.bytes == 16 + step,
                        "another operation's buffer");
            model_check(sender.await_credit(1, scene.waiter) == p2p::KernelResult::ok,
                        "credit out of bounds");
            write_slot(at.output + 2 * (step % 2), step, faults);
            sender.publish(1);
            if (faults.empties_pointer_late) ModelMemory::store_relaxed(at.pointer, 0);
        }
    };
    program.threads[1] = [&] {
        Receiver receiver(at.head, at.tail, 0);
        for (std::uint64_t step = 0; step < 4; ++step) {
            p2p::offer_buffer<ModelMemory>(at.pointer, 4 * step + 4, 16 + step);
            model_check(receiver.await_data(1, scene.waiter) == p2p::KernelResult::ok,
                        "tail out of bounds");
            std::uint64_t got[2];
            ModelMemory::read_data(got, at.output + 2 * (step % 2), sizeof got);
            receiver.release(1);
            check_data(got, step);
        }
    };
    return explore(program, rules);
}

void expect_sound(const ModelResult& result, MemoryRules rules) {
    EXPECT_EQ(result.violation, "") << to_string(rules);
    EXPECT_TRUE(result.complete) << to_string(rules);
    EXPECT_GT(result.states, 40U) << to_string(rules);
    testing::Test::RecordProperty(std::string("states_") + to_string(rules),
                                  std::to_string(result.states));
}

TEST(Model, CountersAreSoundUnderAllRules_V37) {
    for (const MemoryRules rules : kMemoryRules) {
        expect_sound(explore_simple(rules, {}), rules);
        Faults streams;
        streams.streams = true;
        if (rules == MemoryRules::total_store) expect_sound(explore_simple(rules, streams), rules);
    }
}

TEST(Model, LlIsSoundUnderAllRules_V37) {
    for (const MemoryRules rules : kMemoryRules)
        expect_sound(explore_lines(
                         rules,
                         [](std::uint64_t* lines, const std::uint64_t* data, std::uint64_t flag) {
                             p2p::ll_write<ModelMemory>(lines, data, 16, flag);
                         },
                         [](std::uint64_t* lines, std::uint64_t* got, std::uint64_t flag,
                            p2p::Waiter& waiter) {
                             return p2p::ll_read<ModelMemory>(lines, got, 16, flag, waiter);
                         }),
                     rules);
}

TEST(Model, Ll128IsSoundUnderAllRules_V37) {
    for (const MemoryRules rules : kMemoryRules)
        expect_sound(explore_lines(
                         rules,
                         [](std::uint64_t* lines, const std::uint64_t* data, std::uint64_t flag) {
                             p2p::ll128_write<ModelMemory>(lines, data, 16, flag);
                         },
                         [](std::uint64_t* lines, std::uint64_t* got, std::uint64_t flag,
                            p2p::Waiter& waiter) {
                             return p2p::ll128_read<ModelMemory>(lines, got, 16, flag, waiter);
                         }),
                     rules);
}

TEST(Model, PointerExchangeIsSoundUnderAllRules_V37_C41) {
    for (const MemoryRules rules : kMemoryRules) expect_sound(explore_pointers(rules, {}), rules);
}

TEST(Model, RelaxedTailIsFound_V37) {
    Faults faults;
    faults.relaxed_tail = true;
    EXPECT_NE(explore_simple(MemoryRules::release_acquire, faults).violation.find("data race"),
              std::string::npos);
    EXPECT_EQ(explore_simple(MemoryRules::total_store, faults).violation,
              "");  // where it costs nothing
}

TEST(Model, MissingFenceOfStreamingStoresIsFound_V37) {
    Faults faults;
    faults.streams = faults.no_fence = true;
    EXPECT_EQ(explore_simple(MemoryRules::total_store, faults).violation, "wrong data");
}

TEST(Model, HeadPublishedBeforeTheLastReadIsFound_V37) {
    Faults faults;
    faults.head_before_read = true;
    EXPECT_EQ(explore_simple(MemoryRules::sequential, faults).violation, "wrong data");
    EXPECT_NE(explore_simple(MemoryRules::release_acquire, faults).violation, "");
}

TEST(Model, PointerEmptiedBehindTheDataIsFound_V37_C41) {
    Faults faults;
    faults.empties_pointer_late = true;
    EXPECT_NE(explore_pointers(MemoryRules::sequential, faults).violation, "");
    EXPECT_NE(explore_pointers(MemoryRules::release_acquire, faults).violation, "");
}

}  // namespace
}  // namespace duofi::test
