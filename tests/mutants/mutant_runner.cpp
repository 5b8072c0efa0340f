// mutant_runner net|rma module=<wrapper> plugin=<real> <program>=<path>... [only=<mutant>]
// Runs for each mutant the one test that must notice it, and the same test against the wrapper that
// changes nothing; prints the table. Exit code 0: all mutants were killed and all controls passed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/unique_fd.hpp"
#include "tests/mutants/mutant_list.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::mutants {
namespace {

constexpr Nanoseconds kRunLimit = 90 * kSecond;
using Arguments = std::map<std::string, std::string>;

struct Outcome {
    bool ran = false;  ///< the test began
    bool ended = false;
    int status = 0;
    std::string output;
    [[nodiscard]] bool passed() const {
        return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
};

bool is_conformance(const std::string& program) {
    return program.find("conformance") != std::string::npos;
}

std::string full_test_name(const Mutant& mutant) {
    const std::string program = mutant.program;
    if (!is_conformance(program)) return mutant.test;
    const char* suite = program.rfind("rma", 0) == 0 ? "RmaConformance" : "Conformance";
    return std::string("ranks/") + suite + "." + mutant.test + "/2";
}

std::vector<std::string> command(const Mutant& mutant, const Arguments& arguments) {
    std::vector<std::string> words = {arguments.at(mutant.program),
                                      "--gtest_filter=" + full_test_name(mutant)};
    if (is_conformance(mutant.program)) {
        words.insert(words.end(), {"--provider=native", "--mode=threads"});
        if (mutant.options[0] != '\0') words.emplace_back(mutant.options);
    }
    return words;
}

// Collects what the process writes until it ends or the limit passes.
void collect(int from, pid_t pid, Outcome& outcome) {
    const Deadline deadline(kRunLimit);
    char buffer[4096];
    for (;;) {
        pollfd wait{from, POLLIN, 0};
        const int ready = ::poll(&wait, 1, static_cast<int>(deadline.remaining() / kMillisecond));
        if (ready <= 0) break;
        const ssize_t got = ::read(from, buffer, sizeof(buffer));
        if (got <= 0) break;
        outcome.output.append(buffer, static_cast<std::size_t>(got));
    }
    outcome.ended = !deadline.passed();
    if (!outcome.ended) ::kill(pid, SIGKILL);
    ::waitpid(pid, &outcome.status, 0);
}

Outcome run(const Mutant& mutant, const Arguments& arguments, bool broken) {
    const test::ScopedEnv plugin("DUOFI_PLUGIN_PATH", arguments.at("module"));
    const test::ScopedEnv real("DUOFI_MUTANT_OF", arguments.at("plugin"));
    const test::ScopedEnv chosen("DUOFI_MUTANT", broken ? mutant.name : "");
    // Waits that can only fail are cut short.
    const test::ScopedEnv patience("DUOFI_TEST_PATIENCE_MS",
                                   broken ? std::optional<std::string>("2000") : std::nullopt);
    Outcome outcome;
    std::vector<std::string> words = command(mutant, arguments);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return outcome;
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 2);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    writer.reset();
    if (failed != 0) {
        outcome.output = words[0] + ": " + ::strerror(failed);
        return outcome;
    }
    collect(reader.get(), pid, outcome);
    outcome.ran =
        outcome.output.find("[ RUN      ] " + full_test_name(mutant)) != std::string::npos;
    return outcome;
}

// Why the test failed: what the first rank says that does not only echo another one.
std::string reason(const Outcome& outcome) {
    for (std::size_t from = 0; (from = outcome.output.find("step '", from)) != std::string::npos;) {
        const std::string text =
            outcome.output.substr(from, outcome.output.find('\n', from) - from);
        if (text.find("another rank failed") == std::string::npos) return text.substr(0, 100);
        from += text.size();
    }
    const std::size_t crash = outcome.output.find("terminated with signal");
    if (crash != std::string::npos) return outcome.output.substr(crash, 25);
    if (WIFSIGNALED(outcome.status))
        return std::string("signal ") + ::strsignal(WTERMSIG(outcome.status));
    return "exit code " + std::to_string(WEXITSTATUS(outcome.status));
}

bool control_passes(const Mutant& mutant, const Arguments& arguments, std::set<std::string>& good) {
    const std::string key = std::string(mutant.program) + full_test_name(mutant) + mutant.options;
    if (good.count(key) != 0) return true;
    const Outcome outcome = run(mutant, arguments, false);
    if (outcome.ran && outcome.passed()) {
        good.insert(key);
        return true;
    }
    std::printf("%-36s control of %s FAILED:\n%s\n", mutant.name, full_test_name(mutant).c_str(),
                outcome.output.c_str());
    return false;
}

int run_all(std::span<const Mutant> mutants, const Arguments& arguments) {
    std::set<std::string> good;
    int survivors = 0;
    const auto only = arguments.find("only");
    std::printf("%-36s %-9s %-52s %s\n", "mutant", "clause", "killed by", "because");
    for (const Mutant& mutant : mutants) {
        if (only != arguments.end() && only->second != mutant.name) continue;
        const bool sound = control_passes(mutant, arguments, good);
        const Outcome outcome = run(mutant, arguments, true);
        const bool killed = sound && outcome.ran && outcome.ended && !outcome.passed();
        survivors += killed ? 0 : 1;
        std::printf("%-36s %-9s %-52s %s\n", mutant.name, mutant.clause,
                    killed ? mutant.test : "NOBODY",
                    killed ? reason(outcome).c_str() : mutant.breach);
        std::fflush(stdout);
    }
    std::printf("%d of %d mutants survive\n", survivors, static_cast<int>(mutants.size()));
    return survivors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace duofi::mutants

int main(int argc, char** argv) {
    using namespace duofi::mutants;
    Arguments arguments;
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equal = word.find('=');
        if (equal != std::string::npos) arguments[word.substr(0, equal)] = word.substr(equal + 1);
    }
    const std::string kind = argc > 1 ? argv[1] : "";
    if ((kind != "net" && kind != "rma") || arguments.count("module") == 0 ||
        arguments.count("plugin") == 0) {
        std::fprintf(stderr, "usage: net|rma module=<wrapper> plugin=<real> <program>=<path>...\n");
        return 2;
    }
    return run_all(kind == "net" ? net_mutants() : rma_mutants(), arguments);
}
