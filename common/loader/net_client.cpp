#include "common/loader/net_client.hpp"

#include <sched.h>

#include <climits>
#include <utility>

namespace duofi::loader {
namespace {

tl::unexpected<NetFailure> refused(ncclResult_t result, const char* call) {
    return tl::unexpected(NetFailure{result, false, call});
}

tl::unexpected<NetFailure> late(const char* call) {
    return tl::unexpected(NetFailure{ncclSuccess, true, call});
}

/// The callers poll without a pause; giving the core away keeps ranks that share one moving.
void pause_poll() noexcept {
    ::sched_yield();
}

const char* result_name(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "ncclSuccess";
        case ncclUnhandledCudaError:
            return "ncclUnhandledCudaError";
        case ncclSystemError:
            return "ncclSystemError";
        case ncclInternalError:
            return "ncclInternalError";
        case ncclInvalidArgument:
            return "ncclInvalidArgument";
        case ncclInvalidUsage:
            return "ncclInvalidUsage";
        case ncclRemoteError:
            return "ncclRemoteError";
        case ncclInProgress:
            return "ncclInProgress";
        default:
            return "an unknown result";
    }
}

}  // namespace

std::string to_string(const NetFailure& failure) {
    if (failure.timed_out) return std::string(failure.call) + " did not finish before the deadline";
    return std::string(failure.call) + " returned " + result_name(failure.result) + " (" +
           std::to_string(static_cast<int>(failure.result)) + ")";
}

Registration::Registration(Registration&& other) noexcept
    : net_(other.net_), comm_(other.comm_), mhandle_(std::exchange(other.mhandle_, nullptr)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
    if (this != &other) {
        static_cast<void>(reset());
        net_ = other.net_;
        comm_ = other.comm_;
        mhandle_ = std::exchange(other.mhandle_, nullptr);
    }
    return *this;
}

ncclResult_t Registration::reset() noexcept {
    if (mhandle_ == nullptr) return ncclSuccess;
    return net_->deregMr(comm_, std::exchange(mhandle_, nullptr));
}

NetComm::NetComm(NetComm&& other) noexcept
    : net_(other.net_), comm_(std::exchange(other.comm_, nullptr)), kind_(other.kind_) {}

NetComm& NetComm::operator=(NetComm&& other) noexcept {
    if (this != &other) {
        static_cast<void>(close());
        net_ = other.net_;
        kind_ = other.kind_;
        comm_ = std::exchange(other.comm_, nullptr);
    }
    return *this;
}

ncclResult_t NetComm::close() noexcept {
    if (comm_ == nullptr) return ncclSuccess;
    void* comm = std::exchange(comm_, nullptr);
    switch (kind_) {
        case Kind::listen:
            return net_->closeListen(comm);
        case Kind::send:
            return net_->closeSend(comm);
        case Kind::recv:
            return net_->closeRecv(comm);
    }
    return ncclInternalError;
}

NetResult<NetComm> NetClient::listen(int device, NetHandle& handle) const {
    handle.fill(std::byte{0});
    void* comm = nullptr;
    const ncclResult_t result = net_->listen(device, handle.data(), &comm);
    if (result != ncclSuccess) return refused(result, "listen");
    if (comm == nullptr) return refused(ncclInternalError, "listen");
    return NetComm(net_, comm, NetComm::Kind::listen);
}

NetResult<NetComm> NetClient::try_connect(int device, NetHandle& peer) const {
    void* comm = nullptr;
    const ncclResult_t result = net_->connect(device, peer.data(), &comm);
    NetComm owned(net_, comm, NetComm::Kind::send);
    if (result != ncclSuccess) return refused(result, "connect");
    return owned;
}

NetResult<NetComm> NetClient::try_accept(const NetComm& listener) const {
    void* comm = nullptr;
    const ncclResult_t result = net_->accept(listener.get(), &comm);
    NetComm owned(net_, comm, NetComm::Kind::recv);
    if (result != ncclSuccess) return refused(result, "accept");
    return owned;
}

NetResult<NetClient::Pair> NetClient::connect_and_accept(int device, NetHandle& peer,
                                                         const NetComm& listener,
                                                         const Deadline& deadline) const {
    Pair pair;
    while (true) {
        if (!pair.send) {
            auto sender = try_connect(device, peer);
            if (!sender) return tl::unexpected(sender.error());
            pair.send = std::move(*sender);
        }
        if (!pair.recv) {
            auto receiver = try_accept(listener);
            if (!receiver) return tl::unexpected(receiver.error());
            pair.recv = std::move(*receiver);
        }
        if (pair.send && pair.recv) return pair;
        if (deadline.passed()) return late(pair.send ? "accept" : "connect");
        pause_poll();
    }
}

NetResult<NetComm> NetClient::connect(int device, NetHandle& peer, const Deadline& deadline) const {
    while (true) {
        auto comm = try_connect(device, peer);
        if (!comm || *comm) return comm;
        if (deadline.passed()) return late("connect");
        pause_poll();
    }
}

NetResult<NetComm> NetClient::accept(const NetComm& listener, const Deadline& deadline) const {
    while (true) {
        auto comm = try_accept(listener);
        if (!comm || *comm) return comm;
        if (deadline.passed()) return late("accept");
        pause_poll();
    }
}

NetResult<Registration> NetClient::register_memory(const NetComm& comm,
                                                   std::span<std::byte> memory) const {
    if (memory.size() > INT_MAX) return refused(ncclInvalidArgument, "regMr");
    void* mhandle = nullptr;
    const ncclResult_t result = net_->regMr(
        comm.get(), memory.data(), static_cast<int>(memory.size()), NCCL_PTR_HOST, &mhandle);
    if (result != ncclSuccess) return refused(result, "regMr");
    return Registration(net_, comm.get(), mhandle);
}

NetResult<Transfer> NetClient::send(const NetComm& comm, std::span<const std::byte> data, int tag,
                                    const Registration& memory, const Deadline& deadline) const {
    if (data.size() > INT_MAX) return refused(ncclInvalidArgument, "isend");
    while (true) {
        Transfer transfer;
        // The table takes void* but only reads.
        auto* bytes = const_cast<std::byte*>(data.data());
        const ncclResult_t result = net_->isend(comm.get(), bytes, static_cast<int>(data.size()),
                                                tag, memory.get(), &transfer.request);
        if (result != ncclSuccess) return refused(result, "isend");
        if (transfer.request != nullptr) return transfer;
        if (deadline.passed()) return late("isend");
        pause_poll();
    }
}

NetResult<Transfer> NetClient::recv(const NetComm& comm, std::span<std::byte> data, int tag,
                                    const Registration& memory, const Deadline& deadline) const {
    if (data.size() > INT_MAX) return refused(ncclInvalidArgument, "irecv");
    while (true) {
        Transfer transfer;
        void* buffer = data.data();
        void* mhandle = memory.get();
        int size = static_cast<int>(data.size());
        const ncclResult_t result =
            net_->irecv(comm.get(), 1, &buffer, &size, &tag, &mhandle, &transfer.request);
        if (result != ncclSuccess) return refused(result, "irecv");
        if (transfer.request != nullptr) return transfer;
        if (deadline.passed()) return late("irecv");
        pause_poll();
    }
}

NetResult<bool> NetClient::test(Transfer& transfer, std::size_t& bytes) const {
    if (transfer.request == nullptr) return refused(ncclInvalidArgument, "test");
    int done = 0;
    int size = 0;
    const ncclResult_t result = net_->test(transfer.request, &done, &size);
    if (result != ncclSuccess) {
        transfer.request = nullptr;
        return refused(result, "test");
    }
    if (done == 0) return false;
    transfer.request = nullptr;
    bytes = static_cast<std::size_t>(size);
    return true;
}

NetResult<std::size_t> NetClient::wait(Transfer& transfer, const Deadline& deadline) const {
    std::size_t bytes = 0;
    while (true) {
        auto done = test(transfer, bytes);
        if (!done) return tl::unexpected(done.error());
        if (*done) return bytes;
        if (deadline.passed()) return late("test");
        pause_poll();
    }
}

}  // namespace duofi::loader
