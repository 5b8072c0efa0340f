#include "net_plugin/sendrecv/tagged_path.hpp"

#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/recv_comm.hpp"
#include "net_plugin/comms/send_comm.hpp"
#include "net_plugin/sendrecv/late_receives.hpp"

namespace duofi::net {

ofi::Posted TaggedSends::post(SendRequest& request) noexcept {
    const Rail& rail = comm_.rails()[0];
    request.parts = 1;
    DataOperation& op = comm_.next_operation(request, 0);
    const std::uint64_t tag = data_tag(comm_.remote_port(), request.announcement.sequence);
    const ofi::Posted taken =
        rail.endpoint->post_tagged_send(*rail.peer, request.data, request.size, request.descriptor, tag, op);
    if (taken == ofi::Posted::yes) comm_.posted(request);
    return taken;
}

bool TaggedReceives::prepare(RecvEntry& entry, Announcement& out) noexcept {
    ReceiveBudget& budget = endpoint_.receives();
    if (!budget.take(entry.wanted)) return false;
    entry.sequence = next_sequence_;
    entry.op.complete = &TaggedReceives::complete;
    entry.op.owner = &entry;
    entry.op.budget = &budget;
    if (endpoint_.ofi().post_tagged_receive(comm_.peer(), entry.data, entry.size, entry.descriptor,
                                            data_tag(comm_.port(), entry.sequence), entry.op) != ofi::Posted::yes) {
        budget.give_back();
        return false;
    }
    ++next_sequence_;
    entry.op.posted = true;
    out.sequence = entry.sequence;
    comm_.operation_posted(entry);
    return true;
}

bool TaggedReceives::withdraw(RecvEntry& entry) noexcept {
    if (entry.op.posted) endpoint_.ofi().cancel(entry.op);
    return entry.op.posted;
}

void TaggedReceives::complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& data = static_cast<ReceiveOperation&>(op);
    data.posted = false;
    data.budget->give_back();
    if (data.owner == nullptr) return;  // its comm is closed
    RecvEntry& entry = *static_cast<RecvEntry*>(data.owner);
    RecvRequest& request = *entry.request;
    FabricRecvComm& comm = *request.comm;
    comm.operation_done(request);
    if (completion.error == 0 && entry.state == RecvEntry::State::announced)
        comm.arrived(entry, completion.length);
    else
        comm.came_back(entry, completion);
    comm.conclude(request);
}

// So that nothing is written into the caller's memory later. A transfer that is already under way gets the limit to finish.
void TaggedReceives::take_back(Nanoseconds limit) noexcept {
    if (!comm_.holds_operations()) return;
    comm_.for_each_entry([&](RecvEntry& entry) { (void)withdraw(entry); });
    const Deadline deadline(limit);
    do endpoint_.poll();
    while (comm_.holds_operations() && !deadline.passed());
    if (!comm_.holds_operations()) return;
    comm_.for_each_entry([](RecvEntry& entry) {
        if (entry.op.posted) entry.op.owner = nullptr;
    });
    comm_.keep_requests();
}

std::unique_ptr<LateTraffic> TaggedReceives::close(RecvEntry* first, bool sender_may_send, Nanoseconds limit) {
    auto late = std::make_unique<LateReceives>(endpoint_, comm_.peer(), comm_.port());
    for (RecvEntry* entry = first; entry != nullptr; entry = entry->next)
        if (entry->op.posted) late->expect(data_tag(comm_.port(), entry->sequence), entry->size);
    take_back(limit);
    if (!sender_may_send || late->empty()) return nullptr;
    return late;
}

}  // namespace duofi::net
