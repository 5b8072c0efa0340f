#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

#include <sched.h>

#include <map>
#include <mutex>

#include "common/ofi/discovery.hpp"

namespace duofi::net::comm_test {

using duofi::test::require;

const ofi::DeviceInfo* find_device(const std::string& provider) {
    static std::map<std::string, ofi::DeviceList> known;
    const auto found = known.find(provider);
    if (found == known.end()) {
        Settings settings;
        settings.ofi_provider = provider;
        auto list = ofi::discover(settings, ofi::tagged_requirements(settings));
        known[provider] = list ? std::move(*list) : ofi::DeviceList{};
    }
    const auto& devices = known[provider].devices;
    return devices.empty() ? nullptr : &devices[0];
}

namespace {

Settings adjusted(const Adjust& adjust) {
    Settings settings;
    if (adjust) adjust(settings);
    return settings;
}

}  // namespace

Side::Side(const ofi::DeviceInfo& info, const Adjust& adjust, bool one_sided)
    : settings_(adjusted(adjust)),
      device_({&info}, settings_, DeviceProperties{}, false, {}, one_sided) {
    endpoint_ = &take();
}

Side::Side(ofi::RailInfos rails, const Adjust& adjust)
    : settings_(adjusted(adjust)),
      device_(std::move(rails), settings_, DeviceProperties{}, false, {}, false, ProtocolKind::rdma) {
    endpoint_ = &take();
}

FabricEndpoint& Side::take() {
    const auto endpoint = device_.get_endpoint();
    require(endpoint.has_value(), "get_endpoint failed");
    return static_cast<FabricEndpoint&>(**endpoint);
}

std::size_t Side::posted_receives() {
    const std::scoped_lock lock(ofi().mutex());
    return endpoint_->receives().posted();
}

void Side::poll() {
    const std::scoped_lock lock(ofi().mutex());
    ofi().poll();
}

Nanoseconds close(Comm* comm) {
    const Nanoseconds begin = now_ns();
    Endpoint& endpoint = comm->endpoint();
    comm->close();
    endpoint.release();
    return now_ns() - begin;
}

void until(const char* what, const std::function<bool()>& step, Nanoseconds limit) {
    const Deadline deadline(limit);
    while (!step()) {
        require(!deadline.passed(), "{}: not within {} ms", what, limit / kMillisecond);
        ::sched_yield();
    }
}

Listener listen_on(Side& side) {
    Listener listener;
    const auto comm = side.take().listen(listener.handle);
    require(comm.has_value(), "listen failed");
    listener.comm = Owned<ListenComm>(*comm);
    return listener;
}

Owned<RecvComm> accept_one(ListenComm& listener) {
    RecvComm* comm = nullptr;
    until("accept", [&] {
        const auto step = listener.accept();
        require(step.has_value(), "accept failed");
        comm = *step;
        return comm != nullptr;
    });
    return Owned<RecvComm>(comm);
}

Link connect(Side& from, Side& to) {
    Listener listener = listen_on(to);
    Link link;
    FabricEndpoint& endpoint = from.take();
    SendComm* attempt = nullptr;
    bool ready = false;
    until("connect and accept", [&] {
        if (!ready) {
            const auto step = endpoint.connect(listener.handle, attempt);
            require(step.has_value(), "connect failed");
            attempt = step->comm;
            ready = step->ready;
        }
        if (link.recv.get() == nullptr) {
            const auto comm = listener.comm->accept();
            require(comm.has_value(), "accept failed");
            link.recv = Owned<RecvComm>(*comm);
        }
        return ready && link.recv.get() != nullptr;
    });
    link.send = Owned<SendComm>(attempt);
    return link;
}

std::vector<Outcome> finish(const std::vector<Request*>& requests, Nanoseconds limit) {
    std::vector<Outcome> outcomes(requests.size());
    std::vector<bool> ended(requests.size());
    std::size_t left = requests.size();
    until(
        "requests",
        [&] {
            for (std::size_t i = 0; i < requests.size(); ++i) {
                if (ended[i]) continue;
                int done = 0;
                int sizes[Request::kMaxSizes] = {};
                const int count = requests[i]->size_count;
                outcomes[i].result = test_request(requests[i], &done, sizes);
                if (done == 0 && outcomes[i].result == ncclSuccess) continue;
                if (done != 0) outcomes[i].sizes.assign(sizes, sizes + count);
                ended[i] = true;
                --left;
            }
            return left == 0;
        },
        limit);
    return outcomes;
}

Outcome finish(Request* request, Nanoseconds limit) {
    return finish(std::vector{request}, limit)[0];
}

Request* send(SendComm& comm, const void* data, std::size_t size, int tag) {
    const auto request = comm.isend(const_cast<void*>(data), size, tag, nullptr);
    require(request.has_value() && *request != nullptr, "isend of {} bytes gave no request", size);
    return *request;
}

Request* receive(RecvComm& comm, const std::vector<RecvBuffer>& buffers) {
    const auto request = comm.irecv(buffers.data(), static_cast<int>(buffers.size()));
    require(request.has_value() && *request != nullptr, "irecv gave no request");
    return *request;
}

Request* receive(RecvComm& comm, void* data, std::size_t size, int tag) {
    return receive(comm, {RecvBuffer{data, size, tag, nullptr}});
}

std::vector<unsigned char> bytes_of(std::size_t size, unsigned seed) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<unsigned char>(seed * 131u + i * 7u + (i >> 8) * 13u);
    return bytes;
}

}  // namespace duofi::net::comm_test
