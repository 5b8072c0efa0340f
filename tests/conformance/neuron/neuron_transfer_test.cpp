// Messages and properties through Neuron's tables: net contract 1.5, 1.6, 2.2, 2.3, 3.8, T2. Adapters:
// net_plugin/abi/neuron_v4, net_plugin/abi/neuron_v5, net_plugin/abi/neuron_v6.
#include <set>

#include "tests/conformance/neuron/neuron_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20;

void send_and_check(const NccomLink& link, std::size_t send_bytes, std::size_t recv_bytes, int tag, unsigned seed) {
    MemoryBuffer out(send_bytes), in(recv_bytes);
    out.fill(seed);
    in.poison();
    const NccomMemory out_memory(link.send, out.data(), std::max<std::size_t>(send_bytes, 1));
    const NccomMemory in_memory(link.recv, in.data(), std::max<std::size_t>(recv_bytes, 1));
    void* receiving = nccom_recv(link.recv, in.data(), recv_bytes, tag, in_memory);
    void* sending = nccom_send(link.send, out.data(), send_bytes, tag, out_memory);
    const Nccom& net = link.send.net();
    const auto moved = static_cast<int>(std::min(send_bytes, recv_bytes));
    const int sent = nccom_wait(net, sending), received = nccom_wait(net, receiving);
    require(received == moved, "{} bytes arrived, not {}", received, moved);
    require(sent == moved || send_bytes > recv_bytes, "{} bytes left, not {}", sent, moved);
    require(!first_mismatch(in.data(), static_cast<std::size_t>(moved), seed), "wrong data");
    require(in.guards_intact(static_cast<std::size_t>(moved)), "bytes around the message were written");
}

DUOFI_NEURON_CONFORMANCE(messages_of_all_sizes, 4) {
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    unsigned seed = 1;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{8191}, std::size_t{8192},
                                    std::size_t{8193}, std::size_t{200'000}, kLargest}) {
        send_and_check(link, bytes, bytes, 3, seed++);
        send_and_check(link, bytes, bytes + 100, 3, seed++);
        if (bytes > 1) send_and_check(link, bytes, bytes / 2, 3, seed++);
    }
    rank.barrier();
}

DUOFI_NEURON_CONFORMANCE(grouped_receive, 5) {
    constexpr int kParts = 8, kBytes = 3000;
    const NccomLink link = nccom_pair(rank, nccom_of(rank));
    const Nccom& net = link.send.net();
    std::vector<MemoryBuffer> in(kParts, MemoryBuffer(kBytes)), out(kParts, MemoryBuffer(kBytes));
    std::vector<NccomMemory> memory;
    void *data[kParts], *handles[kParts];
    int sizes[kParts], tags[kParts];
    for (int i = 0; i < kParts; ++i) {
        in[i].poison();
        memory.emplace_back(link.recv, in[i].data(), kBytes);
        data[i] = in[i].data(), handles[i] = memory.back().handle(), sizes[i] = kBytes, tags[i] = i;
    }
    void* receiving = nullptr;
    expect_success(net.call(Slot::irecv, link.recv.get(), int{kParts}, &data[0], &sizes[0], &tags[0], &handles[0],
                            &receiving), "irecv");
    require(receiving != nullptr, "a first irecv gave no request");
    for (int i = kParts - 1; i >= 0; --i) {
        out[i].fill(static_cast<std::uint64_t>(i));
        const NccomMemory registered(link.send, out[i].data(), kBytes);
        (void)nccom_wait(net, nccom_send(link.send, out[i].data(), static_cast<std::size_t>(kBytes - i), i, registered));
    }
    int got[kParts + 1], done = 0;
    got[kParts] = -1;
    const Deadline deadline(kStepPatience);
    while (done == 0) {
        expect_success(net.call(Slot::test, receiving, &done, &got[0]), "test");
        require(!deadline.passed(), "the group is not done");
    }
    for (int i = 0; i < kParts; ++i) {
        require(got[i] == kBytes - i, "part {} has {} bytes", i, got[i]);
        require(!first_mismatch(in[i].data(), static_cast<std::size_t>(got[i]), static_cast<std::uint64_t>(i)),
                "part {} is wrong", i);
    }
    require(got[kParts] == -1, "test wrote more sizes than parts");
    rank.barrier();
}

DUOFI_NEURON_CONFORMANCE(properties_of_every_device, 4) {
    const Nccom& net = nccom_of(rank);
    std::set<std::string> names;
    for (int device = 0; device < net.devices(); ++device) {
        const NccomProperties p = net.properties(device);
        require(p.name != nullptr && names.insert(p.name).second, "device {} has no name of its own", device);
        require(p.name == net.properties(device).name, "the name moves");
        require(p.ptr_support == NCCL_PTR_HOST, "ptrSupport {} without device memory", p.ptr_support);
        require(p.speed > 0 && p.max_comms > 0, "speed {} maxComms {}", p.speed, p.max_comms);
        if (net.version() == 4) continue;
        require(p.reg_is_global == 1 && p.max_recvs == 8, "regIsGlobal {} maxRecvs {}", p.reg_is_global, p.max_recvs);
        require(p.rma_supported == 1, "rma_supported {}", p.rma_supported);
        require(p.max_key_bytes == 8 && p.max_write_inline >= 64, "keys of {}, inline writes of {} bytes",
                p.max_key_bytes, p.max_write_inline);
    }
    unsigned char bytes[80];
    log_capture::expect_warn("Error accessing device");
    require(net.call(Slot::get_properties, net.devices(), static_cast<void*>(bytes)) == ncclInternalError,
            "a device that does not exist has properties");
}

DUOFI_NEURON_CONFORMANCE(guards_answer_as_their_lines_say, 4) {
    const Nccom& net = nccom_of(rank);
    void* comm = nullptr;
    log_capture::expect_warn("Provided handle is NULL");
    log_capture::expect_warn("Error accessing device");
    char handle[128] = {};
    require(net.call(Slot::listen, 0, static_cast<void*>(nullptr), &comm) == ncclInvalidArgument, "listen without handle");
    require(net.call(Slot::connect, 0, static_cast<void*>(nullptr), &comm) == ncclInvalidArgument, "connect likewise");
    require(net.call(Slot::listen, 999, static_cast<void*>(handle), &comm) == ncclInternalError, "listen on no device");
    log_capture::expect_warn("connect: the handle is");
    require(net.call(Slot::connect, 0, static_cast<void*>(handle), &comm) == ncclInvalidArgument, "connect to zeros");
    log_capture::expect_warn("closed or not of this kind");
    require(net.call(Slot::close_send, static_cast<void*>(nullptr)) == ncclInternalError, "closing nothing");
    require(comm == nullptr, "a comm came with a failure");
}

}  // namespace
}  // namespace duofi::test
