#include "net_plugin/comms/endpoint.hpp"

#include <array>
#include <mutex>
#include <span>
#include <utility>

#include "common/ofi/service_thread.hpp"
#include "net_plugin/comms/device.hpp"
#include "net_plugin/comms/listen_comm.hpp"
#include "net_plugin/comms/send_comm.hpp"
#include "net_plugin/rdma/write_path.hpp"
#include "net_plugin/sendrecv/tagged_path.hpp"

namespace duofi::net {

FabricEndpoint::FabricEndpoint(FabricDevice& device, std::uint64_t key,
                               std::vector<std::shared_ptr<ofi::Endpoint>> rails, std::size_t most_receives)
    : device_(device),
      data_path_(device.protocol() == ProtocolKind::rdma ? ofi::DataPath::written : ofi::DataPath::tagged),
      key_(key),
      receives_(most_receives),
      rails_(std::move(rails)) {}

// The lead stays open longest.
FabricEndpoint::~FabricEndpoint() {
    while (!rails_.empty()) rails_.pop_back();
}

ofi::RailNames FabricEndpoint::rail_names(std::size_t most) const noexcept {
    ofi::RailNames out;
    for (std::size_t i = 1; i < rails_.size() && out.count < most; ++i) out.names[out.count++] = rails_[i]->name();
    return out;
}

Result<void*> FabricEndpoint::register_memory(void* data, std::size_t size) {
    std::array<ofi::Endpoint*, ofi::kMaxRails> rails{};
    for (std::size_t i = 0; i < rails_.size(); ++i) rails[i] = rails_[i].get();
    return make_memory_handle(std::span(rails.data(), rails_.size()), data, size);
}

std::unique_ptr<LargeSends> make_large_sends(FabricEndpoint& endpoint, FabricSendComm& comm) {
    if (endpoint.data_path() == ofi::DataPath::written) return std::make_unique<WrittenSends>(endpoint, comm);
    return std::make_unique<TaggedSends>(comm);
}

std::unique_ptr<LargeReceives> make_large_receives(FabricEndpoint& endpoint, FabricRecvComm& comm) {
    if (endpoint.data_path() == ofi::DataPath::written) return std::make_unique<WrittenReceives>(endpoint, comm);
    return std::make_unique<TaggedReceives>(endpoint, comm);
}

Result<ListenComm*> FabricEndpoint::listen(Handle& handle) {
    auto comm = std::make_unique<FabricListenComm>(*this);
    DUOFI_TRY(comm->open(handle));
    return comm.release();
}

// An attempt ends only by close(), which takes it off the endpoint; an exception leaves it where it is.
Result<ConnectProgress> FabricEndpoint::connect(const Handle& handle, SendComm* attempt) {
    auto* comm = static_cast<FabricSendComm*>(attempt);
    if (comm == nullptr) {
        comm = new FabricSendComm(*this);
        if (const Status started = comm->start_connect(handle); !started) {
            comm->close();
            return tl::unexpected(started.error());
        }
        ofi::service_wake();
    }
    const Result<bool> ready = comm->continue_connect();
    if (!ready) {
        comm->close();
        return tl::unexpected(ready.error());
    }
    return ConnectProgress{comm, *ready, *ready || comm->request_left()};
}

void FabricEndpoint::add_reference() { device_.add_reference(*this); }

void FabricEndpoint::release() { device_.release(*this); }

}  // namespace duofi::net
