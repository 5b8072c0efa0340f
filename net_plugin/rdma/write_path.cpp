#include "net_plugin/rdma/write_path.hpp"

#include <algorithm>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/recv_comm.hpp"
#include "net_plugin/comms/send_comm.hpp"
#include "net_plugin/rdma/immediate.hpp"
#include "net_plugin/rdma/late_writes.hpp"

namespace duofi::net {

namespace {

const Settings& settings_of(FabricEndpoint& endpoint) { return endpoint.ofi().domain().settings(); }

}  // namespace

WrittenSends::WrittenSends(FabricEndpoint& endpoint, FabricSendComm& comm)
    : comm_(comm), scheduler_(settings_of(endpoint).min_stripe_size, settings_of(endpoint).small_message_size) {}

void WrittenSends::hold(SendRequest& request, const MemoryHandle* memory) noexcept {
    if (memory != nullptr) request.held.hold(*memory);
}

ofi::Posted WrittenSends::post(SendRequest& request) noexcept {
    const Rails& rails = comm_.rails();
    if (request.parts == 0) {
        const Stripes stripes = scheduler_.plan(request.size, rails.count());
        request.parts = static_cast<std::uint8_t>(stripes.count);
        request.part_bytes = stripes.bytes;
        request.first_rail = static_cast<std::uint8_t>(stripes.first_rail);
    }
    const Immediate told{comm_.remote_port(), request.announcement.sequence, request.parts};
    while (request.parts_posted < request.parts) {
        const std::size_t at = (request.first_rail + request.parts_posted) % rails.count();
        const std::size_t offset = request.parts_posted * request.part_bytes;
        const std::size_t bytes = std::min(request.part_bytes, request.size - offset);
        const WriteTarget& target = request.announcement.target[at];
        const bool needs = rails[at].endpoint->domain().needs_local_registration();
        const ofi::Posted taken = rails[at].endpoint->post_written(
            *rails[at].peer, static_cast<const std::byte*>(request.data) + offset, bytes,
            needs ? request.held.descriptor(at) : nullptr, target.address + offset, target.key, told.word(),
            comm_.next_operation(request, at));
        if (taken != ofi::Posted::yes) return taken;
        comm_.posted(request);
    }
    return ofi::Posted::yes;
}

// A peer can write only into memory that is registered, also where sending and receiving needs no registration.
bool WrittenReceives::acceptable(const RecvBuffer& buffer) const noexcept {
    if (buffer.size == 0 || buffer.memory != nullptr) return true;
    log::warn(log::net, messages::kNeedsMemoryHandle, "irecv", endpoint_.ofi().domain().device().provider);
    return false;
}

void WrittenReceives::hold(RecvEntry& entry, const RecvBuffer& buffer) noexcept {
    entry.parts = 0;
    entry.bytes = 0;
    if (buffer.size != 0) entry.held.hold(*static_cast<const MemoryHandle*>(buffer.memory));
}

bool WrittenReceives::prepare(RecvEntry& entry, Announcement& out) noexcept {
    if (entry.size == 0) return true;  // nothing is written: an empty message comes instead
    while (announced_[next_sequence_ % kSlots] != nullptr) ++next_sequence_;  // its sender has not come yet
    entry.sequence = next_sequence_++ % Immediate::kSequences;
    announced_[entry.sequence % kSlots] = &entry;
    out.sequence = entry.sequence;
    out.targets = static_cast<std::uint32_t>(comm_.rails().count());
    const auto address = reinterpret_cast<std::uintptr_t>(entry.data);
    for (std::size_t i = 0; i < out.targets; ++i) {
        const ofi::MemoryRegion& region = entry.held.region(i);
        const bool in_process = comm_.rails()[i].endpoint->domain().addresses_are_virtual();
        out.target[i] = {in_process ? address : address - region.address, region.key()};
    }
    return true;
}

void WrittenReceives::forget(RecvEntry& entry) noexcept {
    RecvEntry*& slot = announced_[entry.sequence % kSlots];
    if (slot == &entry) slot = nullptr;
    entry.held.release();
}

bool WrittenReceives::withdraw(RecvEntry& entry) noexcept {
    forget(entry);
    return false;
}

void WrittenReceives::on_write(std::uint32_t word, std::size_t bytes) noexcept {
    ++writes_;
    const Immediate told = Immediate::from(word);
    RecvEntry* entry = announced_[told.sequence % kSlots];
    if (entry == nullptr || entry->sequence != told.sequence) return;  // given up meanwhile
    entry->bytes += bytes;
    if (++entry->parts != told.parts) return;
    forget(*entry);
    RecvRequest& request = *entry->request;
    comm_.arrived(*entry, entry->bytes);
    comm_.conclude(request);
}

bool WrittenReceives::nothing_comes() const noexcept {
    return comm_.rails().all_gone() || (sent_at_end_ && all_here(*sent_at_end_));
}

// The sender has closed, or is asked to stop (its comm's net_close) and has the limit to say that it has. What it may still
// write goes into memory that stays registered: some providers do not survive a write that meets none.
std::unique_ptr<LateTraffic> WrittenReceives::close(RecvEntry* first, bool, Nanoseconds limit) {
    const bool announced = std::any_of(announced_.begin(), announced_.end(), [](auto* entry) { return entry != nullptr; });
    const Deadline deadline(limit);
    while (announced && !nothing_comes() && !deadline.passed()) endpoint_.poll();
    std::unique_ptr<LateWrites> late;
    if (announced && !nothing_comes())
        late = std::make_unique<LateWrites>(endpoint_, comm_.peer(), comm_.port(), writes_, sent_at_end_);
    for (RecvEntry* entry = first; entry != nullptr; entry = entry->next) {
        if (late != nullptr && entry->state == RecvEntry::State::announced)
            late->keep(std::exchange(entry->held, {}));
        entry->held.release();
    }
    return late;
}

}  // namespace duofi::net
