#include "common/local/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace duofi::local {

namespace {

std::optional<std::size_t> read_number(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    if (!(file >> word)) return std::nullopt;
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;  // "max"
    return value;
}

// Page cache of files, which the kernel drops before it refuses memory. Shared memory is not in it.
std::size_t droppable(const std::string& path, std::string_view active, std::string_view inactive) {
    std::ifstream file(path);
    std::string name;
    std::size_t value = 0, sum = 0;
    while (file >> name >> value)
        if (name == active || name == inactive) sum += value;
    return sum;
}

struct Version {
    const char *limit, *used, *active, *inactive;
};
constexpr Version kFirst{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_active_file",
                         "total_inactive_file"};
constexpr Version kSecond{"/memory.max", "/memory.current", "active_file", "inactive_file"};

std::size_t room_in(const std::string& group, const Version& version) {
    const auto limit = read_number(group + version.limit);
    const auto used = read_number(group + version.used);
    if (!limit || !used) return kNoMemoryLimit;
    const std::size_t cache = droppable(group + "/memory.stat", version.active, version.inactive);
    const std::size_t bound = *used - std::min(*used, cache);
    return *limit > bound ? *limit - bound : 0;
}

// The group and all groups around it.
std::size_t tightest(const std::string& mount, std::string path, const Version& version) {
    std::size_t room = room_in(mount, version);
    while (!path.empty() && path != "/") {
        room = std::min(room, room_in(mount + path, version));
        path.resize(path.rfind('/'));
    }
    return room;
}

bool names_memory(std::string_view controllers) {
    while (true) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == "memory") return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
}

}  // namespace

std::size_t memory_headroom(const std::string& root) {
    std::ifstream groups(root + "/proc/self/cgroup");
    std::size_t room = kNoMemoryLimit;
    std::string line;
    // "<number>:<controllers>:<path>"; no controllers means version 2.
    while (std::getline(groups, line)) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty())
            room = std::min(room, tightest(root + "/sys/fs/cgroup", path, kSecond));
        else if (names_memory(controllers))
            room = std::min(room, tightest(root + "/sys/fs/cgroup/memory", path, kFirst));
    }
    return room;
}

}  // namespace duofi::local
