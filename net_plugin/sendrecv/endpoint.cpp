#include "net_plugin/sendrecv/endpoint.hpp"

#include <mutex>

#include "common/ofi/service_thread.hpp"
#include "net_plugin/sendrecv/device.hpp"
#include "net_plugin/sendrecv/listen_comm.hpp"
#include "net_plugin/sendrecv/send_comm.hpp"

namespace duofi::net {

Result<ListenComm*> SendrecvEndpoint::listen(Handle& handle) {
    auto comm = std::make_unique<SendrecvListenComm>(*this);
    DUOFI_TRY(comm->open(handle));
    return comm.release();
}

Result<ConnectProgress> SendrecvEndpoint::connect(const Handle& handle, SendComm* attempt) {
    std::unique_ptr<SendrecvSendComm> comm(static_cast<SendrecvSendComm*>(attempt));
    if (comm == nullptr) {
        comm = std::make_unique<SendrecvSendComm>(*this);
        DUOFI_TRY(comm->start_connect(handle));
        ofi::service_wake();
    }
    DUOFI_ASSIGN(const bool ready, comm->continue_connect());
    return ConnectProgress{comm.release(), ready};
}

void SendrecvEndpoint::add_reference() noexcept { device_.add_reference(*this); }

void SendrecvEndpoint::release() { device_.release(*this); }

}  // namespace duofi::net
