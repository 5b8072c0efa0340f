#include "tests/integration/namespaces.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace duofi::test {
namespace {

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

std::string JoinedNamespaces::name(int side) const {
    return fmt::format("duofi-{}-{}", ::getpid(), side);
}

JoinedNamespaces::JoinedNamespaces() {
    const std::string left = fmt::format("dl{}", ::getpid());
    const std::string right = fmt::format("dr{}", ::getpid());
    std::vector<std::string> steps;
    for (const int side : {0, 1}) steps.push_back("ip netns add " + name(side));
    steps.push_back(fmt::format("ip link add {} type veth peer name {}", left, right));
    for (const int side : {0, 1}) {
        const std::string& end = side == 0 ? left : right;
        const std::string in = "ip -n " + name(side);
        steps.push_back(fmt::format("ip link set {} netns {}", end, name(side)));
        steps.push_back(fmt::format("{} link set {} name net0", in, end));
        steps.push_back(fmt::format("{} addr add 10.77.0.{}/24 dev net0", in, side + 1));
        steps.push_back(in + " link set net0 up");
        steps.push_back(in + " link set lo up");
    }
    for (const std::string& step : steps) {
        if (run(step)) continue;
        problem_ = "not possible here: " + step;
        return;
    }
}

JoinedNamespaces::~JoinedNamespaces() {
    for (const int side : {0, 1}) (void)run("ip netns del " + name(side));
}

std::vector<std::string> JoinedNamespaces::prefix(int side, bool own_pids) const {
    std::vector<std::string> words = {"ip", "netns", "exec", name(side)};
    if (!own_pids) return words;
    // The shell is number 1 of its namespace, so that the program itself can be killed.
    for (const char* word : {"unshare", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c",
                             "\"$@\"; exit $?", "sh"}) {
        words.emplace_back(word);
    }
    return words;
}

bool JoinedNamespaces::set_link(int side, bool up) const {
    return run(fmt::format("ip -n {} link set net0 {}", name(side), up ? "up" : "down"));
}

}  // namespace duofi::test
