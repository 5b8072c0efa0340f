#include "rma_plugin/window_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "common/util/scope_exit.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/signal/apply.hpp"

namespace duofi::rma {

namespace {

constexpr Nanoseconds kAnswerLimit = 300 * kMillisecond;

}  // namespace

WindowTable::~WindowTable() = default;

Window* WindowTable::find(std::uint32_t id) noexcept {
    const auto found = windows_.find(id);
    return found == windows_.end() ? nullptr : found->second.get();
}

WindowTable::Exchange& WindowTable::exchange(std::uint32_t id) {
    Exchange& exchange = exchanges_[id];
    if (exchange.parts.empty()) {
        exchange.parts.resize(group_.size());
        exchange.told.resize(group_.size());
        exchange.missing = group_.size();
    }
    return exchange;
}

// A second word about the same registration replaces the first: the rank has changed its mind, it gave up.
void WindowTable::on_part(std::uint32_t rank, const ofi::Message& message) noexcept {
    WindowPart part;
    if (message.payload.size() != sizeof(part)) return group_.violation(rank, "registration of a wrong length");
    std::memcpy(&part, message.payload.data(), sizeof(part));
    if (message.header.word <= over_) return;
    Exchange& known = exchange(message.header.word);
    known.parts[rank] = part;
    if (known.told[rank]) return;
    known.told[rank] = true;
    --known.missing;
}

void WindowTable::tell_others(std::uint32_t id, const WindowPart& part) noexcept {
    group_.for_each_lane([&](Lane& lane) {
        if (!lane.gone()) lane.send(ofi::MessageKind::rma_window, id, 0, std::as_bytes(std::span(&part, 1)));
    });
}

WindowPart WindowTable::register_own(Window& window, void* data, std::size_t size, int type) {
    WindowPart part;
    part.type = type;
    part.length = size;
    part.misalignment = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data) % sizeof(std::uint64_t));
    const auto refuse = [&](Errc code) {
        part.status = static_cast<std::int32_t>(code);
        return part;
    };
    if (type != NCCL_PTR_HOST) {
        log::warn(log::net | log::reg, messages::kRmaMemoryType, type);
        return refuse(type == NCCL_PTR_CUDA ? Errc::invalid_usage : Errc::invalid_argument);
    }
    if (size == 0 || data == nullptr || reinterpret_cast<std::uintptr_t>(data) + size < size) {
        log::warn(log::net | log::reg, messages::kRmaBadRange, data, size);
        return refuse(Errc::invalid_argument);
    }
    ofi::Endpoint& endpoint = group_.endpoint();
    auto registered = endpoint.domain().register_memory(data, size, endpoint.fid());
    if (!registered) return refuse(registered.error().code);
    window.registration_ = std::move(*registered);
    window.data_ = static_cast<std::byte*>(data);
    window.length_ = size;
    const ofi::MemoryRegion& region = *window.registration_.region;
    window.descriptor_ = region.descriptor();
    part.key = region.key();
    part.address = reinterpret_cast<std::uintptr_t>(data) -
                   (endpoint.domain().addresses_are_virtual() ? 0 : region.address);
    return part;
}

// The window that a caller who registers the same bytes once more could share (M-11). The reference keeps it until the
// other ranks have spoken.
Window* WindowTable::claim_covering(const WindowPart& part, const void* data) noexcept {
    if (part.status != 0) return nullptr;
    for (const auto& [id, window] : windows_) {
        const WindowPart& known = window->parts_[group_.rank()];
        if (window->handle_ == nullptr || window->data_ != data || known.length < part.length ||
            known.type != part.type || known.flags != part.flags)
            continue;
        ++window->references_;
        return window.get();
    }
    return nullptr;
}

bool WindowTable::all_share(const std::vector<WindowPart>& parts) noexcept {
    const std::uint32_t id = parts.front().covered_by;
    return id != 0 && std::all_of(parts.begin(), parts.end(),
                                  [&](const WindowPart& part) { return part.covered_by == id; });
}

Status WindowTable::gather(std::uint32_t id, WindowPart own, std::vector<WindowPart>& parts) {
    const double limit = group_.settings().connect_timeout_s;
    const auto told = [&] { return exchange(id).missing == 0 || silent_rank_gone(id); };
    {
        const std::scoped_lock lock(group_.endpoint().mutex());
        Exchange& known = exchange(id);
        known.parts[group_.rank()] = own;
        known.told[group_.rank()] = true;
        --known.missing;
        tell_others(id, own);
    }
    const bool in_time = group_.wait(told, static_cast<Nanoseconds>(limit * kSecond));
    const std::scoped_lock lock(group_.endpoint().mutex());
    Exchange known = std::move(exchange(id));
    exchanges_.erase(id);
    over_ = id;
    parts = std::move(known.parts);
    if (known.missing == 0) return {};
    log::warn(log::net | log::reg, messages::kRmaWindowIncomplete, known.missing, group_.size(), limit);
    own.status = static_cast<std::int32_t>(in_time ? Errc::remote : Errc::timed_out);
    tell_others(id, own);  // who hears the rest later must not believe that it worked
    return fail(in_time ? Errc::remote : Errc::timed_out, "regMrSym");
}

// Lock held. A rank that is gone and has not told its part: nothing more comes.
bool WindowTable::silent_rank_gone(std::uint32_t id) {
    const Exchange& known = exchange(id);
    bool gone = false;
    group_.for_each_lane([&](Lane& lane) { gone = gone || (lane.gone() && !known.told[lane.rank()]); });
    return gone;
}

Status WindowTable::judge(const std::vector<WindowPart>& parts) const {
    const std::int32_t own = parts[group_.rank()].status;
    if (own != 0) return fail(static_cast<Errc>(own), "regMrSym");
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
        if (parts[rank].status == 0) continue;
        log::warn(log::net | log::reg, messages::kRmaWindowFailed, rank, parts[rank].status);
        return fail(static_cast<Errc>(parts[rank].status), "regMrSym");
    }
    return {};
}

Result<ObjectHandle*> WindowTable::add(void* data, std::size_t size, int type, std::uint64_t flags) {
    const std::scoped_lock one_at_a_time(registering_);
    const std::uint32_t id = next_id_++;
    auto made = std::make_unique<Window>(group_, id);
    Window& window = *made;
    WindowPart own = register_own(window, data, size, type);
    own.flags = flags;
    Window* claimed = nullptr;
    ScopeExit undo([&] {
        forget(id);
        if (claimed != nullptr) remove(*claimed);
    });
    {
        // Known before the others can know: their signals may come before we have heard everybody.
        const std::scoped_lock lock(group_.endpoint().mutex());
        claimed = claim_covering(own, data);
        own.covered_by = claimed != nullptr ? claimed->id() : 0;
        window.parts_.assign(group_.size(), WindowPart{});
        window.withdrawn_.assign(group_.size(), false);
        window.asked_.assign(group_.size(), false);
        windows_.emplace(id, std::move(made));
    }
    std::vector<WindowPart> parts;
    DUOFI_TRY(gather(id, own, parts));
    DUOFI_TRY(judge(parts));
    if (all_share(parts)) return std::exchange(claimed, nullptr)->handle_;
    undo.release();
    if (claimed != nullptr) remove(*claimed);
    const std::scoped_lock lock(group_.endpoint().mutex());
    window.parts_ = std::move(parts);
    window.handle_ = open_object(window);
    return window.handle_;
}

void WindowTable::remove(Window& window) {
    {
        const std::scoped_lock lock(group_.endpoint().mutex());
        if (--window.references_ != 0) return;
        ask_others(window);
    }
    await_others();
    forget(window.id());
}

// Lock held.
void WindowTable::ask_others(Window& window) noexcept {
    if (window.handle_ != nullptr) end_object(*window.handle_);
    window.handle_ = nullptr;
    group_.for_each_lane([&](Lane& lane) {
        if (lane.answers()) window.asked_[lane.rank()] = lane.send(ofi::MessageKind::rma_window_close, window.id(), 0, {});
    });
}

// Lock held. Ranks that are gone meanwhile are not waited for.
bool WindowTable::someone_asked() noexcept {
    bool asked = false;
    for (auto& [id, window] : windows_)
        group_.for_each_lane([&, &known = *window](Lane& lane) {
            asked = asked || (known.handle_ == nullptr && !lane.gone() && lane.works_on(known.id()));
            if (known.asked_[lane.rank()] && lane.gone()) known.asked_[lane.rank()] = false;
            asked = asked || known.asked_[lane.rank()];
        });
    return asked;
}

void WindowTable::await_others() {
    if (group_.wait([&] { return !someone_asked(); }, kAnswerLimit)) return;
    const std::scoped_lock lock(group_.endpoint().mutex());
    for (auto& [id, window] : windows_)
        group_.for_each_lane([&, &known = *window](Lane& lane) {
            if (known.asked_[lane.rank()]) lane.set_silent();  // stopped, or very busy: not asked again until it speaks
            known.asked_[lane.rank()] = false;
        });
}

// A rank withdraws its part. What we had not sent yet stays here (lane), what comes later is dropped (start).
void WindowTable::on_close(std::uint32_t rank, std::uint32_t id) noexcept {
    if (Window* window = find(id)) window->withdrawn_[rank] = true;
    group_.lane(rank)->withdraw(id);
}

void WindowTable::on_closed(std::uint32_t rank, std::uint32_t id) noexcept {
    if (Window* window = find(id)) window->asked_[rank] = false;
}

// Out of the table first, then away from the provider: nothing of a message touches the memory after this.
void WindowTable::forget(std::uint32_t id) {
    std::unique_ptr<Window> gone;
    {
        const std::scoped_lock lock(group_.endpoint().mutex());
        const auto found = windows_.find(id);
        if (found == windows_.end()) return;
        gone = std::move(found->second);
        windows_.erase(found);
    }
    ofi::Domain::deregister(gone->registration_);
}

void WindowTable::clear() {
    {
        const std::scoped_lock lock(group_.endpoint().mutex());
        if (windows_.empty()) return;
        for (auto& [id, window] : windows_) ask_others(*window);
    }
    await_others();
    while (!windows_.empty()) forget(windows_.begin()->first);
}

}  // namespace duofi::rma
