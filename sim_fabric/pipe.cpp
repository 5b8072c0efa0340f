#include "sim_fabric/pipe.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/util/host_identity.hpp"

namespace duofi::sim {
namespace {

constexpr std::size_t kCapacity = std::size_t{256} << 10;

// Behind the ring, in the same segment. Words of the other side are input: only zero or not zero matters.
struct Tail {
    alignas(128) std::uint32_t asleep, reader_gone;
    alignas(128) std::uint32_t writer_gone;
};
static_assert(local::ring_memory(kCapacity) % alignof(Tail) == 0);

std::span<std::byte> ring_of(const local::Segment& segment) { return {segment.data(), local::ring_memory(kCapacity)}; }
Tail& tail_of(const local::Segment& segment) {
    return *reinterpret_cast<Tail*>(segment.data() + local::ring_memory(kCapacity));
}
std::atomic_ref<std::uint32_t> shared(std::uint32_t& word) noexcept { return std::atomic_ref<std::uint32_t>(word); }

std::atomic<std::uint32_t> g_generations{0};

}  // namespace

Result<Outlet> Outlet::create(local::HandleBytes& handle) {
    static const HostIdentity self = read_host_identity();
    local::SegmentRequest request;
    request.bytes = local::kSegmentUnit;
    DUOFI_ASSIGN(local::Segment segment, local::Segment::create(request, self, ++g_generations));
    DUOFI_ASSIGN(const local::IpcHandle named, segment.handle(0, local::HandleKind::memfd, self));
    DUOFI_ASSIGN(local::RingWriter writer, local::RingWriter::attach(ring_of(segment)));
    handle = local::encode(named);
    return Outlet(std::move(segment), writer);
}

Outlet::~Outlet() {
    if (segment_.data() != nullptr) shared(tail_of(segment_).writer_gone).store(1, std::memory_order_release);
}

Pushed Outlet::push(const Head& head, std::span<const std::byte> payload) noexcept {
    if (writer_.broken() || shared(tail_of(segment_).reader_gone).load(std::memory_order_acquire) != 0)
        return Pushed::closed;
    const auto room = writer_.reserve(sizeof(Head) + payload.size());
    if (room.empty()) return Pushed::full;
    std::memcpy(room.data(), &head, sizeof(head));
    if (!payload.empty()) std::memcpy(room.data() + sizeof(head), payload.data(), payload.size());
    writer_.publish();
    return Pushed::yes;
}

bool Outlet::must_ring() noexcept {
    // Before what was published is looked for by a reader that falls asleep, it says so; here the other way round.
    return shared(tail_of(segment_).asleep).fetch_and(0, std::memory_order_seq_cst) != 0;
}

Result<Inlet> Inlet::import(UniqueFd descriptor, const local::HandleBytes& handle) {
    DUOFI_ASSIGN(const local::IpcHandle promised, local::decode(handle));
    if (promised.bytes != local::kSegmentUnit) return fail(Errc::invalid_argument, "size of a ring", EINVAL);
    DUOFI_ASSIGN(local::Segment segment, local::Segment::import(std::move(descriptor), promised));
    DUOFI_ASSIGN(local::RingReader reader, local::RingReader::attach(ring_of(segment)));
    return Inlet(std::move(segment), reader);
}

Inlet::~Inlet() {
    if (segment_.data() != nullptr) shared(tail_of(segment_).reader_gone).store(1, std::memory_order_release);
}

std::optional<Packet> Inlet::pop() {
    const auto message = reader_.peek();
    if (message.size() < sizeof(Head)) return std::nullopt;
    std::optional<Packet> packet(std::in_place);
    std::memcpy(&packet->head, message.data(), sizeof(Head));
    packet->payload.assign(message.begin() + sizeof(Head), message.end());
    reader_.release();
    return packet;
}

bool Inlet::ended() noexcept {
    const bool gone = shared(tail_of(segment_).writer_gone).load(std::memory_order_acquire) != 0;
    return reader_.broken() || (gone && empty());
}

void Inlet::fall_asleep() noexcept { shared(tail_of(segment_).asleep).exchange(1, std::memory_order_seq_cst); }

}  // namespace duofi::sim
