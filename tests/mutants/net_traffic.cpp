// isend, irecv, iflush and test of the net table, each clause broken on demand.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/mutants/active.hpp"
#include "tests/mutants/net_wrapper.hpp"

namespace duofi::mutants {
namespace {

std::mutex guard;
std::unordered_map<void*, NetOperation> operations;  // unfinished ones
std::vector<void*> orphans;                          // reported done too early

void remember(void* request, const NetOperation& operation) {
    if (request == nullptr) return;
    const std::scoped_lock lock(guard);
    operations[request] = operation;
}

NetOperation find(void* request) {
    const std::scoped_lock lock(guard);
    const auto found = operations.find(request);
    if (found == operations.end()) return {};
    ++found->second.tests;
    return found->second;
}

void forget(void* request) {
    const std::scoped_lock lock(guard);
    operations.erase(request);
}

// Requests whose caller believes them finished still need their tests.
void test_orphans() {
    std::vector<void*> mine;
    {
        const std::scoped_lock lock(guard);
        mine.swap(orphans);
    }
    for (void* request : mine) {
        int done = 0;
        if (real_net().test(request, &done, nullptr) != ncclSuccess || done != 0) continue;
        const std::scoped_lock lock(guard);
        orphans.push_back(request);
    }
}

ncclResult_t done_too_early(void* request, const NetOperation& operation, int* done, int* sizes) {
    {
        const std::scoped_lock lock(guard);
        orphans.push_back(request);
        operations.erase(request);
    }
    *done = 1;
    if (sizes != nullptr) std::copy_n(operation.sizes.begin(), operation.parts, sizes);
    return ncclSuccess;
}

bool is_early(const NetOperation& operation) {
    if (operation.parts != 1 || operation.sizes[0] == 0) return false;
    return operation.is_send ? breaks("send_done_before_it_was_taken")
                             : breaks("receive_done_before_data");
}

void spoil_finished(const NetOperation& operation, int* sizes) {
    if (operation.is_send) return;
    if (breaks("byte_flipped") && operation.sizes[0] > 0 && operation.data[0] != nullptr)
        static_cast<std::uint8_t*>(operation.data[0])[0] ^= 0x10U;
    if (sizes == nullptr) return;
    if (breaks("posted_size_reported"))
        std::copy_n(operation.sizes.begin(), operation.parts, sizes);
    if (breaks("sizes_written_past_the_group") && operation.parts < NCCL_NET_MAX_RECVS)
        sizes[operation.parts] = 0;
    if (breaks("receive_overruns")) {
        for (int i = 0; i < operation.parts; ++i)
            sizes[i] = std::min(sizes[i], operation.sizes[static_cast<std::size_t>(i)]);
    }
}

}  // namespace

ncclResult_t mutant_isend(void* comm, void* data, int size, int tag, void* mhandle,
                          void** request) {
    if (breaks("empty_send_refused") && data == nullptr && size == 0) return ncclInvalidArgument;
    static thread_local void* previous = nullptr;
    void* const garbage = request == nullptr ? nullptr : *request;
    const ncclResult_t result = real_net().isend(comm, data, size, tag, mhandle, request);
    if (result == ncclInvalidArgument && breaks("send_range_unchecked")) return ncclSuccess;
    if (result != ncclSuccess || request == nullptr) return result;
    if (*request == nullptr) {
        if (breaks("full_queue_is_an_error")) return ncclInternalError;
        if (breaks("refused_request_keeps_its_word")) *request = garbage;
        return result;
    }
    NetOperation operation;
    operation.is_send = true;
    operation.sizes[0] = size;
    remember(*request, operation);
    if (breaks("request_given_twice")) {
        const std::scoped_lock lock(guard);
        if (operations.count(previous) != 0) {
            *request = previous;
        } else {
            previous = *request;
        }
    }
    return result;
}

ncclResult_t mutant_irecv(void* comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                          void** request) {
    NetOperation operation;
    if (n < 1 || n > NCCL_NET_MAX_RECVS)
        return real_net().irecv(comm, n, data, sizes, tags, mhandles, request);
    const auto parts = static_cast<std::size_t>(n);
    std::vector<int> own_tags(tags, tags + parts);
    std::vector<int> own_sizes(sizes, sizes + parts);
    if (breaks("tags_of_a_group_mixed_up") && n > 1) std::swap(own_tags[0], own_tags[1]);
    if (breaks("receive_overruns")) {
        for (int& size : own_sizes) size += size > 0 ? 8 : 0;
    }
    void* const garbage = request == nullptr ? nullptr : *request;
    ncclResult_t result =
        real_net().irecv(comm, n, data, own_sizes.data(), own_tags.data(), mhandles, request);
    if (breaks("receive_overruns") && result == ncclInvalidArgument)
        result = real_net().irecv(comm, n, data, sizes, own_tags.data(), mhandles, request);
    if (result == ncclSuccess && *request == nullptr && breaks("refused_request_keeps_its_word")) {
        *request = garbage;
        return result;
    }
    operation.parts = n;
    std::copy_n(data, parts, operation.data.begin());
    std::copy_n(sizes, parts, operation.sizes.begin());
    if (result == ncclSuccess && request != nullptr) remember(*request, operation);
    return result;
}

ncclResult_t mutant_iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                           void** request) {
    void* const garbage = request == nullptr ? nullptr : *request;
    const ncclResult_t result = real_net().iflush(comm, n, data, sizes, mhandles, request);
    if (result == ncclSuccess && breaks("flush_leaves_the_request_word")) *request = garbage;
    return result;
}

ncclResult_t mutant_test(void* request, int* done, int* sizes) {
    if (request == nullptr && breaks("test_of_nothing_succeeds")) {
        *done = 1;
        return ncclSuccess;
    }
    test_orphans();
    const NetOperation operation = find(request);
    if (is_early(operation)) return done_too_early(request, operation, done, sizes);
    const int before = done == nullptr ? 0 : *done;
    const ncclResult_t result = real_net().test(request, done, sizes);
    if (result == ncclRemoteError && breaks("remote_error_hidden")) {
        *done = 1;
        return ncclSuccess;
    }
    if (result != ncclSuccess) return result;
    if (*done == 0) {
        if (breaks("done_stays_unwritten")) *done = before;
        return result;
    }
    forget(request);
    spoil_finished(operation, sizes);
    return result;
}

}  // namespace duofi::mutants
