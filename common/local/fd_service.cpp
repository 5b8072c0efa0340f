#include "common/local/fd_service.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>

#include "common/local/fd_wire.hpp"
#include "common/local/packet_server.hpp"
#include "common/local/unix_socket.hpp"

namespace duofi::local {

namespace {

constexpr std::string_view kPrefix = "duofi-fd-";
constexpr std::size_t kMostClients = 4096;

// A draft that is older than this was left by a process that was killed between two system calls.
constexpr time_t kDraftSeconds = 60;

bool abandoned(const std::string& path, std::string_view name) {
    const bool draft = name.starts_with(kDraftPrefix);
    struct stat status {};
    if (!draft && !name.starts_with(kPrefix)) return false;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid()) return false;
    if (draft && ::time(nullptr) - status.st_ctime < kDraftSeconds) return false;
    const auto answer = connect_unix(path);
    return !answer && answer.error().provider_errno == ECONNREFUSED;
}

// Sockets of processes that were killed: nobody listens there any more.
void sweep(const std::string& directory) {
    DIR* entries = ::opendir(directory.c_str());
    if (entries == nullptr) return;
    while (const dirent* entry = ::readdir(entries)) {
        const std::string path = directory + "/" + entry->d_name;
        if (abandoned(path, entry->d_name)) ::unlink(path.c_str());
    }
    ::closedir(entries);
}

}  // namespace

std::string fd_service_address(std::uint32_t pid, std::uint64_t start_time, std::uint32_t pid_namespace,
                               const std::string& socket_dir) {
    char name[64];
    std::snprintf(name, sizeof(name), "%s%x-%u-%llx", kPrefix.data(), pid_namespace, pid,
                  static_cast<unsigned long long>(start_time));
    return socket_dir.empty() ? std::string(1, '\0') + name : socket_dir + "/" + name;
}

class FdService::State final : private PacketServer::Handler {
  public:
    explicit State(DescriptorSource& source) : source_(source) {}
    ~State() { server_.stop(); }

    Status start(const std::string& address) { return server_.start("duofi-fds", address); }

    DescriptorSource& source_;
    PacketServer server_{*this, kMostClients};

  private:
    bool answer(PacketServer::Client& client) override {
        FdRequest request{};
        const Received received =
            receive_packet(client.socket.get(), std::as_writable_bytes(std::span(&request, 1)));
        if (received == Received::nothing_yet) return true;
        if (received == Received::ended || request.magic != kFdMagic) return false;
        FdAnswer reply{kFdMagic, FdStatus::ok};
        UniqueFd descriptor;
        if (request.command == FdCommand::fetch) {
            descriptor = source_.descriptor_of(request.generation, request.nonce);
            if (!descriptor) reply.status = FdStatus::not_exported;
        } else if (request.command == FdCommand::hold) {
            client.kept = true;
        } else {
            return false;
        }
        const bool sent = send_packet(client.socket.get(), std::as_bytes(std::span(&reply, 1)), descriptor.get());
        return sent && client.kept;
    }
};

FdService::FdService(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
FdService::~FdService() = default;

Result<std::unique_ptr<FdService>> FdService::start(DescriptorSource& source, const HostIdentity& self,
                                                    const std::string& socket_dir) {
    if (!socket_dir.empty()) sweep(socket_dir);
    const std::string address = fd_service_address(
        self.pid, self.start_time, static_cast<std::uint32_t>(self.pid_namespace), socket_dir);
    auto state = std::make_unique<State>(source);
    DUOFI_TRY(state->start(address));
    return std::unique_ptr<FdService>(new FdService(std::move(state)));
}

const std::string& FdService::address() const noexcept { return state_->server_.address(); }

}  // namespace duofi::local
