// Registration: rma contract 3.4, M-1 to M-16.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <random>
#include <thread>

#include "common/util/unique_fd.hpp"
#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// regMrSym without judging.
ncclResult_t try_register(const RmaTeam& team, void* data, std::size_t bytes, int type,
                          void** mhandle) {
    *mhandle = mhandle;
    return (*team.rma)->reg_mr_sym(team.coll.get(), data, bytes, type, 0, mhandle);
}

void expect_no_region(const RmaTeam& team, void* data, std::size_t bytes, int type,
                      ncclResult_t code, const char* what) {
    void* mhandle = nullptr;
    const ncclResult_t result = try_register(team, data, bytes, type, &mhandle);
    require(result == code, "{} gave {}, not {}", what, result_name(result), result_name(code));
    require(mhandle == nullptr, "{} left a handle", what);
}

std::size_t bytes_of(int index, int window) {
    return static_cast<std::size_t>(1000 + 700 * index + 50 * window);
}

// M-1, M-2, M-3, P-5: bases and sizes differ per rank; offsets count from the owner's base, and
// ranges end where the owner's region ends.
DUOFI_RMA_CONFORMANCE(regions_differ_per_rank) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    std::vector<std::unique_ptr<RmaMemory>> windows;
    for (int w = 0; w < 3; ++w) {
        windows.push_back(std::make_unique<RmaMemory>(
            team, bytes_of(team.index, w), static_cast<std::size_t>((team.index + w) % 8)));
    }
    RmaMemory out(team, 64);
    RmaMemory back(team, 64);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    for (auto& window : windows) window->buffer.poison();
    rank.barrier();
    const RmaStream on = team.on();
    const auto self = static_cast<std::uint64_t>(team.index);
    for (int to = 0; to < team.count; ++to) {
        for (int w = 0; w < 3; ++w) {
            RmaMemory& window = *windows[static_cast<std::size_t>(w)];
            const std::uint64_t end = bytes_of(to, w);  // of the target's region, not of ours
            const std::uint64_t at = end - 24 * (self + 1);
            rma_wait(on, post_put(on, copy(out, 0, 24, window, at, to)));
            rma_wait(on, post_get(on, copy(back, 0, 24, window, at, to)));
            require(!first_mismatch(back.data(), 24, self), "read back something else");
            expect_refused(
                [&](void** r) { return try_put(on, copy(out, 0, 24, window, end - 23, to), r); },
                "a put past the target's end");
            expect_refused(
                [&](void** r) { return try_get(on, copy(back, 0, 24, window, end - 23, to), r); },
                "a get past the target's end");
        }
    }
    rank.barrier();
    for (int w = 0; w < 3; ++w) {
        const RmaMemory& window = *windows[static_cast<std::size_t>(w)];
        for (std::uint64_t from = 0; from < static_cast<std::uint64_t>(team.count); ++from) {
            const std::size_t at = bytes_of(team.index, w) - 24 * (from + 1);
            require(!first_mismatch(window.buffer.data() + at, 24, from),
                    "what rank {} put into window {} is not there", from, w);
        }
        const std::size_t untouched =
            bytes_of(team.index, w) - 24 * static_cast<std::size_t>(team.count);
        require(std::all_of(window.buffer.data(), window.buffer.data() + untouched,
                            [](std::uint8_t b) { return b == MemoryBuffer::kPoison; }),
                "window {} was written below", w);
        require(window.buffer.guards_intact(), "wrote outside window {}", w);
    }
    rank.barrier();
}

// M-4: a handle fits the 63 bits of a descriptor.
DUOFI_RMA_CONFORMANCE(handles_fit_63_bits) {
    RmaTeam team(rank, rma_of(rank));
    for (int i = 0; i < 20; ++i) {
        RmaMemory window(team, 128);
        require(reinterpret_cast<std::uintptr_t>(window.handle()) >> 63U == 0, "bit 63 is set");
    }
}

// M-5: memory that we cannot serve is refused on all ranks.
DUOFI_RMA_CONFORMANCE(kinds_of_memory) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    std::array<char, 64> data{};
    require(((*team.rma).properties(0).ptrSupport & NCCL_PTR_HOST) != 0, "no host memory");
    for (const int type : {NCCL_PTR_CUDA, 0, 99, -1}) {
        void* mhandle = nullptr;
        const ncclResult_t result = try_register(team, data.data(), 64, type, &mhandle);
        const bool device = type == NCCL_PTR_CUDA;
        require(device ? result == ncclInvalidUsage || result == ncclInternalError
                       : result == ncclInvalidArgument,
                "memory of kind {} gave {}", type, result_name(result));
        require(mhandle == nullptr, "a refused registration left a handle");
        rank.barrier();
    }
    exchange_all(rank, team);
}

// M-6, M-7: DMA-BUF is neither offered nor done, and the descriptor stays the caller's.
DUOFI_RMA_CONFORMANCE(dmabuf_is_refused) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    require(((*team.rma).properties(0).ptrSupport & NCCL_PTR_DMABUF) == 0, "DMA-BUF is offered");
    const UniqueFd file(::memfd_create("duofi-dmabuf", MFD_CLOEXEC));
    require(file && ::ftruncate(file.get(), 65536) == 0, "no memfd");
    void* at = ::mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    require(at != MAP_FAILED, "no mapping");
    for (const int fd : {file.get(), -1}) {
        void* mhandle = &mhandle;
        const ncclResult_t result = (*team.rma)->reg_mr_sym_dma_buf(
            team.coll.get(), at, 65536, NCCL_PTR_CUDA, 0, fd, 0, &mhandle);
        require(result == ncclInvalidUsage, "regMrSymDmaBuf gave {}", result_name(result));
        require(mhandle == nullptr, "regMrSymDmaBuf left a handle");
    }
    require(::fcntl(file.get(), F_GETFD) >= 0, "the descriptor was closed");
    ::munmap(at, 65536);
    exchange_all(rank, team);
}

// M-8, M-9: the regions that callers register, with their flags; signals into each of them.
DUOFI_RMA_CONFORMANCE(signals_into_any_region) {
    RmaTeam team(rank, rma_of(rank));
    const auto ranks = static_cast<std::size_t>(team.count);
    constexpr std::uint64_t kSo = NCCL_NET_MR_FLAG_FORCE_SO;
    constexpr std::uint64_t kNever = NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET;
    const RmaStream on = team.on();
    for (const std::uint64_t flags : {kSo | kNever, kSo, std::uint64_t{0}}) {
        SignalWords words(team, ranks + 1, flags);
        RmaMemory inlines(team, 8 * 256);
        inlines.buffer.fill(flags);
        rank.barrier();
        for (int to = 0; to < team.count; ++to) {
            const auto self = static_cast<std::size_t>(team.index);
            rma_wait(on, post_signal(on, nothing(to), add(words, self, 5)));
            rma_wait(on, post_signal(on, nothing(to), inc(words, ranks)));
        }
        for (std::size_t from = 0; from < ranks; ++from) words.await(on, from, 5);
        words.await(on, ranks, ranks);
        rank.barrier();
        // A word inside of a data region.
        RmaSignal signal{};
        signal.at = 8 * 200;
        signal.region = inlines.handle();
        rma_wait(on, post_signal(on, nothing((team.index + 1) % team.count), signal));
        rank.barrier();
        std::uint64_t word = 0;
        std::uint64_t was = 0;
        std::memcpy(&word, inlines.data() + 8 * 200, 8);
        inlines.buffer.fill(flags);
        std::memcpy(&was, inlines.data() + 8 * 200, 8);
        require(word == was + 1, "a signal into a data region was lost");
        rank.barrier();
    }
}

// M-10: a region that only signals write counts exactly from 0.
DUOFI_RMA_CONFORMANCE(never_reset_regions_count) {
    RmaTeam team(rank, rma_of(rank));
    SignalWords words(team, 1, NCCL_NET_MR_FLAG_FORCE_SO | NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET);
    rank.barrier();
    const int each = amount(rank, 100, 2000);
    std::vector<void*> requests;
    for (int i = 0; i < each; ++i) {
        requests.push_back(post_signal(team.on(), nothing((team.index + i) % team.count),
                                       add(words, 0, static_cast<std::uint64_t>(i))));
    }
    rma_wait_all(team.on(), requests);
    const auto expected = [&] {
        std::uint64_t sum = 0;
        for (int from = 0; from < team.count; ++from) {
            for (int i = 0; i < each; ++i) {
                if ((from + i) % team.count == team.index) sum += static_cast<std::uint64_t>(i);
            }
        }
        return sum;
    }();
    words.await(team.on(), 0, expected);
    rank.barrier();
    require(words.load(0) == expected, "a signal came twice");
}

// M-12: many regions at once, released in any order.
DUOFI_RMA_CONFORMANCE(many_regions) {
    RmaTeam team(rank, rma_of(rank));
    const auto count = static_cast<std::size_t>(amount(rank, 300, 1000));
    std::vector<std::unique_ptr<RmaMemory>> windows;
    for (std::size_t i = 0; i < count; ++i)
        windows.push_back(std::make_unique<RmaMemory>(team, 64 + i % 7, i % 8));
    RmaMemory out(team, 64);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    const int to = (team.index + 1) % team.count;
    const int from = (team.index + team.count - 1) % team.count;
    rank.barrier();
    for (std::size_t i = 0; i < count; i += 7)
        rma_wait(team.on(), post_put(team.on(), copy(out, 0, 64, *windows[i], 0, to)));
    rank.barrier();
    for (std::size_t i = 0; i < count; i += 7) {
        require(!first_mismatch(windows[i]->data(), 64, static_cast<std::uint64_t>(from)),
                "region {} holds something else", i);
    }
    std::shuffle(windows.begin(), windows.end(),
                 std::minstd_rand(static_cast<unsigned>(rank.index)));
    windows.clear();
    exchange_all(rank, team);
}

// M-13, T-2: releases are local and disturb no traffic.
DUOFI_RMA_CONFORMANCE(releases_beside_traffic) {
    RmaTeam team(rank, rma_of(rank));
    std::vector<std::unique_ptr<RmaMemory>> windows;
    for (int i = 0; i < 64; ++i) windows.push_back(std::make_unique<RmaMemory>(team, 5000));
    RmaMemory window(team, 200000);
    SignalWords words(team, 1);
    rank.barrier();
    std::exception_ptr failed;
    std::thread releaser([&] {
        try {
            for (auto& other : windows) other->mr.close();
        } catch (...) {
            failed = std::current_exception();
        }
    });
    std::exception_ptr traffic;
    try {
        const int to = (team.index + 1) % team.count;
        for (int i = 0; i < amount(rank, 60, 2000); ++i)
            rma_wait(team.on(), post_signal(team.on(), copy(window, 0, 3000, window, 100000, to),
                                            inc(words, 0)));
    } catch (...) {
        traffic = std::current_exception();
    }
    releaser.join();
    if (traffic) std::rethrow_exception(traffic);
    if (failed) std::rethrow_exception(failed);
    rank.barrier();
}

// M-14: an empty region is refused on all ranks.
DUOFI_RMA_CONFORMANCE(empty_regions_are_refused) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    std::array<char, 8> data{};
    expect_no_region(team, data.data(), 0, NCCL_PTR_HOST, ncclInvalidArgument, "size 0");
    expect_no_region(team, nullptr, 8, NCCL_PTR_HOST, ncclInvalidArgument, "NULL data");
    exchange_all(rank, team);
}

// M-15: what fails on one rank fails on all of them, and the next registration works.
DUOFI_RMA_CONFORMANCE(one_rank_fails_to_register) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    std::array<char, 4096> data{};
    for (int culprit = 0; culprit < team.count; ++culprit) {
        const bool mine = culprit == team.index;
        void* mhandle = nullptr;
        const ncclResult_t result =
            try_register(team, data.data(), 4096, mine ? NCCL_PTR_CUDA : NCCL_PTR_HOST, &mhandle);
        require(result == ncclInvalidUsage || result == ncclInternalError,
                "a registration that failed on rank {} gave {}", culprit, result_name(result));
        require(mhandle == nullptr, "a failed registration left a handle");
        exchange_all(rank, team);
    }
}

// M-16: the content of memory is the caller's.
DUOFI_RMA_CONFORMANCE(registration_leaves_memory_alone) {
    RmaTeam team(rank, rma_of(rank));
    for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{3}}) {
        MemoryBuffer buffer(100000);
        buffer.fill(42);
        RmaOwned region =
            register_rma(*team.rma, team.coll.get(), buffer.data(), buffer.size(), flags);
        region.close();
        require(!first_mismatch(buffer.data(), buffer.size(), 42), "memory was changed");
        require(buffer.guards_intact(), "memory beside it was changed");
    }
}

}  // namespace
}  // namespace duofi::test
