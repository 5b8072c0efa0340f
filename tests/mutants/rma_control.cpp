// Control calls of the RMA wrapper.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/mutants/active.hpp"
#include "tests/mutants/rma_wrapper.hpp"

namespace duofi::mutants {
namespace {

// A handle is a pointer; its top bit must stay clear.
void* with_top_bit(void* handle) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(handle) |
                                   (std::uintptr_t{1} << 63U));
}

void* without_top_bit(void* handle) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(handle) &
                                   ~(std::uintptr_t{1} << 63U));
}

}  // namespace

ncclResult_t RmaWrapper::init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger) {
    if (breaks("logger_is_needed") && logger == nullptr) return ncclInvalidArgument;
    const ncclResult_t result = real_.init(ctx, comm_id, logger);
    if (result != ncclSuccess) return result;
    const std::scoped_lock lock(shadow_.guard);
    void*& first = shadow_.instances[comm_id];
    if (first == nullptr) first = *ctx;
    if (breaks("one_instance_per_communicator")) *ctx = first;
    return result;
}

ncclResult_t RmaWrapper::finalize(void* ctx) {
    if (breaks("finalize_of_nothing_fails") && ctx == nullptr) return ncclInvalidArgument;
    {
        const std::scoped_lock lock(shadow_.guard);
        std::erase_if(shadow_.instances, [ctx](const auto& entry) { return entry.second == ctx; });
    }
    // Another thread may be at work with what it takes for its own instance: ending it would break more than the clause.
    return breaks("one_instance_per_communicator") ? ncclSuccess : real_.finalize(ctx);
}

ncclResult_t RmaWrapper::rma_properties(void* coll, ncclRmaProperties_v16_t* properties) {
    const ncclResult_t result = real_.rma_properties(coll, properties);
    if (result == ncclSuccess && breaks("one_signal_flushes_all"))
        properties->flushesAllPutsOnAnySignal = true;
    return result;
}

ncclResult_t RmaWrapper::properties(int dev, ncclNetProperties_v12_t* properties) {
    if (properties == nullptr) return real_.properties(dev, properties);
    const ncclNetProperties_v12_t before = *properties;
    const ncclResult_t result = real_.properties(dev, properties);
    if (result != ncclSuccess)
        return breaks("any_device_has_properties") ? real_.properties(0, properties) : result;
    if (breaks("properties_leave_bytes")) properties->planeId = before.planeId;
    if (breaks("device_type_is_host")) properties->netDeviceType = NCCL_NET_DEVICE_HOST;
    if (breaks("dmabuf_offered")) properties->ptrSupport |= NCCL_PTR_DMABUF;
    if (breaks("queue_multiplier_is_odd")) properties->maxRecvs = 6;
    return result;
}

ncclResult_t RmaWrapper::listen(void* ctx, int dev, void* handle, void** comm) {
    char tail[32];
    constexpr std::size_t kTail = NCCL_NET_HANDLE_MAXSIZE - sizeof(tail);
    if (handle != nullptr) std::memcpy(tail, static_cast<char*>(handle) + kTail, sizeof(tail));
    const ncclResult_t result = real_.listen(ctx, dev, handle, comm);
    if (result != ncclSuccess) return result;
    if (breaks("handle_tail_unwritten"))
        std::memcpy(static_cast<char*>(handle) + kTail, tail, sizeof(tail));
    const std::scoped_lock lock(shadow_.guard);
    shadow_.instance_of_listener[*comm] = ctx;
    shadow_.orphaned_listeners.erase(*comm);
    return result;
}

ncclResult_t RmaWrapper::connect(void* ctx, void* handles[], int ranks, int rank, void* listener,
                                 void** coll) {
    if (breaks("connect_trusts_its_context")) {
        const std::scoped_lock lock(shadow_.guard);
        if (shadow_.instance_of_listener[listener] != ctx) return ncclInternalError;
    }
    std::vector<void*> own(handles == nullptr ? nullptr : handles,
                           handles == nullptr ? nullptr : handles + std::max(ranks, 0));
    if (breaks("one_rank_hides_a_bad_handle") && rank > 0 && ranks > 1) {
        static const char zeros[NCCL_NET_HANDLE_MAXSIZE] = {};
        if (std::memcmp(own.back(), zeros, sizeof(zeros)) == 0) {
            *coll = listener;
            return ncclSuccess;
        }
    }
    const ncclResult_t result = real_.connect(ctx, handles, ranks, rank, listener, coll);
    if (result != ncclSuccess) return result;
    auto group = std::make_shared<Group>();
    group->key.assign(static_cast<const char*>(handles[0]), NCCL_NET_HANDLE_MAXSIZE);
    group->rank = rank;
    group->count = ranks;
    enter_world(group);
    const std::scoped_lock lock(shadow_.guard);
    shadow_.groups[*coll] = group;
    shadow_.listener_of_group[*coll] = listener;
    return result;
}

ncclResult_t RmaWrapper::close_listen(void* listener) {
    {
        const std::scoped_lock lock(shadow_.guard);
        if (breaks("listen_comm_must_close_first") &&
            shadow_.orphaned_listeners.count(listener) != 0)
            return ncclInvalidUsage;
    }
    return real_.close_listen(listener);
}

ncclResult_t RmaWrapper::close_coll(void* coll) {
    {
        const std::scoped_lock lock(shadow_.guard);
        shadow_.orphaned_listeners.insert(shadow_.listener_of_group[coll]);
        shadow_.groups.erase(coll);
    }
    if (breaks("close_takes_long")) ::usleep(1'300'000);
    return real_.close_coll(coll);
}

ncclResult_t RmaWrapper::create_context(void* coll, ncclRmaConfig_v16_t* config, void** ctx) {
    if (config != nullptr) {
        if (breaks("stride_is_a_filter") && config->rankStride <= 0) return ncclInternalError;
        if (breaks("few_contexts_only") && config->nContexts > 64) return ncclInternalError;
    }
    const ncclResult_t result = real_.create_context(coll, config, ctx);
    if (result != ncclSuccess) return result;
    const std::scoped_lock lock(shadow_.guard);
    shadow_.contexts[*ctx] = {coll, config->nContexts, {}};
    return result;
}

ncclResult_t RmaWrapper::destroy_context(void* ctx) {
    if (ctx == nullptr && breaks("destroy_of_nothing_fails")) return ncclInvalidArgument;
    {
        const std::scoped_lock lock(shadow_.guard);
        const auto context = shadow_.contexts.find(ctx);
        if (context != shadow_.contexts.end() && breaks("released_regions_are_written")) {
            const auto group = shadow_.groups[context->second.coll];
            for (const auto& [request, operation] : shadow_.unfinished) {
                if (operation.ctx != ctx || !group || operation.put.bytes < 64) continue;
                std::uint8_t* target =
                    memory_of_peer(*group, operation.put.dst, static_cast<int>(operation.put.rank),
                                   operation.put.dst_offset, 64);
                if (target != nullptr) group->ghost = [target] { std::memset(target, 0, 64); };
            }
        }
        std::erase_if(shadow_.unfinished,
                      [ctx](const auto& entry) { return entry.second.ctx == ctx; });
        shadow_.contexts.erase(ctx);
    }
    return real_.destroy_context(ctx);
}

ncclResult_t RmaWrapper::reg_mr_sym(void* coll, void* data, std::size_t bytes, int type,
                                    std::uint64_t flags, void** handle) {
    const std::shared_ptr<Group> group = shadow_.group(coll);
    if (!group) return real_.reg_mr_sym(coll, data, bytes, type, flags, handle);
    Region* same = nullptr;
    for (Region& region : group->regions) {
        if (region.handle != nullptr && region.data == data) same = &region;
    }
    if (breaks("larger_range_gets_the_old_handle") && same != nullptr && bytes > same->bytes) {
        ++same->uses;
        *handle = same->handle;
        return ncclSuccess;
    }
    if (breaks("device_memory_taken_for_host") && type == NCCL_PTR_CUDA) type = NCCL_PTR_HOST;
    if (breaks("empty_region_accepted") && bytes == 0) bytes = 1;
    if (breaks("registration_clears_memory") && data != nullptr && type == NCCL_PTR_HOST)
        std::memset(data, 0, bytes);
    ncclResult_t result = real_.reg_mr_sym(coll, data, bytes, type, flags, handle);
    if (result != ncclSuccess) {
        if (breaks("refused_region_leaves_a_handle")) *handle = coll;
        if (breaks("failure_stays_on_one_rank") && type == NCCL_PTR_HOST) {
            *handle = coll;
            return ncclSuccess;
        }
        return result;
    }
    const int index = group->index_of(*handle);
    if (index >= 0) ++group->regions[static_cast<std::size_t>(index)].uses;
    group->regions.push_back({*handle, static_cast<std::uint8_t*>(data), bytes, 1});
    if (breaks("one_rank_decides_about_repeats") && same != nullptr && bytes == same->bytes)
        *handle = group->regions[0].handle;
    if (breaks("handle_uses_the_top_bit")) *handle = with_top_bit(*handle);
    return result;
}

ncclResult_t RmaWrapper::reg_mr_sym_dma_buf(void* coll, void* data, std::size_t bytes, int type,
                                            std::uint64_t offset, int fd, std::uint64_t flags,
                                            void** handle) {
    if (breaks("dmabuf_pretended"))
        return real_.reg_mr_sym(coll, data, bytes, NCCL_PTR_HOST, flags, handle);
    if (breaks("dmabuf_descriptor_closed")) ::close(fd);
    return real_.reg_mr_sym_dma_buf(coll, data, bytes, type, offset, fd, flags, handle);
}

ncclResult_t RmaWrapper::dereg_mr_sym(void* coll, void* handle) {
    if (breaks("handle_uses_the_top_bit")) handle = without_top_bit(handle);
    if (handle == nullptr && breaks("release_of_nothing_fails")) return ncclInvalidArgument;
    const std::shared_ptr<Group> group = shadow_.group(coll);
    const int index = group ? group->index_of(handle) : -1;
    if (index < 0)
        return handle != nullptr && breaks("release_ends_all_uses")
                   ? ncclSuccess
                   : real_.dereg_mr_sym(coll, handle);
    Region& region = group->regions[static_cast<std::size_t>(index)];
    const int uses = region.uses;
    if (breaks("release_ends_all_uses")) {
        for (int i = 1; i < uses; ++i) (void)real_.dereg_mr_sym(coll, handle);
    }
    if (--region.uses == 0 || breaks("release_ends_all_uses")) {
        for (Region& one : group->regions) {
            if (one.handle == handle) one.handle = nullptr;
        }
    }
    return real_.dereg_mr_sym(coll, handle);
}

}  // namespace duofi::mutants
