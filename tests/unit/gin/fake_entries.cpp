// The entries of the fake table.
#include "tests/unit/gin/fake_rma.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace duofi::gin::test {

using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 20s;

struct FakeContext {
    FakeGroup* group = nullptr;
    int contexts = 0;
};

std::byte* place(FakeGroup* group, void* handle, std::uint64_t offset) {
    const auto* region = static_cast<FakeRegion*>(handle);
    if (group == nullptr || region->number >= group->regions.size()) return nullptr;
    return group->regions[region->number]->data + offset;
}

std::string with_number(const char* text, std::uint64_t number) {
    return std::string(text) + " " + std::to_string(number);
}

}  // namespace

/// The entries; they reach the fake through their objects.
struct FakeEntries {
    static ncclResult_t init(void** instance, std::uint64_t, ncclDebugLogger_t) {
        *instance = FakeRma::current_.load()->new_instance();
        return ncclSuccess;
    }
    static ncclResult_t devices(int* count) {
        *count = 2;
        return ncclSuccess;
    }
    static ncclResult_t rma_properties(void* group, ncclRmaProperties_v16_t* properties) {
        properties->flushesAllPutsOnAnySignal = false;
        note(static_cast<FakeGroup*>(group)->owner, "getRmaProperties");
        return ncclSuccess;
    }
    static ncclResult_t properties(int device, ncclNetProperties_v12_t* properties) {
        *properties = {};
        properties->maxRecvs = FakeRma::current_.load()->max_recvs;
        properties->netDeviceType = NCCL_NET_DEVICE_GIN_PROXY;
        note(FakeRma::current_.load(), with_number("getProperties", static_cast<std::uint64_t>(device)));
        return ncclSuccess;
    }
    static ncclResult_t listen(void*, int device, void* handle, void** listener) {
        FakeRma& fake = *FakeRma::current_.load();
        if (fake.faults.listen != ncclSuccess) return fake.faults.listen;
        note(&fake, with_number("listen", static_cast<std::uint64_t>(device)));
        const std::lock_guard lock(fake.mutex_);
        const std::uint64_t id = ++fake.next_id_;
        std::memcpy(handle, &id, sizeof id);
        *listener = fake.instances_.emplace_back(std::make_unique<int>(0)).get();
        return ncclSuccess;
    }
    static ncclResult_t connect(void*, void* handles[], int ranks, int rank, void*, void** out) {
        FakeRma& fake = *FakeRma::current_.load();
        note(&fake, with_number("connect", static_cast<std::uint64_t>(ranks)));
        std::uint64_t id = 0;
        std::memcpy(&id, handles[0], sizeof id);
        std::unique_lock lock(fake.mutex_);
        auto& world = fake.worlds_[id];
        if (!world) world = std::make_shared<FakeRma::World>();
        world->groups.resize(static_cast<std::size_t>(ranks));
        FakeGroup* group = fake.groups_.emplace_back(std::make_unique<FakeGroup>()).get();
        *group = {&fake, &world->groups, rank, {}};
        world->groups[static_cast<std::size_t>(rank)] = group;
        fake.changed_.notify_all();
        const auto complete = [&] {
            return fake.alone || std::ranges::count(world->groups, nullptr) == 0;
        };
        if (!fake.changed_.wait_for(lock, kPatience, complete)) return ncclRemoteError;
        *out = group;
        return ncclSuccess;
    }
    static ncclResult_t create_context(void* group, ncclRmaConfig_v16_t* config, void** context) {
        auto* own = static_cast<FakeGroup*>(group);
        note(own->owner,
             with_number("createContext", static_cast<std::uint64_t>(config->nContexts)));
        *context = new FakeContext{own, config->nContexts};
        return ncclSuccess;
    }
    static ncclResult_t reg_mr_sym(void* group, void* data, std::size_t bytes, int,
                                   std::uint64_t flags, void** handle) {
        auto* own = static_cast<FakeGroup*>(group);
        FakeRma& fake = *own->owner;
        note(&fake, with_number("regMrSym", bytes) + with_number(" flags", flags));
        std::unique_lock lock(fake.mutex_);
        FakeRegion* region = fake.regions_.emplace_back(std::make_unique<FakeRegion>()).get();
        *region = {own, own->regions.size(), static_cast<std::byte*>(data), bytes};
        own->regions.push_back(region);
        fake.changed_.notify_all();
        const auto complete = [&] {
            return fake.alone || std::ranges::all_of(*own->world, [&](FakeGroup* other) {
                       return other != nullptr && other->regions.size() > region->number;
                   });
        };
        if (!fake.changed_.wait_for(lock, kPatience, complete)) return ncclRemoteError;
        *handle = region;
        return ncclSuccess;
    }
    static ncclResult_t reg_dma_buf(void*, void*, std::size_t, int, std::uint64_t, int,
                                    std::uint64_t, void**) {
        return ncclInvalidUsage;
    }
    static ncclResult_t dereg(void* group, void*) {
        note(static_cast<FakeGroup*>(group)->owner, "deregMrSym");
        return ncclSuccess;
    }
    static ncclResult_t destroy_context(void* context) {
        auto* own = static_cast<FakeContext*>(context);
        note(own->group->owner, "destroyContext");
        delete own;
        return ncclSuccess;
    }
    static ncclResult_t close_coll(void* group) {
        note(static_cast<FakeGroup*>(group)->owner, "closeColl");
        return ncclSuccess;
    }
    static ncclResult_t close_listen(void*) {
        note(FakeRma::current_.load(), "closeListen");
        return ncclSuccess;
    }
    static ncclResult_t iput(void* context, int index, std::uint64_t src_offset, void* src,
                             std::size_t bytes, std::uint64_t dst_offset, void* dst,
                             std::uint32_t rank, std::uint32_t flags, void** request) {
        FakeCall call{CallKind::iput, index, src_offset, src, bytes, dst_offset, dst, rank};
        call.flags = flags;
        return data_call(context, call, request);
    }
    static ncclResult_t iput_signal(void* context, int index, std::uint64_t src_offset, void* src,
                                    std::size_t bytes, std::uint64_t dst_offset, void* dst,
                                    std::uint32_t rank, std::uint64_t signal_offset, void* signal,
                                    std::uint64_t value, std::uint32_t op, bool strong,
                                    std::uint32_t flags, void** request) {
        FakeCall call{CallKind::iput_signal, index,  src_offset, src, bytes,  dst_offset, dst, rank,
                      signal_offset,         signal, value,      op,  strong, flags};
        return data_call(context, call, request);
    }
    static ncclResult_t iget(void* context, int index, std::uint64_t remote_offset, void* remote,
                             std::size_t bytes, std::uint64_t local_offset, void* local,
                             std::uint32_t rank, std::uint32_t flags, void** request) {
        FakeCall call{CallKind::iget, index,        remote_offset, remote,
                      bytes,          local_offset, local,         rank};
        call.flags = flags;
        return data_call(context, call, request);
    }
    static ncclResult_t iflush(void* context, int index, void* handle, std::uint32_t rank,
                               void** request) {
        FakeCall call{CallKind::iflush, index, 0, handle, 0, 0, nullptr, rank};
        return data_call(context, call, request);
    }
    static ncclResult_t test(void* group, void* request, int* done) {
        FakeRma& fake = *static_cast<FakeGroup*>(group)->owner;
        const std::lock_guard lock(fake.mutex_);
        fake.tested_.push_back(request);
        if (fake.faults.test != ncclSuccess) return fake.faults.test;
        const auto found = fake.requests_.find(request);
        if (found == fake.requests_.end()) return ncclInternalError;
        *done = !fake.faults.never_done && (!fake.hold || found->second->done) ? 1 : 0;
        if (*done == 1) fake.requests_.erase(found);
        return ncclSuccess;
    }
    static ncclResult_t progress(void* context) {
        FakeRma& fake = *static_cast<FakeContext*>(context)->group->owner;
        const std::lock_guard lock(fake.mutex_);
        ++fake.progress_calls_;
        return fake.faults.progress;
    }
    static ncclResult_t query_last_error(void* context, bool* has_error) {
        *has_error = static_cast<FakeContext*>(context)->group->owner->faults.last_error;
        return ncclSuccess;
    }
    static ncclResult_t finalize(void*) { return ncclSuccess; }

  private:
    static void note(FakeRma* fake, const std::string& text) {
        const std::lock_guard lock(fake->mutex_);
        fake->set_up_.push_back(text);
    }
    static ncclResult_t data_call(void* context, FakeCall& call, void** request) {
        auto* own = static_cast<FakeContext*>(context);
        FakeRma& fake = *own->group->owner;
        *request = nullptr;
        const std::lock_guard lock(fake.mutex_);
        if (fake.faults.data != ncclSuccess) return fake.faults.data;
        if (call.context < 0 || call.context >= own->contexts) return ncclInvalidArgument;
        if (call.rank >= own->group->world->size()) return ncclInvalidArgument;
        apply(*own->group, call);
        const bool without =
            fake.faults.null_requests || (call.kind == CallKind::iflush && fake.null_flush);
        if (!without) {
            auto made = std::make_unique<FakeRma::Request>();
            call.request = made.get();
            fake.requests_[call.request] = std::move(made);
        }
        fake.calls_.push_back(call);
        *request = call.request;
        return ncclSuccess;
    }
    static void apply(FakeGroup& own, FakeCall& call) {
        FakeGroup* target = (*own.world)[call.rank];
        if (call.kind == CallKind::iflush) return;
        if (call.kind == CallKind::iget) {
            if (call.bytes != 0 && target != nullptr)
                std::memmove(place(&own, call.dst, call.dst_offset),
                             place(target, call.src, call.src_offset), call.bytes);
            return;
        }
        if (call.bytes != 0 && call.src != nullptr) {
            const std::byte* from = place(&own, call.src, call.src_offset);
            std::memcpy(&call.first_word, from, std::min<std::size_t>(call.bytes, 8));
            if (std::byte* to = place(target, call.dst, call.dst_offset))
                std::memmove(to, from, call.bytes);
        }
        if (call.kind != CallKind::iput_signal) return;
        auto* word =
            reinterpret_cast<std::uint64_t*>(place(target, call.signal, call.signal_offset));
        if (word != nullptr)
            std::atomic_ref(*word).fetch_add(call.op == NCCL_NET_SIGNAL_OP_INC ? 1 : call.value);
    }
};

namespace {

constexpr ncclRma_v16_t kTable = {
    "Fake",
    FakeEntries::init,
    FakeEntries::devices,
    FakeEntries::rma_properties,
    FakeEntries::properties,
    FakeEntries::listen,
    FakeEntries::connect,
    FakeEntries::create_context,
    FakeEntries::reg_mr_sym,
    FakeEntries::reg_dma_buf,
    FakeEntries::dereg,
    FakeEntries::destroy_context,
    FakeEntries::close_coll,
    FakeEntries::close_listen,
    FakeEntries::iput,
    FakeEntries::iput_signal,
    FakeEntries::iget,
    FakeEntries::iflush,
    FakeEntries::test,
    FakeEntries::progress,
    FakeEntries::query_last_error,
    FakeEntries::finalize,
};

}  // namespace

loader::RmaTable FakeRma::table() const {
    return loader::RmaTable(&kTable);
}

}  // namespace duofi::gin::test
