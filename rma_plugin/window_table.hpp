// Windows of one group: the collective registration and what arrives for it. Registrations of a group happen one after
// the other; everything that messages touch is guarded by the endpoint's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/ofi/message.hpp"
#include "common/util/mutex.hpp"
#include "rma_plugin/window.hpp"

namespace duofi::rma {

class WindowTable {
  public:
    explicit WindowTable(Group& group) : group_(group) {}
    ~WindowTable();
    WindowTable(const WindowTable&) = delete;
    WindowTable& operator=(const WindowTable&) = delete;

    /// regMrSym: registers, exchanges with all ranks, returns the caller's pointer. Blocks at most
    /// DUOFI_CONNECT_TIMEOUT. If one rank fails, all fail, and the next registration works (M-15). `size` 0 makes an
    /// empty window (M-14). Errors, logged: own ones; what another rank reported; remote; timed_out.
    [[nodiscard]] Result<ObjectHandle*> add(void* data, std::size_t size, int type, std::uint64_t flags);
    /// deregMrSym: no barrier, the memory is the caller's again on return (M-13). Ranks that answer are asked to stay
    /// away first, so that what they have on its way does not meet a closed region; the others are not waited for
    /// longer than a moment.
    void remove(Window& window);
    /// The same for all that are left.
    void clear();

    // --- lock of the endpoint held ---
    void on_part(std::uint32_t rank, const ofi::Message& message) noexcept;
    void on_close(std::uint32_t rank, std::uint32_t id) noexcept;
    void on_closed(std::uint32_t rank, std::uint32_t id) noexcept;
    /// nullptr: deregistered, or never registered here.
    [[nodiscard]] Window* find(std::uint32_t id) noexcept;

  private:
    /// A registration that not all ranks have told about.
    struct Exchange {
        std::vector<WindowPart> parts;
        std::vector<bool> told;
        std::uint32_t missing = 0;
    };
    [[nodiscard]] Exchange& exchange(std::uint32_t id);
    [[nodiscard]] WindowPart register_own(Window& window, void* data, std::size_t size, int type);
    [[nodiscard]] Window* claim_covering(const WindowPart& part, const void* data) noexcept;
    void tell_others(std::uint32_t id, const WindowPart& part) noexcept;
    [[nodiscard]] Status gather(std::uint32_t id, WindowPart own, std::vector<WindowPart>& parts);
    [[nodiscard]] Status judge(const std::vector<WindowPart>& parts) const;
    [[nodiscard]] static bool all_share(const std::vector<WindowPart>& parts) noexcept;
    void forget(std::uint32_t id);
    void ask_others(Window& window) noexcept;
    void await_others();
    [[nodiscard]] bool someone_asked() noexcept;
    [[nodiscard]] bool silent_rank_gone(std::uint32_t id);

    Group& group_;
    Mutex registering_;       ///< one registration at a time; held while it waits for the others
    std::uint32_t next_id_ = 1;  ///< guarded by registering_
    std::uint32_t over_ = 0;     ///< registrations up to this id are over: no word about them counts any more
    std::map<std::uint32_t, Exchange> exchanges_;
    std::map<std::uint32_t, std::unique_ptr<Window>> windows_;
};

}  // namespace duofi::rma
