#include "common/gin/stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>

#include "common/util/byte_io.hpp"

namespace duofi::gin {
namespace {

constexpr std::array<char, 8> kMagic{'D', 'U', 'O', 'F', 'I', 'G', 'I', 'N'};
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kEntryBytes = 144;
/// A file larger than this was not made by a recorder.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 32;
constexpr std::uint32_t kMostRegions = 1u << 20;

struct CloseFile {
    void operator()(std::FILE* file) const noexcept {
        if (file != nullptr) std::fclose(file);
    }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

bool write_all(std::FILE* file, std::span<const std::byte> data) {
    return std::fwrite(data.data(), 1, data.size(), file) == data.size();
}
bool read_all(std::FILE* file, std::span<std::byte> data) {
    return std::fread(data.data(), 1, data.size(), file) == data.size();
}

std::array<std::byte, kHeaderBytes> header_of(const Stream& stream) {
    std::array<std::byte, kHeaderBytes> bytes{};
    ByteWriter writer(bytes);
    writer.bytes(std::as_bytes(std::span(kMagic)));
    writer.u32(kStreamVersion);
    writer.u32(kHeaderBytes);
    const StreamShape& shape = stream.shape;
    for (const std::uint32_t number :
         {shape.ranks, shape.rank, shape.contexts, shape.signals, shape.counters, shape.depth})
        writer.u32(number);
    writer.u32(static_cast<std::uint32_t>(stream.region_bytes.size()));
    writer.u32(kEntryBytes);
    writer.u64(stream.entries.size());
    writer.u64(stream.dropped);
    return bytes;
}

/// The header, with room made for what follows it.
Result<Stream> stream_of(std::span<const std::byte> header) {
    ByteReader reader(header);
    Stream stream;
    std::array<std::byte, kMagic.size()> magic{};
    reader.bytes(magic);
    if (!std::ranges::equal(magic, std::as_bytes(std::span(kMagic))))
        return fail(Errc::invalid_argument, "stream magic");
    if (reader.u32() != kStreamVersion) return fail(Errc::invalid_argument, "stream version");
    if (reader.u32() != kHeaderBytes) return fail(Errc::invalid_argument, "stream header");
    StreamShape& shape = stream.shape;
    for (std::uint32_t* number : {&shape.ranks, &shape.rank, &shape.contexts, &shape.signals,
                                  &shape.counters, &shape.depth})
        *number = reader.u32();
    const std::uint32_t regions = reader.u32();
    if (reader.u32() != kEntryBytes) return fail(Errc::invalid_argument, "stream entry");
    const std::uint64_t entries = reader.u64();
    stream.dropped = reader.u64();
    if (!reader.ok() || regions > kMostRegions || entries > kMostEntries)
        return fail(Errc::invalid_argument, "stream header");
    stream.region_bytes.resize(regions);
    stream.entries.resize(entries);
    return stream;
}

void write_entry(const StreamEntry& entry, std::span<std::byte> bytes) {
    ByteWriter writer(bytes);
    writer.u32(entry.context);
    writer.u32(entry.peer);
    writer.i64(entry.time);
    for (const std::uint64_t word : entry.packed.words) writer.u64(word);
}

StreamEntry read_entry(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    StreamEntry entry;
    entry.context = reader.u32();
    entry.peer = reader.u32();
    entry.time = reader.i64();
    for (std::uint64_t& word : entry.packed.words) word = reader.u64();
    return entry;
}

/// Only what the stream itself declares may be named.
bool fits(const StreamEntry& entry, const Stream& stream) {
    bool known = entry.peer < stream.shape.ranks && entry.context < stream.shape.contexts;
    for (const std::uint64_t word : entry.packed.words) known = known && (word & kWordFlag) != 0;
    static_cast<void>(with_handles(entry.packed, [&](std::uint64_t number) {
        known = known && number <= stream.region_bytes.size();
        return number;
    }));
    return known;
}

}  // namespace

PackedDescriptor with_handles(const PackedDescriptor& packed,
                              const std::function<std::uint64_t(std::uint64_t)>& change) {
    Descriptor descriptor = unpack(packed);
    if (descriptor.has(op_flush)) return packed;
    if (!descriptor.has(op_inline)) descriptor.src_handle = change(descriptor.src_handle);
    if (!descriptor.has(op_va_signal)) descriptor.dst_handle = change(descriptor.dst_handle);
    PackedDescriptor changed = packed;
    const PackedDescriptor made = pack(descriptor);
    changed.words[2] = made.words[2];
    changed.words[4] = made.words[4];
    return changed;
}

Status save(const Stream& stream, const std::string& path) {
    const File file(std::fopen(path.c_str(), "we"));
    if (!file) return fail(Errc::system, "fopen", errno);
    bool good = write_all(file.get(), header_of(stream));
    for (const std::uint64_t region : stream.region_bytes) {
        std::array<std::byte, 8> bytes{};
        ByteWriter(bytes).u64(region);
        good = good && write_all(file.get(), bytes);
    }
    for (const StreamEntry& entry : stream.entries) {
        std::array<std::byte, kEntryBytes> bytes{};
        write_entry(entry, bytes);
        good = good && write_all(file.get(), bytes);
    }
    if (!good || std::fflush(file.get()) != 0) return fail(Errc::system, "fwrite", errno);
    return {};
}

Result<Stream> load_stream(const std::string& path) {
    const File file(std::fopen(path.c_str(), "re"));
    if (!file) return fail(Errc::system, "fopen", errno);
    // Sizes are compared before memory is taken for what a header claims.
    if (std::fseek(file.get(), 0, SEEK_END) != 0) return fail(Errc::system, "fseek", errno);
    const long length = std::ftell(file.get());
    std::rewind(file.get());
    std::array<std::byte, kHeaderBytes> header{};
    if (!read_all(file.get(), header)) return fail(Errc::invalid_argument, "stream cut short");
    ByteReader counts(header);
    counts.skip(40);
    const std::uint64_t regions = counts.u32();
    counts.skip(4);
    const std::uint64_t entries = counts.u64();
    if (entries > kMostEntries ||
        static_cast<std::uint64_t>(length) != kHeaderBytes + regions * 8 + entries * kEntryBytes)
        return fail(Errc::invalid_argument, "stream length");
    DUOFI_ASSIGN(Stream stream, stream_of(header));
    for (std::uint64_t& region : stream.region_bytes) {
        std::array<std::byte, 8> bytes{};
        if (!read_all(file.get(), bytes)) return fail(Errc::system, "fread", errno);
        region = ByteReader(bytes).u64();
    }
    for (StreamEntry& entry : stream.entries) {
        std::array<std::byte, kEntryBytes> bytes{};
        if (!read_all(file.get(), bytes)) return fail(Errc::system, "fread", errno);
        entry = read_entry(bytes);
        if (!fits(entry, stream)) return fail(Errc::invalid_argument, "stream entry");
    }
    return stream;
}

void StreamRecorder::set_shape(const StreamShape& shape) {
    const std::lock_guard lock(mutex_);
    stream_.shape = shape;
}

void StreamRecorder::add_region(const std::vector<const void*>& handles, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    stream_.region_bytes.push_back(bytes);
    for (const void* handle : handles)
        numbers_.emplace_back(handle_bits(handle), stream_.region_bytes.size());
}

/// The newest region wins: a plugin may use an address again.
std::uint64_t StreamRecorder::number_of(std::uint64_t handle) const {
    for (auto entry = numbers_.rbegin(); entry != numbers_.rend(); ++entry)
        if (entry->first == handle) return entry->second;
    return 0;
}

void StreamRecorder::add(std::uint32_t context, std::uint32_t peer,
                         const PackedDescriptor& packed) {
    const std::lock_guard lock(mutex_);
    if (stream_.entries.size() >= capacity_) {
        ++stream_.dropped;
        return;
    }
    StreamEntry entry{context, peer, now_ns() - begin_, {}};
    entry.packed = with_handles(packed, [this](std::uint64_t handle) { return number_of(handle); });
    stream_.entries.push_back(entry);
}

Stream StreamRecorder::stream() const {
    const std::lock_guard lock(mutex_);
    return stream_;
}

}  // namespace duofi::gin
