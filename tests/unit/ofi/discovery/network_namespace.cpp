#include "tests/unit/ofi/discovery/network_namespace.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/unit/ofi/discovery/child_process.hpp"

namespace duofi::test {
namespace {

constexpr char kSeparator = '\x1e';
constexpr const char* kNotPermitted = "not permitted: ";

/// Empty, or why the kernel refuses. Without root the namespace belongs to a user namespace.
std::string enter_namespace() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    const int extra = user == 0 ? 0 : CLONE_NEWUSER;
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS | extra) != 0)
        return std::string("unshare: ") + std::strerror(errno);
    if (extra != 0) {
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
        std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    }
    // A sysfs of this namespace; where that is refused, the old one stays and discovery must
    // notice.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0)
        (void)::mount("sysfs", "/sys", "sysfs", 0, nullptr);
    return {};
}

void run_ip(const std::string& arguments) {
    const std::string command = "ip " + arguments;
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

std::string run_inside(const std::vector<std::string>& setup,
                       const std::function<std::string()>& body, int processes) {
    if (std::system("ip -V >/dev/null 2>&1") != 0)
        return fmt::format("{}iproute2 is not installed", kNotPermitted);
    if (const std::string reason = enter_namespace(); !reason.empty())
        return kNotPermitted + reason;
    for (const std::string& line : setup) run_ip(line);
    std::string all;
    for (int i = 0; i < processes; ++i) {
        const ChildResult result = run_in_child(body);
        if (!result.ok) throw std::runtime_error(result.text);
        all += result.text + kSeparator;
    }
    return all;
}

}  // namespace

NamespaceRun run_in_network(const std::vector<std::string>& setup,
                            const std::function<std::string()>& body, int processes) {
    NamespaceRun run;
    const ChildResult result =
        run_in_child([&] { return run_inside(setup, body, processes); }, 60 * kSecond);
    if (!result.ok) {
        run.failure = result.text;
        return run;
    }
    if (result.text.rfind(kNotPermitted, 0) == 0) {
        run.not_permitted = result.text;
        return run;
    }
    for (std::size_t at = 0; at < result.text.size();) {
        const std::size_t end = result.text.find(kSeparator, at);
        run.reports.push_back(result.text.substr(at, end - at));
        at = end + 1;
    }
    return run;
}

}  // namespace duofi::test
