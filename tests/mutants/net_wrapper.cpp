// ncclNetPlugin_v6 around the real one: control calls, each clause broken on demand.
#include "tests/mutants/net_wrapper.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/mutants/active.hpp"

namespace duofi::mutants {
namespace {

constexpr useconds_t kTooLong = 500'000;       // for a call that must not wait
constexpr useconds_t kFarTooLong = 1'300'000;  // for a close

ncclResult_t init(ncclDebugLogger_t logger) {
    static int calls = 0;
    if (breaks("second_init_fails") && ++calls > 1) return ncclInvalidUsage;
    return real_net().init(logger);
}

ncclResult_t devices(int* count) {
    return real_net().devices(count);
}

ncclResult_t get_properties(int dev, ncclNetProperties_v6_t* properties) {
    const ncclResult_t result = real_net().getProperties(dev, properties);
    if (result == ncclInternalError && breaks("any_device_has_properties"))
        return real_net().getProperties(0, properties);
    if (result != ncclSuccess) return result;
    if (breaks("names_are_copied_for_each_call")) properties->name = ::strdup(properties->name);
    if (breaks("group_width_is_wrong")) properties->maxRecvs = 1;
    return result;
}

ncclResult_t listen(int dev, void* handle, void** comm) {
    if (!breaks("handle_partly_written")) return real_net().listen(dev, handle, comm);
    char whole[NCCL_NET_HANDLE_MAXSIZE] = {};
    const ncclResult_t result = real_net().listen(dev, whole, comm);
    if (result == ncclSuccess) std::memcpy(handle, whole, 24);
    return result;
}

template <typename Call>
ncclResult_t until_through(Call call, void** comm) {
    ncclResult_t result = call();
    for (useconds_t waited = 0; result == ncclSuccess && *comm == nullptr && waited < kTooLong;
         waited += 1000) {
        ::usleep(1000);
        result = call();
    }
    return result;
}

ncclResult_t connect(int dev, void* handle, void** comm) {
    const auto call = [&] { return real_net().connect(dev, handle, comm); };
    const ncclResult_t result = breaks("connect_blocks") ? until_through(call, comm) : call();
    if (result == ncclSuccess && *comm == nullptr && breaks("pending_connect_is_an_error"))
        return ncclInProgress;
    return result;
}

ncclResult_t accept(void* listen_comm, void** comm) {
    static std::mutex guard;
    static std::set<void*> served;
    const auto call = [&] { return real_net().accept(listen_comm, comm); };
    if (breaks("second_accept_fails")) {
        const std::scoped_lock lock(guard);
        if (served.count(listen_comm) != 0) return ncclInternalError;
    }
    const ncclResult_t result = breaks("accept_blocks") ? until_through(call, comm) : call();
    if (result == ncclSuccess && *comm != nullptr) {
        const std::scoped_lock lock(guard);
        served.insert(listen_comm);
    }
    return result;
}

ncclResult_t reg_mr(void* comm, void* data, int size, int type, void** mhandle) {
    static char spare[8];
    if (size == 0 && breaks("empty_registration_succeeds"))
        return real_net().regMr(comm, spare, sizeof(spare), type, mhandle);
    if (type == NCCL_PTR_CUDA && breaks("device_memory_taken_for_host"))
        return real_net().regMr(comm, data, size, NCCL_PTR_HOST, mhandle);
    return real_net().regMr(comm, data, size, type, mhandle);
}

ncclResult_t reg_mr_dma_buf(void* comm, void* data, std::size_t size, int type,
                            std::uint64_t offset, int fd, void** mhandle) {
    if (breaks("dmabuf_pretended"))
        return real_net().regMr(comm, data, static_cast<int>(size), NCCL_PTR_HOST, mhandle);
    if (breaks("dmabuf_descriptor_closed")) ::close(fd);
    return real_net().regMrDmaBuf(comm, data, size, type, offset, fd, mhandle);
}

ncclResult_t dereg_mr(void* comm, void* mhandle) {
    return real_net().deregMr(comm, mhandle);
}

ncclResult_t close_send(void* comm) {
    if (breaks("close_waits_for_the_peer")) ::usleep(kFarTooLong);
    return real_net().closeSend(comm);
}

ncclResult_t close_recv(void* comm) {
    return real_net().closeRecv(comm);
}

ncclResult_t close_listen(void* comm) {
    const ncclResult_t result = real_net().closeListen(comm);
    if (result == ncclSuccess && breaks("close_reports_an_error")) return ncclInternalError;
    return result;
}

}  // namespace

const ncclNet_v6_t& real_net() {
    static const auto* const table =
        static_cast<const ncclNet_v6_t*>(real_symbol("ncclNetPlugin_v6"));
    return *table;
}

}  // namespace duofi::mutants

extern "C" __attribute__((visibility("default"))) const ncclNet_v6_t ncclNetPlugin_v6 = {
    "duofi",
    &duofi::mutants::init,
    &duofi::mutants::devices,
    &duofi::mutants::get_properties,
    &duofi::mutants::listen,
    &duofi::mutants::connect,
    &duofi::mutants::accept,
    &duofi::mutants::reg_mr,
    &duofi::mutants::reg_mr_dma_buf,
    &duofi::mutants::dereg_mr,
    &duofi::mutants::mutant_isend,
    &duofi::mutants::mutant_irecv,
    &duofi::mutants::mutant_iflush,
    &duofi::mutants::mutant_test,
    &duofi::mutants::close_send,
    &duofi::mutants::close_recv,
    &duofi::mutants::close_listen,
};
