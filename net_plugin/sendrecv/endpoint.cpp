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

// An attempt ends only by close(), which takes it off the endpoint; an exception leaves it where it is.
Result<ConnectProgress> SendrecvEndpoint::connect(const Handle& handle, SendComm* attempt) {
    auto* comm = static_cast<SendrecvSendComm*>(attempt);
    if (comm == nullptr) {
        comm = new SendrecvSendComm(*this);
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

void SendrecvEndpoint::add_reference() { device_.add_reference(*this); }

void SendrecvEndpoint::release() { device_.release(*this); }

}  // namespace duofi::net
