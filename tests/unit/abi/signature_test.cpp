// Width and place of the parameters that changed from version to version (net contract 2.2 and 2.5,
// rma contract 2.4-2.7). All of it is checked at compile time; the one case at the end keeps count.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "common/abi/net_neuron.h"
#include "common/abi/net_v10.h"
#include "common/abi/net_v11.h"
#include "common/abi/net_v12.h"
#include "common/abi/net_v6.h"
#include "common/abi/net_v7.h"
#include "common/abi/net_v8.h"
#include "common/abi/net_v9.h"
#include "common/abi/rma_v13.h"
#include "common/abi/rma_v14.h"
#include "common/abi/rma_v15.h"
#include "common/abi/rma_v16.h"

namespace {

template <typename Slot>
struct Signature;
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
    static_assert(std::is_same_v<R, ncclResult_t>);
    using Arguments = std::tuple<A...>;
};

/// The slot returns ncclResult_t and takes exactly `A`.
template <typename Slot, typename... A>
inline constexpr bool takes = std::is_same_v<typename Signature<Slot>::Arguments, std::tuple<A...>>;

template <typename Slot, std::size_t Index>
using Argument = std::tuple_element_t<Index, typename Signature<Slot>::Arguments>;

// Net: sizes of registrations and operations.
template <typename T, typename Registered, typename Sent, typename Flushed = int>
constexpr bool sizes() {
    return std::is_same_v<Argument<decltype(T::regMr), 2>, Registered> &&
           std::is_same_v<Argument<decltype(T::regMrDmaBuf), 2>, std::size_t> &&
           std::is_same_v<Argument<decltype(T::isend), 2>, Sent> &&
           std::is_same_v<Argument<decltype(T::irecv), 3>, Sent*> &&
           std::is_same_v<Argument<decltype(T::iflush), 3>, Flushed*> &&
           takes<decltype(T::test), void*, int*, int*>;
}
static_assert(sizes<ncclNet_v6_t, int, int>() && sizes<ncclNet_v7_t, int, int>());
static_assert(sizes<ncclNet_v8_t, std::size_t, int>());
static_assert(sizes<ncclNet_v9_t, std::size_t, std::size_t>());
static_assert(sizes<ncclNet_v10_t, std::size_t, std::size_t>());
static_assert(sizes<ncclNet_v11_t, std::size_t, std::size_t>());
static_assert(sizes<ncclNet_v12_t, std::size_t, std::size_t>());
static_assert(sizes<ncclNet_neuron_v5_t, std::size_t, int>());
static_assert(sizes<ncclNet_neuron_v6_t, std::size_t, int>());

// Net: init, listen, connect, accept.
template <typename T>
constexpr bool opens_without_context() {
    return takes<decltype(T::init), ncclDebugLogger_t> && takes<decltype(T::devices), int*> &&
           takes<decltype(T::listen), int, void*, void**>;
}
static_assert(opens_without_context<ncclNet_v6_t>() && opens_without_context<ncclNet_v7_t>() &&
              opens_without_context<ncclNet_v8_t>() && opens_without_context<ncclNet_v9_t>() &&
              opens_without_context<ncclNet_neuron_v4_t>() &&
              opens_without_context<ncclNet_neuron_v5_t>() &&
              opens_without_context<ncclNet_neuron_v6_t>());
using Handle = ncclNetDeviceHandle_v7_t;
static_assert(takes<decltype(ncclNet_v6_t::connect), int, void*, void**> &&
              takes<decltype(ncclNet_v6_t::accept), void*, void**>);
static_assert(takes<decltype(ncclNet_v7_t::connect), int, void*, void**, Handle**> &&
              takes<decltype(ncclNet_v7_t::accept), void*, void**, Handle**>);
static_assert(takes<decltype(ncclNet_v9_t::connect), int, void*, void**, Handle**>);
static_assert(takes<decltype(ncclNet_v10_t::init), ncclDebugLogger_t, ncclProfilerCallback_t> &&
              takes<decltype(ncclNet_v10_t::listen), int, void*, void**> &&
              takes<decltype(ncclNet_v10_t::connect), int, ncclNetCommConfig_v10_t*, void*, void**,
                    Handle**>);

template <typename T>
constexpr bool opens_with_context() {
    return takes<decltype(T::init), void**, std::uint64_t, ncclNetCommConfig_v10_t*,
                 ncclDebugLogger_t, ncclProfilerCallback_t> &&
           takes<decltype(T::listen), void*, int, void*, void**> &&
           takes<decltype(T::connect), void*, int, void*, void**, Handle**> &&
           takes<decltype(T::accept), void*, void**, Handle**> &&
           takes<decltype(T::finalize), void*> &&
           takes<decltype(T::setNetAttr), void*, ncclNetAttr_v11_t*>;
}
static_assert(opens_with_context<ncclNet_v11_t>() && opens_with_context<ncclNet_v12_t>());

// Net: the profiler handles of v10 and the properties of each version.
static_assert(takes<decltype(ncclNet_v9_t::isend), void*, void*, std::size_t, int, void*, void**>);
static_assert(
    takes<decltype(ncclNet_v10_t::isend), void*, void*, std::size_t, int, void*, void*, void**>);
static_assert(takes<decltype(ncclNet_v10_t::irecv), void*, int, void**, std::size_t*, int*, void**,
                    void**, void**>);
static_assert(takes<decltype(ncclNet_v9_t::makeVDevice), int*, ncclNetVDeviceProps_v9_t*> &&
              takes<decltype(ncclNet_v11_t::makeVDevice), int*, ncclNetVDeviceProps_v9_t*> &&
              takes<decltype(ncclNet_v12_t::makeVDevice), int*, ncclNetVDeviceProps_v12_t*>);
static_assert(takes<decltype(ncclNet_v6_t::getProperties), int, ncclNetProperties_v6_t*> &&
              takes<decltype(ncclNet_v7_t::getProperties), int, ncclNetProperties_v7_t*> &&
              takes<decltype(ncclNet_v8_t::getProperties), int, ncclNetProperties_v8_t*> &&
              takes<decltype(ncclNet_v10_t::getProperties), int, ncclNetProperties_v9_t*> &&
              takes<decltype(ncclNet_v11_t::getProperties), int, ncclNetProperties_v11_t*> &&
              takes<decltype(ncclNet_v12_t::getProperties), int, ncclNetProperties_v12_t*>);

// Neuron: no tags and no groups in v4, one-sided calls from v5 on.
static_assert(takes<decltype(ncclNet_neuron_v4_t::regMr), void*, void*, std::size_t, int, void**> &&
              takes<decltype(ncclNet_neuron_v4_t::isend), void*, void*, int, void*, void**> &&
              takes<decltype(ncclNet_neuron_v4_t::irecv), void*, void*, int, void*, void**> &&
              takes<decltype(ncclNet_neuron_v4_t::iflush), void*, void*, int, void*, void**>);
using Word = std::uint64_t;
template <typename T>
constexpr bool one_sided() {
    return takes<decltype(T::getMrKey), void*, Word*> &&
           takes<decltype(T::iwrite), void*, void*, std::size_t, void*, Word, Word, void**> &&
           takes<decltype(T::iwriteInline), void*, void*, std::size_t, Word, Word, void**> &&
           takes<decltype(T::iread), void*, void*, std::size_t, void*, Word, Word, void**>;
}
static_assert(one_sided<ncclNet_neuron_v5_t>() && one_sided<ncclNet_neuron_v6_t>());
static_assert(takes<decltype(ncclNet_neuron_v6_t::fini)>);

// RMA: put, put with signal and get of each version.
template <typename T, typename... Tail>
constexpr bool moves() {
    return takes<decltype(T::iput), void*, int, Word, void*, std::size_t, Word, void*,
                 std::uint32_t, Tail..., void**> &&
           takes<decltype(T::iget), void*, int, Word, void*, std::size_t, Word, void*,
                 std::uint32_t, Tail..., void**> &&
           takes<decltype(T::iflush), void*, int, void*, std::uint32_t, void**> &&
           takes<decltype(T::test), void*, void*, int*>;
}
template <typename T, typename... Tail>
inline constexpr bool signals =
    takes<decltype(T::iputSignal), void*, int, Word, void*, std::size_t, Word, void*, std::uint32_t,
          Word, void*, Word, std::uint32_t, Tail..., void**>;
using Flags = std::uint32_t;
static_assert(moves<ncclRma_v13_t>() && signals<ncclRma_v13_t>);
static_assert(moves<ncclRma_v14_t>() && signals<ncclRma_v14_t, bool>);
static_assert(moves<ncclRma_v15_t, Flags>() && signals<ncclRma_v15_t, bool, Flags>);
static_assert(moves<ncclRma_v16_t, Flags>() && signals<ncclRma_v16_t, bool, Flags>);
static_assert(
    takes<decltype(ncclRma_v13_t::createContext), void*, ncclGinConfig_v13_t*, void**, Handle**> &&
    takes<decltype(ncclRma_v14_t::createContext), void*, ncclRmaConfig_v14_t*, void**> &&
    takes<decltype(ncclRma_v16_t::createContext), void*, ncclRmaConfig_v14_t*, void**>);
static_assert(
    takes<decltype(ncclRma_v13_t::regMrSym), void*, void*, std::size_t, int, Word, void**,
          void**> &&
    takes<decltype(ncclRma_v14_t::regMrSym), void*, void*, std::size_t, int, Word, void**> &&
    takes<decltype(ncclRma_v13_t::regMrSymDmaBuf), void*, void*, std::size_t, int, Word, int, Word,
          void**, void**> &&
    takes<decltype(ncclRma_v16_t::regMrSymDmaBuf), void*, void*, std::size_t, int, Word, int, Word,
          void**>);
static_assert(takes<decltype(ncclRma_v16_t::getRmaProperties), void*, ncclRmaProperties_v16_t*> &&
              takes<decltype(ncclRma_v16_t::connect), void*, void**, int, int, void*, void**> &&
              takes<decltype(ncclRma_v16_t::queryLastError), void*, bool*>);

TEST(Signatures, constants_that_a_caller_compares) {
    // Net contract 2.1, rma contract 2.1.
    EXPECT_EQ(ncclSuccess, 0);
    EXPECT_EQ(ncclRemoteError, 6);
    EXPECT_EQ(ncclInProgress, 7);
    EXPECT_EQ(ncclTimeout, 8);
    EXPECT_EQ(NCCL_NET_HANDLE_MAXSIZE, 128);
    EXPECT_EQ(NCCL_NET_HANDLE_MAXSIZE_V4, 64);
    EXPECT_EQ(NCCL_PTR_HOST | NCCL_PTR_CUDA | NCCL_PTR_DMABUF, 7);
    EXPECT_EQ(NCCL_PTR_NEURON, 4);
    EXPECT_EQ(NCCL_MAX_NET_SIZE_BYTES, 1L << 40);
    EXPECT_EQ(NCCL_MAX_NET_SIZE, 1L << 30);
    EXPECT_EQ(NCCL_MAX_COLLNET_SIZE, 1L << 29);
    EXPECT_EQ(static_cast<unsigned long>(NCCL_ALL), ~0UL);
}

}  // namespace
