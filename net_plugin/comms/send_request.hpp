// One send: done as soon as it is copied (eager), or when its large transfer has left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "net_plugin/request.hpp"
#include "net_plugin/comms/data_operation.hpp"
#include "net_plugin/comms/held_memory.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {

class FabricSendComm;

struct SendRequest : Request {
    SendRequest* next_free = nullptr;
    SendRequest* next = nullptr;  ///< in one list of the comm
    FabricSendComm* comm = nullptr;
    const void* data = nullptr;
    std::size_t size = 0;
    void* descriptor = nullptr;
    int tag = 0;
    std::uint32_t index = 0;      ///< in the tag's order
    Announcement announcement;    ///< once it has come
    Nanoseconds ask_at = 0;       ///< when an announcement is asked for (again)
    std::uint8_t parts = 0;       ///< operations that it takes; known once it is ready
    std::uint8_t parts_posted = 0;
    std::uint8_t at_provider = 0;
    std::uint8_t first_rail = 0;
    std::size_t part_bytes = 0;   ///< of each but the last
    std::array<DataOperation, ofi::kMaxRails> ops;
    HeldMemory held;

    [[nodiscard]] TransferFacts facts() const noexcept { return {"isend", size, tag}; }
};

/// Singly linked FIFO of requests.
class SendQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] SendRequest* head() const noexcept { return head_; }
    void push(SendRequest* request) noexcept {
        request->next = nullptr;
        (tail_ != nullptr ? tail_->next : head_) = request;
        tail_ = request;
    }
    SendRequest* pop() noexcept {
        SendRequest* request = head_;
        head_ = request->next;
        if (head_ == nullptr) tail_ = nullptr;
        return request;
    }
    template <typename F>
    void for_each(F&& f) {
        for (SendRequest* r = head_; r != nullptr; r = r->next) f(*r);
    }
    /// Takes out the first request with this tag and index, or nullptr.
    SendRequest* take(int tag, std::uint32_t index) noexcept {
        SendRequest* before = nullptr;
        for (SendRequest* r = head_; r != nullptr; before = r, r = r->next) {
            if (r->tag != tag || r->index != index) continue;
            (before != nullptr ? before->next : head_) = r->next;
            if (tail_ == r) tail_ = before;
            return r;
        }
        return nullptr;
    }

  private:
    SendRequest* head_ = nullptr;
    SendRequest* tail_ = nullptr;
};

}  // namespace duofi::net
