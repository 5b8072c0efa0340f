#include "p2p/runtime/relay_service.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "common/local/packet_server.hpp"
#include "common/local/unix_socket.hpp"
#include "common/util/clock.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/options.hpp"
#include "p2p/runtime/relay_wire.hpp"
#include "p2p/runtime/runtime_table.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p {

namespace {

constexpr Nanoseconds kDrain = 500 * kMillisecond;  // of the destructor, for leases that end meanwhile
constexpr std::size_t kMostClients = 2 * kMaxLeases;

// In the directory that the fd services use, or without a file. Random, so that a new life never meets an old address.
Result<std::string> new_address() {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random))
        return fail(Errc::system, messages::kRelayAddress, errno);
    char name[48];
    std::snprintf(name, sizeof(name), "duofi-fd-relay-%d-%llx", static_cast<int>(::getpid()),
                  static_cast<unsigned long long>(random));
    const std::string& directory = runtime_settings().p2p_fd_socket_dir;
    return directory.empty() ? std::string(1, '\0') + name : directory + "/" + name;
}

}  // namespace

class RelayService::State final : private local::PacketServer::Handler {
  public:
    explicit State(const RuntimeTable& runtime) : runtime_(runtime) { (void)runtime_.get_device(&device_); }

    ~State() {
        if (!server_.in_child()) drain();
        server_.stop();
    }

    Status start(const std::string& address) {
        DUOFI_TRY(server_.start("duofi-relay", address));
        address_.length = static_cast<std::uint8_t>(address.size());
        std::memcpy(address_.name, address.data(), address.size());
        return {};
    }

    RelayAddress address_;
    std::atomic<int> leases_{0};

  private:
    using Client = local::PacketServer::Client;

    void drain() noexcept {
        server_.close_door();
        const Deadline drained(kDrain);
        while (leases_.load(std::memory_order_acquire) != 0 && !drained.passed()) ::usleep(1000);
    }

    bool answer(Client& client) override {
        RelayRequest request{};
        const auto room = std::as_writable_bytes(std::span(&request, 1));
        const local::Received received = local::receive_packet(client.socket.get(), room);
        if (received == local::Received::nothing_yet) return true;
        const bool valid = received == local::Received::packet && request.magic == kRelayMagic &&
                           request.version == kRelayVersion && client.memory == nullptr;
        if (!valid) return false;
        const RelayAnswer granted = grant(client, request.bytes);
        client.kept = granted.status == RelayStatus::granted;
        if (!client.kept) log::warn(NCCL_P2P, messages::kRelayRefused, request.bytes, reason_);
        return local::send_packet(client.socket.get(), std::as_bytes(std::span(&granted, 1))) && client.kept;
    }

    RelayAnswer grant(Client& client, std::uint64_t bytes) {
        RelayAnswer answer{kRelayMagic, RelayStatus::granted, static_cast<std::uint32_t>(::getpid()), 0, 0, {}};
        if (leases_.load(std::memory_order_relaxed) >= kMaxLeases) {
            reason_ = messages::kRelayOutOfLeases;
            answer.status = RelayStatus::out_of_leases;
            return answer;
        }
        (void)runtime_.set_device(device_);
        int code = runtime_.malloc(&client.memory, bytes);
        if (code == kRuntimeOk) {
            leases_.fetch_add(1, std::memory_order_release);
            code = runtime_.ipc_get_mem_handle(&answer.handle, client.memory);
        }
        answer.pointer = reinterpret_cast<std::uint64_t>(client.memory);
        if (code == kRuntimeOk) return answer;
        reason_ = runtime_.error_string(code);
        answer.status =
            slot_errc(code) == Errc::invalid_argument ? RelayStatus::refused : RelayStatus::out_of_memory;
        return answer;
    }

    void left(Client& client) noexcept override {
        if (client.memory == nullptr) return;
        (void)runtime_.free(std::exchange(client.memory, nullptr));
        leases_.fetch_sub(1, std::memory_order_release);
    }

    const RuntimeTable& runtime_;
    int device_ = 0;
    const char* reason_ = "";
    local::PacketServer server_{*this, kMostClients};
};

RelayService::RelayService(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
RelayService::~RelayService() = default;

Result<std::unique_ptr<RelayService>> RelayService::start(const RuntimeTable& runtime) {
    if ((runtime.capabilities() & kRelay) == 0) return fail(Errc::unsupported, messages::kSlotMissing, EOPNOTSUPP);
    DUOFI_ASSIGN(const std::string address, new_address());
    auto state = std::make_unique<State>(runtime);
    DUOFI_TRY(state->start(address));
    return std::unique_ptr<RelayService>(new RelayService(std::move(state)));
}

const RelayAddress& RelayService::address() const noexcept { return state_->address_; }
int RelayService::leases() const noexcept { return state_->leases_.load(std::memory_order_acquire); }

}  // namespace duofi::p2p
