// Data calls and test of the RMA wrapper.
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tests/mutants/active.hpp"
#include "tests/mutants/rma_wrapper.hpp"

namespace duofi::mutants {
namespace {

constexpr useconds_t kTooLong = 500'000;  // for a call that must not wait

bool holds_puts_back(int version) {
    return breaks("signals_overtake_earlier_puts") ||
           (version == 13 && breaks("v13_signals_are_weak"));
}

}  // namespace

void* RmaWrapper::coll_of(void* ctx) {
    const std::scoped_lock lock(shadow_.guard);
    const auto found = shadow_.contexts.find(ctx);
    return found == shadow_.contexts.end() ? nullptr : found->second.coll;
}

void* RmaWrapper::finished_token() {
    return shadow_.new_token([](int* done) {
        *done = 1;
        return ncclSuccess;
    });
}

void* RmaWrapper::put_off(void* coll, std::function<ncclResult_t(void**)> post) {
    auto request = std::make_shared<void*>(nullptr);
    return shadow_.new_token([this, coll, request, post = std::move(post)](int* done) {
        *done = 0;
        if (*request == nullptr) {
            const ncclResult_t result = post(request.get());
            if (result != ncclSuccess) return result;
        }
        return real_.test(coll, *request, done);
    });
}

void* RmaWrapper::both_of(void* coll, void* first, void* second) {
    auto left = std::make_shared<std::vector<void*>>(std::vector<void*>{first, second});
    return shadow_.new_token([this, coll, left](int* done) {
        *done = 0;
        while (!left->empty()) {
            int one = 0;
            const ncclResult_t result = test(coll, left->back(), &one);
            if (result != ncclSuccess || one == 0) return result;
            left->pop_back();
        }
        *done = 1;
        return ncclSuccess;
    });
}

void* RmaWrapper::too_early(void* ctx, std::function<ncclResult_t(void**)> post) {
    shadow_.do_later(ctx, [post = std::move(post)] {
        void* request = nullptr;
        (void)post(&request);
    });
    return finished_token();
}

bool RmaWrapper::refuses(void* ctx, const RmaPut& put) {
    const std::scoped_lock lock(shadow_.guard);
    if (breaks("empty_put_refused") && put.bytes == 0) return true;
    if (breaks("unknown_hints_refused") && put.flags > 1) return true;
    if (breaks("own_rank_refused")) {
        const auto context = shadow_.contexts.find(ctx);
        return context != shadow_.contexts.end() &&
               static_cast<int>(put.rank) == shadow_.groups[context->second.coll]->rank;
    }
    if (breaks("busy_is_an_error")) {
        std::size_t mine = 0;
        for (const auto& [request, operation] : shadow_.unfinished) mine += operation.ctx == ctx;
        return mine >= 128;
    }
    return false;
}

// Changes of the arguments that a wrong plugin would make.
void RmaWrapper::bend(void* ctx, RmaPut& put) {
    const std::shared_ptr<Group> group = shadow_.group_of_context(ctx);
    if (!group) return;
    if (breaks("context_number_unchecked")) {
        const std::scoped_lock lock(shadow_.guard);
        put.context = static_cast<int>(static_cast<unsigned>(put.context) %
                                       static_cast<unsigned>(shadow_.contexts[ctx].contexts));
    }
    if (breaks("rank_unchecked")) put.rank %= static_cast<std::uint32_t>(group->count);
    if (put.bytes != 0) bend_target(*group, put);
}

void RmaWrapper::bend_target(const Group& group, RmaPut& put) {
    const int index = group.index_of(put.dst);
    if (index < 0) return;
    const auto& regions = group.regions;
    const auto at = static_cast<std::size_t>(index);
    if (breaks("neighbour_region_used") && at + 1 < regions.size() &&
        regions[at + 1].handle != nullptr)
        put.dst = regions[at + 1].handle;
    if (breaks("offsets_count_from_the_own_base")) {
        const std::uint8_t* theirs =
            memory_of_peer(group, put.dst, static_cast<int>(put.rank), 0, 0);
        put.dst_offset += reinterpret_cast<std::uintptr_t>(regions[at].data) % 64 -
                          reinterpret_cast<std::uintptr_t>(theirs) % 64;
    }
    if (breaks("range_checked_with_own_size") && put.dst_offset + put.bytes > regions[at].bytes)
        put.rank = ~0U;  // refused
    if (breaks("target_range_cut")) {
        const std::size_t room = size_at_peer(group, put.dst, static_cast<int>(put.rank));
        if (put.dst_offset < room && put.bytes > room - put.dst_offset)
            put.bytes = room - put.dst_offset;
    }
}

void RmaWrapper::bend_signal(void* ctx, const RmaPut& put, RmaSignal& signal) {
    const bool increment = signal.op == NCCL_NET_SIGNAL_OP_INC;
    if (breaks("increment_adds_its_value") && increment) signal.op = NCCL_NET_SIGNAL_OP_ADD;
    if (breaks("add_counts_one") && !increment) signal.value = 1;
    if (breaks("unknown_operation_accepted") && !increment && signal.op != NCCL_NET_SIGNAL_OP_ADD)
        signal.op = NCCL_NET_SIGNAL_OP_INC;
    if (breaks("misaligned_signal_accepted")) signal.offset &= ~std::uint64_t{7};
    if (breaks("signal_hits_the_next_word")) signal.offset += 8;
    if (!breaks("add_stores") || increment) return;
    const std::shared_ptr<Group> group = shadow_.group_of_context(ctx);
    std::uint8_t* word =
        group ? memory_of_peer(*group, signal.handle, static_cast<int>(put.rank), signal.offset, 8)
              : nullptr;
    if (word == nullptr) return;
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(word)).store(0);
}

ncclResult_t RmaWrapper::after_call(void* ctx, const RmaPut& put, ncclResult_t result,
                                    void* garbage, void** request) {
    if (request == nullptr) return result;
    if (result == ncclInvalidArgument && breaks("bad_range_is_success")) {
        *request = finished_token();
        return ncclSuccess;
    }
    if (result != ncclSuccess) {
        if (breaks("refused_call_leaves_a_request")) *request = ctx;
        return result;
    }
    {
        const std::scoped_lock lock(shadow_.guard);
        if (breaks("request_given_twice") && !shadow_.unfinished.empty()) {
            *request = shadow_.unfinished.begin()->first;
        } else {
            shadow_.unfinished[*request] = {ctx, put};
        }
    }
    if (breaks("success_without_request")) *request = nullptr;
    if (breaks("request_word_unwritten")) *request = garbage;
    return result;
}

ncclResult_t RmaWrapper::post_put(void* ctx, const RmaPut& put, void** request) {
    return real_.iput(ctx, put, request);
}

ncclResult_t RmaWrapper::post_signal(void* ctx, const RmaPut& put, const RmaSignal& signal,
                                     void** request) {
    return real_.iput_signal(ctx, put, signal, request);
}

ncclResult_t RmaWrapper::iput(void* ctx, RmaPut put, void** request) {
    shadow_.run_later(ctx);
    if (request == nullptr || refuses(ctx, put)) {
        if (request != nullptr) *request = nullptr;
        return request == nullptr ? post_put(ctx, put, request) : ncclInvalidArgument;
    }
    void* const garbage = *request;
    bend(ctx, put);
    const auto post = [this, ctx, put](void** r) { return post_put(ctx, put, r); };
    void* const coll = coll_of(ctx);
    if (coll != nullptr && put.bytes != 0) {
        if (holds_puts_back(version_) && put.flags == 0) {
            *request = put_off(coll, post);
            return ncclSuccess;
        }
        if (breaks("done_before_applied")) {
            *request = too_early(ctx, post);
            return ncclSuccess;
        }
        if (breaks("hinted_operations_wait_for_ever") && (put.flags & 1U) != 0) {
            shadow_.do_later(ctx, [] {});
            *request = shadow_.new_token([](int* done) {
                *done = 0;
                return ncclSuccess;
            });
            return ncclSuccess;
        }
    }
    if (breaks("put_waits")) ::usleep(kTooLong);
    return after_call(ctx, put, post(request), garbage, request);
}

// The orders that a signal must not have.
ncclResult_t RmaWrapper::signal_out_of_order(void* ctx, const RmaPut& put, const RmaSignal& signal,
                                             void** request, bool& handled) {
    void* const coll = coll_of(ctx);
    RmaPut none;
    none.context = put.context;
    none.rank = put.rank;
    handled = coll != nullptr;
    if (!handled) return ncclSuccess;
    const auto data = [this, ctx, put](void** r) { return post_put(ctx, put, r); };
    const auto alone = [this, ctx, none, signal](void** r) {
        return post_signal(ctx, none, signal, r);
    };
    const auto whole = [this, ctx, put, signal](void** r) {
        return post_signal(ctx, put, signal, r);
    };
    if (put.bytes != 0 && ((breaks("signal_before_data") && signal.strong) ||
                           (breaks("weak_signal_before_its_data") && !signal.strong))) {
        void* second = nullptr;
        const ncclResult_t result = alone(&second);
        if (result == ncclSuccess) *request = both_of(coll, second, put_off(coll, data));
        return result;
    }
    if (breaks("signals_overtake_earlier_signals") && !signal.strong) {
        *request = put_off(coll, whole);
        return ncclSuccess;
    }
    if (breaks("request_covers_the_put_only") && put.bytes != 0) {
        shadow_.do_later(ctx, [alone] {
            void* late = nullptr;
            (void)alone(&late);
        });
        return data(request);
    }
    if (breaks("done_before_applied")) {
        *request = too_early(ctx, whole);
        return ncclSuccess;
    }
    if (breaks("empty_signal_dropped") && put.bytes == 0) {
        *request = finished_token();
        return ncclSuccess;
    }
    handled = false;
    return ncclSuccess;
}

ncclResult_t RmaWrapper::iput_signal(void* ctx, RmaPut put, RmaSignal signal, void** request) {
    shadow_.run_later(ctx);
    if (request == nullptr) return post_signal(ctx, put, signal, request);
    void* const garbage = *request;
    *request = nullptr;
    if (refuses(ctx, put)) return ncclInvalidArgument;
    if (breaks("empty_signal_needs_handles") && put.bytes == 0 && put.src == nullptr)
        return ncclInvalidArgument;
    bend(ctx, put);
    bend_signal(ctx, put, signal);
    bool handled = false;
    const ncclResult_t early = signal_out_of_order(ctx, put, signal, request, handled);
    if (handled) return early;
    const std::shared_ptr<Group> group = shadow_.group_of_context(ctx);
    if (breaks("self_put_copies_forward") && group && static_cast<int>(put.rank) == group->rank &&
        put.bytes != 0) {
        std::uint8_t* to = memory_of_peer(*group, put.dst, group->rank, put.dst_offset, put.bytes);
        const std::uint8_t* from =
            memory_of_peer(*group, put.src, group->rank, put.src_offset, put.bytes);
        if (to != nullptr && from != nullptr) {
            for (std::size_t i = 0; i < put.bytes; ++i) to[i] = from[i];
            put.bytes = 0;
        }
    }
    const ncclResult_t result = post_signal(ctx, put, signal, request);
    if (result == ncclInvalidArgument && breaks("payload_goes_without_its_signal")) {
        void* half = nullptr;
        (void)post_put(ctx, put, &half);
    }
    if (result == ncclSuccess && breaks("signal_applied_twice")) {
        void* again = nullptr;
        RmaPut none;
        none.rank = put.rank;
        none.context = put.context;
        (void)post_signal(ctx, none, signal, &again);
    }
    return after_call(ctx, put, result, garbage, request);
}

ncclResult_t RmaWrapper::iget(void* ctx, RmaGet get, void** request) {
    shadow_.run_later(ctx);
    if (request == nullptr) return real_.iget(ctx, get, request);
    void* const garbage = *request;
    if (breaks("empty_get_refused") && get.bytes == 0) {
        *request = nullptr;
        return ncclInvalidArgument;
    }
    RmaPut same{get.context,       get.local_offset, get.local, get.bytes,
                get.remote_offset, get.remote,       get.rank,  get.flags};
    bend(ctx, same);
    get.context = same.context;
    get.remote_offset = same.dst_offset;
    get.remote = same.dst;
    get.rank = same.rank;
    get.bytes = same.bytes;
    const std::shared_ptr<Group> group = shadow_.group_of_context(ctx);
    if (breaks("get_reads_the_own_memory") && group)
        get.rank = static_cast<std::uint32_t>(group->rank);
    if (breaks("get_done_before_data") && get.bytes != 0 && group) {
        *request = too_early(ctx, [this, ctx, get](void** r) { return real_.iget(ctx, get, r); });
        return ncclSuccess;
    }
    RmaPut nothing;
    return after_call(ctx, nothing, real_.iget(ctx, get, request), garbage, request);
}

ncclResult_t RmaWrapper::iflush(void* ctx, int context, void* handle, std::uint32_t rank,
                                void** request) {
    RmaPut place;
    place.context = context;
    bend(ctx, place);
    const ncclResult_t result = real_.iflush(ctx, place.context, handle, rank, request);
    if (result != ncclSuccess || request == nullptr) return result;
    if (breaks("flush_without_request")) *request = nullptr;
    if (breaks("flush_takes_several_tests")) {
        auto tests = std::make_shared<int>(0);
        *request = shadow_.new_token([tests](int* done) {
            *done = ++*tests > 3 ? 1 : 0;
            return ncclSuccess;
        });
    }
    return result;
}

ncclResult_t RmaWrapper::test(void* coll, void* request, int* done) {
    if (request == nullptr && breaks("test_of_nothing_fails")) return ncclInternalError;
    if (Token* token = shadow_.find_token(request); token != nullptr) {
        int finished = 0;
        const ncclResult_t result = token->step(&finished);
        if (result != ncclSuccess || finished != 0) shadow_.end_token(token);
        *done = finished;
        return result;
    }
    return test_real(coll, request, done);
}

ncclResult_t RmaWrapper::test_real(void* coll, void* request, int* done) {
    if (breaks("tests_must_come_in_order")) {
        static thread_local void* last = nullptr;
        const bool other = last != nullptr && last != request;
        int finished = 0;
        const ncclResult_t result =
            other ? ncclInternalError : real_.test(coll, request, &finished);
        last = finished != 0 ? nullptr : request;
        *done = finished;
        return result;
    }
    const int before = done == nullptr ? 0 : *done;
    const ncclResult_t result = real_.test(coll, request, done);
    if (result == ncclRemoteError && breaks("remote_error_hidden")) {
        *done = 1;
        return ncclSuccess;
    }
    if (done == nullptr) return result;
    if (result == ncclSuccess && *done == 0) {
        if (breaks("done_stays_unwritten")) *done = before;
        if (breaks("test_waits")) ::usleep(kTooLong);
        return result;
    }
    const std::scoped_lock lock(shadow_.guard);
    shadow_.unfinished.erase(request);
    return result;
}

ncclResult_t RmaWrapper::progress(void* ctx) {
    shadow_.run_later(ctx);
    if (const std::shared_ptr<Group> group = shadow_.group_of_context(ctx); group && group->ghost)
        group->ghost();
    const ncclResult_t result = real_.progress(ctx);
    return result == ncclSuccess && breaks("idle_progress_is_an_error") ? ncclInProgress : result;
}

ncclResult_t RmaWrapper::query_last_error(void* ctx, bool* failed) {
    const ncclResult_t result = real_.query_last_error(ctx, failed);
    if (result == ncclSuccess && breaks("last_error_forgotten")) *failed = false;
    if (result == ncclSuccess && breaks("last_error_invented")) *failed = true;
    return result;
}

}  // namespace duofi::mutants
