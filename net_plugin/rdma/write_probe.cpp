#include "net_plugin/rdma/write_probe.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/scope_exit.hpp"
#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/memory_handle.hpp"
#include "net_plugin/rdma/immediate.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kPatience = 5 * kSecond;
constexpr std::size_t kBytes = 48;
constexpr std::uint32_t kSequence = 12345;

/// What the provider may still use when the wait is over: the endpoint keeps it then.
class Probe : public ofi::PortOwner {
  public:
    struct Write : ofi::Operation {
        bool done = false;
        int error = 0;
    };
    Probe() {
        for (std::size_t i = 0; i < kBytes; ++i) memory[i] = static_cast<std::byte>(i + 1);
        write.complete = [](ofi::Operation& op, const ofi::Completion& completion) noexcept {
            auto& self = static_cast<Write&>(op);
            self.done = true;
            self.error = completion.error;
        };
    }
    void on_message(const ofi::Message&) noexcept override {}
    void on_write(std::uint32_t word, std::size_t size) noexcept override {
        told = true;
        sequence = Immediate::from(word).sequence;
        bytes = size;
    }
    [[nodiscard]] bool arrived() const noexcept {
        return std::equal(memory.begin(), memory.begin() + kBytes, memory.begin() + kBytes);
    }
    [[nodiscard]] const char* fault() const noexcept {
        if (write.error != 0) return "a write with immediate data fails";
        if (!told || !write.done) return "a write with immediate data is not told at its target";
        if (sequence != kSequence) return "immediate data arrives changed";
        if (bytes != kBytes) return "the size of a write is not told at its target";
        return arrived() ? nullptr : "a write is told before its bytes are there";
    }

    std::array<std::byte, 2 * kBytes> memory{};
    Write write;
    bool told = false;
    std::uint32_t sequence = 0;
    std::size_t bytes = 0;
};

/// Lock held. Posts until the provider takes it, then polls until all is told or the time is over.
bool run(ofi::Endpoint& endpoint, ofi::Peer& self, const MemoryHandle& memory, std::uint32_t port, Probe& probe) {
    const ofi::MemoryRegion& region = *memory.first().region;
    const auto place = reinterpret_cast<std::uintptr_t>(probe.memory.data()) + kBytes;
    const std::uint64_t address = endpoint.domain().addresses_are_virtual() ? place : place - region.address;
    const std::uint32_t word = Immediate{port, kSequence, 1}.word();
    const Deadline deadline(kPatience);
    ofi::Posted posted = ofi::Posted::again;
    while (posted != ofi::Posted::lost && !(probe.told && probe.write.done) && !deadline.passed()) {
        if (posted == ofi::Posted::again)
            posted = endpoint.post_written(self, probe.memory.data(), kBytes, region.descriptor(), address, region.key(),
                                           word, probe.write);
        endpoint.poll();
        if (probe.write.error != 0) break;
    }
    if (probe.write.done) --self.data_in_flight;
    return posted == ofi::Posted::yes && !probe.write.done;
}

}  // namespace

Status probe_writes(FabricEndpoint& owner) {
    ofi::Endpoint& endpoint = owner.ofi();
    auto probe = std::make_unique<Probe>();
    DUOFI_ASSIGN(void* handle, owner.register_memory(probe->memory.data(), probe->memory.size()));
    const ScopeExit unregister([&] { (void)drop_memory_handle_quietly(handle); });
    const std::scoped_lock lock(endpoint.mutex());
    ofi::Peer* self = endpoint.acquire_peer(endpoint.name());
    if (self == nullptr) return fail(Errc::internal, "write probe");
    self->identity = endpoint.identity();
    const std::uint32_t port = endpoint.ports().open(probe.get());
    const bool held = run(endpoint, *self, *static_cast<MemoryHandle*>(handle), port, *probe);
    endpoint.ports().close(port);
    endpoint.release_peer(self);
    const char* fault = self->gone() ? "a write into this process cannot be posted" : probe->fault();
    if (held) endpoint.adopt(std::move(probe));
    if (fault == nullptr) return {};
    log::warn(log::init | log::net, messages::kWritesNotTold, endpoint.domain().device().provider, fault);
    return fail(Errc::unsupported, "write probe");
}

}  // namespace duofi::net
