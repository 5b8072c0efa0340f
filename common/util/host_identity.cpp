#include "common/util/host_identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "common/util/unique_fd.hpp"

namespace duofi {
namespace {

using Path = std::array<char, 512>;

// The first bytes of a small file; empty when it cannot be read.
std::string_view read_file(const Path& path, std::span<char> buffer) noexcept {
    const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    std::size_t filled = 0;
    while (filled < buffer.size()) {
        const ssize_t got = ::read(fd.get(), buffer.data() + filled, buffer.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return {buffer.data(), filled};
}

// 64-bit FNV-1a: no secrets here, only a short form of the 36 characters that two sides compare.
std::uint64_t hash_text(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3U;
    }
    return hash;
}

std::uint64_t boot_hash(const char* proc_root) noexcept {
    Path path{};
    std::snprintf(path.data(), path.size(), "%s/sys/kernel/random/boot_id", proc_root);
    std::array<char, 64> buffer{};
    std::string_view id = read_file(path, buffer);
    while (!id.empty() && id.back() == '\n') id.remove_suffix(1);
    return id.empty() ? 0 : hash_text(id);
}

struct ProcessStatus {
    char state = 0;
    std::uint64_t threads = 0;
    std::uint64_t start_time = 0;
};

// Fields 3 (state), 20 (threads) and 22 (start time) of proc(5) stat. The name in field 2 may hold
// blanks and brackets, so counting starts behind its last closing bracket.
std::optional<ProcessStatus> parse_stat(std::string_view stat) noexcept {
    const std::size_t bracket = stat.rfind(')');
    if (bracket == std::string_view::npos || bracket + 2 >= stat.size()) return std::nullopt;
    stat.remove_prefix(bracket + 2);
    ProcessStatus status;
    status.state = stat.front();
    for (int field = 3; field <= 22; ++field) {
        const char* end = stat.data() + stat.size();
        if (field == 20) std::from_chars(stat.data(), end, status.threads);
        if (field == 22)
            return std::from_chars(stat.data(), end, status.start_time).ec == std::errc{}
                       ? std::optional(status)
                       : std::nullopt;
        const std::size_t blank = stat.find(' ');
        if (blank == std::string_view::npos) return std::nullopt;
        stat.remove_prefix(blank + 1);
    }
    return std::nullopt;
}

std::optional<ProcessStatus> process_status(std::uint32_t pid, const char* proc_root) noexcept {
    Path path{};
    std::snprintf(path.data(), path.size(), "%s/%u/stat", proc_root, pid);
    std::array<char, 1024> buffer{};
    return parse_stat(read_file(path, buffer));
}

}  // namespace

HostIdentity read_host_identity(const char* proc_root) noexcept {
    HostIdentity identity;
    identity.boot_hash = boot_hash(proc_root);
    identity.pid = static_cast<std::uint32_t>(::getpid());
    Path path{};
    std::snprintf(path.data(), path.size(), "%s/self/ns/pid", proc_root);
    struct stat ns {};
    if (::stat(path.data(), &ns) == 0) identity.pid_namespace = ns.st_ino;
    std::snprintf(path.data(), path.size(), "%s/self/stat", proc_root);
    std::array<char, 1024> buffer{};
    if (const auto status = parse_stat(read_file(path, buffer)))
        identity.start_time = status->start_time;
    return identity;
}

void write(ByteWriter& out, const HostIdentity& identity) noexcept {
    out.u64(identity.boot_hash);
    out.u64(identity.pid_namespace);
    out.u64(identity.start_time);
    out.u32(identity.pid);
}

HostIdentity read_identity(ByteReader& in) noexcept {
    HostIdentity identity;
    identity.boot_hash = in.u64();
    identity.pid_namespace = in.u64();
    identity.start_time = in.u64();
    identity.pid = in.u32();
    return identity;
}

bool same_kernel_and_pid_namespace(const HostIdentity& a, const HostIdentity& b) noexcept {
    return a.boot_hash != 0 && a.boot_hash == b.boot_hash && a.pid_namespace != 0 &&
           a.pid_namespace == b.pid_namespace;
}

bool process_gone(const HostIdentity& who, const HostIdentity& self,
                  const char* proc_root) noexcept {
    if (!same_kernel_and_pid_namespace(who, self)) return false;
    const auto pid = static_cast<pid_t>(who.pid);
    if (pid <= 0) return false;
    // The system call decides first: with hidepid, /proc hides living processes of other users.
    if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
    const auto status = process_status(who.pid, proc_root);
    if (!status) return false;
    // A zombie leader with threads is a living process whose first thread has ended.
    if (status->state == 'X' || (status->state == 'Z' && status->threads <= 1)) return true;
    return who.start_time != 0 && status->start_time != who.start_time;
}

}  // namespace duofi
