#include "common/local/ipc_domain.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>

#include "common/local/crc32c.hpp"
#include "common/util/byte_io.hpp"
#include "common/util/host_identity.hpp"

namespace duofi::local {

namespace {

std::uint64_t inode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Never 0, which means that the way is closed.
std::uint32_t digest(std::span<const std::uint64_t> words) {
    std::array<std::byte, 64> bytes{};
    ByteWriter out(bytes);
    for (const std::uint64_t word : words) out.u64(word);
    const std::uint32_t value = crc32c(out.written());
    return value != 0 ? value : 1;
}

}  // namespace

DomainFacts read_domain_facts(const std::string& socket_dir, const char* proc_root) {
    const std::string proc = proc_root;
    const HostIdentity self = read_host_identity(proc_root);
    DomainFacts facts;
    facts.boot_hash = self.boot_hash;
    facts.pid_namespace = self.pid_namespace;
    facts.user_namespace = inode_of(proc + "/self/ns/user");
    facts.net_namespace = inode_of(proc + "/self/ns/net");
    facts.user = ::geteuid();
    facts.dumpable = ::prctl(PR_GET_DUMPABLE) == 1;
    struct stat status {};
    if (!socket_dir.empty() && ::stat(socket_dir.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        facts.socket_dir = status.st_ino ^ (static_cast<std::uint64_t>(status.st_dev) << 40);
    return facts;
}

std::uint64_t domain_id(const DomainFacts& facts, bool through_proc, bool through_service) {
    std::uint64_t proc = 0, service = 0;
    if (through_proc && facts.dumpable && facts.boot_hash != 0 && facts.pid_namespace != 0) {
        const std::array<std::uint64_t, 4> words{facts.boot_hash, facts.pid_namespace, facts.user_namespace,
                                                 facts.user};
        proc = digest(words);
    }
    const std::uint64_t meeting_place = facts.socket_dir != 0 ? facts.socket_dir : facts.net_namespace;
    if (through_service && facts.boot_hash != 0 && meeting_place != 0) {
        const std::array<std::uint64_t, 5> words{facts.boot_hash, facts.user_namespace, facts.user, meeting_place,
                                                 facts.socket_dir != 0 ? 1U : 0U};
        service = digest(words);
    }
    return proc << 32 | service;
}

}  // namespace duofi::local
