// Every pointer that callers hold: the memory behind it stays readable until the library is unloaded, so that use
// after its end is told instead of a crash. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/util/handle_slab.hpp"
#include "rma_plugin/request_pool.hpp"

namespace duofi::rma {

class Instance;
class ListenComm;
class Group;
class Context;
class Window;

enum class ObjectKind : std::uint32_t { none = 0, instance, listen, group, context, window };

/// What a caller's pointer points to.
struct ObjectHandle {
    static constexpr std::uint64_t kMagic = 0x64756f66696f626a;  // "duofiobj"
    std::uint64_t magic = kMagic;
    std::atomic<ObjectKind> kind{ObjectKind::none};
    std::atomic<void*> object{nullptr};  ///< null once ended
    std::atomic<bool> failed{false};     ///< of a context: an operation has failed; asked from any thread
};

template <typename T>
inline constexpr ObjectKind kKindOf = ObjectKind::none;
template <>
inline constexpr ObjectKind kKindOf<Instance> = ObjectKind::instance;
template <>
inline constexpr ObjectKind kKindOf<ListenComm> = ObjectKind::listen;
template <>
inline constexpr ObjectKind kKindOf<Group> = ObjectKind::group;
template <>
inline constexpr ObjectKind kKindOf<Context> = ObjectKind::context;
template <>
inline constexpr ObjectKind kKindOf<Window> = ObjectKind::window;

struct CallerObjects {
    HandleSlab<ObjectHandle> handles;
    RequestSlab requests;
};

/// Made at first use. Freed by drop_caller_objects, which unloading calls when nothing is open.
[[nodiscard]] CallerObjects& caller_objects();
void drop_caller_objects() noexcept;
/// Objects that callers hold.
[[nodiscard]] std::size_t open_objects() noexcept;

[[nodiscard]] ObjectHandle* open_object(ObjectKind kind, void* object);
/// The caller's pointer leads nowhere from now on.
void end_object(ObjectHandle& handle) noexcept;

/// A new pointer for the caller. Throws std::bad_alloc.
template <typename T>
[[nodiscard]] ObjectHandle* open_object(T& object) {
    return open_object(kKindOf<T>, &object);
}

/// nullptr: not a pointer to a T of ours, or ended. Not logged.
template <typename T>
[[nodiscard]] T* find_object(void* pointer) noexcept {
    const auto* handle = static_cast<const ObjectHandle*>(pointer);
    if (handle == nullptr || reinterpret_cast<std::uintptr_t>(handle) % alignof(ObjectHandle) != 0 ||
        handle->magic != ObjectHandle::kMagic ||
        handle->kind.load(std::memory_order_acquire) != kKindOf<T>) [[unlikely]]
        return nullptr;
    return static_cast<T*>(handle->object.load(std::memory_order_relaxed));
}

}  // namespace duofi::rma
