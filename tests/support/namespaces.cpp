#include "tests/support/namespaces.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace duofi::test {
namespace {

constexpr int kMostInterfaces = 8;
constexpr int kBridge = 2;  // the namespace between the sides

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

std::string address(const NodesShape& shape, int subnet, int side) {
    return shape.ipv6 ? fmt::format("fd77:{}::{}/64", subnet, side + 1) : fmt::format("10.77.{}.{}/24", subnet, side + 1);
}

std::string subnet_of(const NodesShape& shape, int subnet) {
    return shape.ipv6 ? fmt::format("fd77:{}::/64", subnet) : fmt::format("10.77.{}.0/24", subnet);
}

// In which interfaces are created.
std::vector<int> order_of(const NodesShape& shape, int side) {
    std::vector<int> order;
    for (int i = 0; i < shape.interfaces[static_cast<std::size_t>(side)]; ++i) order.push_back(i);
    if (!shape.scrambled) return order;
    if (side == 0)
        std::reverse(order.begin(), order.end());
    else
        std::stable_partition(order.begin(), order.end(), [](int i) { return i % 2 == 1; });
    return order;
}

// "3" or "3x1"
bool read_interfaces(const std::string& word, NodesShape& shape) {
    std::istringstream in(word);
    char x = 0;
    if (!(in >> shape.interfaces[0])) return false;
    shape.interfaces[1] = shape.interfaces[0];
    if (in >> x && (x != 'x' || !(in >> shape.interfaces[1]))) return false;
    return in.eof() && std::all_of(shape.interfaces.begin(), shape.interfaces.end(),
                                   [](int count) { return count >= 1 && count <= kMostInterfaces; });
}

}  // namespace

std::optional<NodesShape> parse_nodes_shape(const std::string& text) {
    NodesShape shape;
    std::istringstream in(text);
    std::string word;
    if (!std::getline(in, word, ',') || !read_interfaces(word, shape)) return std::nullopt;
    while (std::getline(in, word, ',')) {
        if (word == "ipv6")
            shape.ipv6 = true;
        else if (word == "decoys")
            shape.decoys = true;
        else if (word == "spare")
            shape.spare = true;
        else if (word == "scrambled")
            shape.scrambled = true;
        else if (word.rfind("mtu=", 0) == 0)
            shape.mtu = std::atoi(word.c_str() + 4);
        else if (word.rfind("rate=", 0) == 0)
            shape.rate = std::atoi(word.c_str() + 5);
        else
            return std::nullopt;
    }
    return shape;
}

std::string JoinedNamespaces::name(int side) const {
    return fmt::format("duofi-{}-{}", ::getpid(), side);
}

std::vector<std::string> JoinedNamespaces::steps(const NodesShape& shape) const {
    std::vector<std::string> all;
    const auto in = [&](int side, const std::string& what) { all.push_back(fmt::format("ip -n {} {}", name(side), what)); };
    for (const int side : {0, 1, kBridge}) all.push_back("ip netns add " + name(side));
    in(kBridge, "link add bridge0 type bridge");
    in(kBridge, "link set bridge0 up");
    const int subnets = *std::max_element(shape.interfaces.begin(), shape.interfaces.end());
    for (const int side : {0, 1}) {
        in(side, "link set lo up");
        for (const char* filter : {"all", "default"})
            all.push_back(fmt::format("ip netns exec {} sh -c 'echo 0 >/proc/sys/net/ipv4/conf/{}/rp_filter'", name(side), filter));
        const auto add_pair = [&](const std::string& inside, const std::string& outside) {
            in(side, fmt::format("link add {} type veth peer name {} netns {}", inside, outside, name(kBridge)));
            if (shape.mtu != 0) {
                in(side, fmt::format("link set {} mtu {}", inside, shape.mtu));
                in(kBridge, fmt::format("link set {} mtu {}", outside, shape.mtu));
            }
            in(kBridge, fmt::format("link set {} master bridge0 up", outside));
            in(side, fmt::format("link set {} up", inside));
            if (shape.rate != 0)
                all.push_back(fmt::format("tc -n {} qdisc add dev {} root tbf rate {}mbit burst 256kb latency 50ms", name(side),
                                          inside, shape.rate));
        };
        const auto mine = shape.interfaces[static_cast<std::size_t>(side)];
        for (const int i : order_of(shape, side)) {
            add_pair(fmt::format("net{}", i), fmt::format("p{}n{}", side, i));
            in(side, fmt::format("addr add {} dev net{}{}", address(shape, i, side), i, shape.ipv6 ? " nodad" : ""));
        }
        for (int i = mine; i < subnets; ++i) in(side, fmt::format("route add {} dev net0", subnet_of(shape, i)));
        if (shape.spare) add_pair("net9", fmt::format("p{}spare", side));
        if (!shape.decoys) continue;
        int subnet = 100;
        for (const char* decoy : {"docker0", "br-1", "virbr0", "veth1234"}) {
            add_pair(decoy, fmt::format("p{}d{}", side, subnet));
            in(side, fmt::format("addr add 10.78.{}.{}/24 dev {}", subnet++, side + 1, decoy));
        }
    }
    return all;
}

JoinedNamespaces::JoinedNamespaces(const NodesShape& shape) {
    for (const std::string& step : steps(shape)) {
        if (run(step)) continue;
        problem_ = "not possible here: " + step;
        return;
    }
}

JoinedNamespaces::~JoinedNamespaces() {
    for (const int side : {0, 1, kBridge}) (void)run("ip netns del " + name(side));
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
