#include "tests/unit/p2p/kernels/model_explorer.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include "tests/unit/p2p/kernels/model_memory.hpp"

namespace duofi::test {
namespace {

using Log = std::vector<std::uint64_t>;

struct Suspended {};
struct Rejected {};
struct Violated {
    std::string text;
};

/// The thread body that runs now: results of its past operations, and the first one without.
struct Replay {
    const Log* log = nullptr;
    const ModelWords* words = nullptr;
    const std::uint64_t* weakened = nullptr;
    std::size_t index = 0;
    ModelStep next{};
};
Replay* replay = nullptr;

/// Where a thread with a certain past stands.
struct Standing {
    enum class Kind { at_operation, rejected, finished, violated } kind = Kind::finished;
    ModelStep step{};
    std::string text;
};

struct State {
    std::array<Log, 2> logs;
    MemoryState memory;
};

class Explorer {
  public:
    Explorer(const ModelProgram& program, MemoryRules rules) : program_(program), rules_(rules) {}

    ModelResult run() {
        std::vector<State> open{{{}, MemoryState(rules_, ModelWords::kCount)}};
        while (!open.empty()) {
            State state = std::move(open.back());
            open.pop_back();
            if (!visited_.insert(key(state)).second) continue;
            ++result_.states;
            if (!expand(state, open)) return std::move(result_);
        }
        result_.complete = true;
        return std::move(result_);
    }

  private:
    const Standing& standing(int thread, const Log& log) {
        auto& memo = memo_[static_cast<std::size_t>(thread)];
        if (const auto known = memo.find(log); known != memo.end()) return known->second;
        Replay run{&log, program_.words, program_.weakened, 0, {}};
        replay = &run;
        Standing stand;
        try {
            program_.threads[static_cast<std::size_t>(thread)]();
        } catch (const Suspended&) {
            stand = {Standing::Kind::at_operation, run.next, {}};
        } catch (const Rejected&) {
            stand.kind = Standing::Kind::rejected;
        } catch (const Violated& violated) {
            stand = {Standing::Kind::violated, {}, violated.text};
        }
        replay = nullptr;
        return memo.emplace(log, std::move(stand)).first->second;
    }

    static std::vector<std::uint64_t> key(const State& state) {
        std::vector<std::uint64_t> key;
        for (const Log& log : state.logs) {
            key.push_back(log.size());
            key.insert(key.end(), log.begin(), log.end());
        }
        state.memory.append_key(key);
        return key;
    }

    /// False: a violation ends the search.
    bool expand(const State& state, std::vector<State>& open) {
        bool moved = false;
        std::size_t finished = 0;
        for (int thread = 0; thread < 2; ++thread) {
            for (std::size_t i = 0; i < state.memory.drains(thread); ++i) {
                open.push_back(state);
                open.back().memory.drain(thread, i);
                moved = true;
            }
            const Standing& stand = standing(thread, state.logs[static_cast<std::size_t>(thread)]);
            if (stand.kind == Standing::Kind::finished) ++finished;
            if (stand.kind == Standing::Kind::at_operation &&
                !step(state, thread, stand.step, moved, open))
                return false;
        }
        if (moved || finished == 2) return true;
        result_.violation = "both threads wait for ever";
        return false;
    }

    bool step(const State& state, int thread, const ModelStep& step, bool& moved,
              std::vector<State>& open) {
        const std::size_t choices = state.memory.choices(thread, step);
        for (std::size_t choice = 0; choice < choices; ++choice) {
            State after = state;
            Log& log = after.logs[static_cast<std::size_t>(thread)];
            log.push_back(after.memory.apply(thread, step, choice));
            if (!after.memory.race().empty()) {
                result_.violation = after.memory.race();
                return false;
            }
            const Standing& next = standing(thread, log);
            if (next.kind == Standing::Kind::rejected) continue;
            if (next.kind == Standing::Kind::violated) {
                result_.violation = next.text;
                return false;
            }
            moved = true;
            open.push_back(std::move(after));
        }
        return true;
    }

    const ModelProgram& program_;
    MemoryRules rules_;
    std::array<std::map<Log, Standing>, 2> memo_;
    std::set<std::vector<std::uint64_t>> visited_;
    ModelResult result_;
};

}  // namespace

const char* to_string(MemoryRules rules) noexcept {
    return rules == MemoryRules::sequential    ? "sequential"
           : rules == MemoryRules::total_store ? "total_store"
                                               : "release_acquire";
}

std::uint64_t model_perform(ModelOperation operation, const std::uint64_t* word,
                            std::uint64_t value) {
    if (replay->index < replay->log->size()) return (*replay->log)[replay->index++];
    if (operation == ModelOperation::store_release && word == replay->weakened)
        operation = ModelOperation::store_relaxed;
    const auto location =
        word == nullptr ? 0 : static_cast<std::size_t>(word - replay->words->word.data());
    if (location >= ModelWords::kCount) throw std::logic_error("a word that is not shared");
    replay->next = {operation, location, value};
    throw Suspended{};
}

void model_reject() {
    throw Rejected{};
}

void model_check(bool holds, const char* what) {
    if (!holds) throw Violated{what};
}

ModelResult explore(const ModelProgram& program, MemoryRules rules) {
    return Explorer(program, rules).run();
}

}  // namespace duofi::test
