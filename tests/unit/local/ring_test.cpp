// Units: common/local/ring
#include "common/local/ring.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "common/util/clock.hpp"
#include "tests/unit/local/child.hpp"

namespace duofi::local {
namespace {

struct Memory {
    explicit Memory(std::size_t capacity) : bytes(ring_memory(capacity)) {
        data = static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    }
    ~Memory() { ::munmap(data, bytes); }
    std::span<std::byte> span() const { return {data, bytes}; }
    RingHeader& header() const { return *reinterpret_cast<RingHeader*>(data); }
    std::byte* content() const { return data + sizeof(RingHeader); }
    std::size_t bytes;
    std::byte* data;
};

std::vector<std::byte> message(std::uint64_t number, std::size_t bytes) {
    std::vector<std::byte> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>((number * 31 + i) & 0xff);
    return text;
}

bool equal(std::span<const std::byte> a, const std::vector<std::byte>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), b.size()) == 0;
}

TEST(Ring, KeepsOrderSizesAndContent) {
    const Memory memory(1024);
    auto writer = RingWriter::attach(memory.span());
    auto reader = RingReader::attach(memory.span());
    ASSERT_TRUE(writer && reader);
    EXPECT_TRUE(reader->peek().empty());
    for (std::uint64_t round = 0; round < 1000; ++round) {  // many times around
        const std::size_t size = 1 + round * 37 % 200;
        ASSERT_TRUE(writer->try_write(message(round, size)));
        ASSERT_TRUE(writer->try_write(message(round + 1, 8)));
        ASSERT_TRUE(equal(reader->peek(), message(round, size))) << round;
        ASSERT_TRUE(equal(reader->peek(), message(round, size))) << "peek changes nothing";
        reader->release();
        ASSERT_TRUE(equal(reader->peek(), message(round + 1, 8)));
        reader->release();
        ASSERT_TRUE(reader->peek().empty());
        reader->release();  // nothing to release
    }
    EXPECT_FALSE(writer->broken() || reader->broken());
}

TEST(Ring, IsFullAndBecomesFreeAgain) {
    const Memory memory(256);
    auto writer = RingWriter::attach(memory.span());
    auto reader = RingReader::attach(memory.span());
    const auto text = message(1, 24);  // 32 bytes with its head
    int fitted = 0;
    while (writer->try_write(text)) ++fitted;
    EXPECT_EQ(fitted, 8);
    ASSERT_TRUE(equal(reader->peek(), text));
    reader->release();
    EXPECT_TRUE(writer->try_write(text));
    EXPECT_FALSE(writer->try_write(text));
    EXPECT_FALSE(writer->broken());
}

TEST(Ring, RefusesSizesThatNeverFit) {
    const Memory memory(256);
    auto writer = RingWriter::attach(memory.span());
    EXPECT_EQ(writer->largest(), 120u);
    EXPECT_TRUE(writer->reserve(0).empty());
    EXPECT_TRUE(writer->reserve(121).empty());
    auto reader = RingReader::attach(memory.span());
    for (std::uint64_t i = 0; i < 50; ++i) {  // at any position
        ASSERT_TRUE(writer->try_write(message(i, 120)));
        ASSERT_TRUE(equal(reader->peek(), message(i, 120)));
        reader->release();
        ASSERT_TRUE(writer->try_write(message(i, 1 + i % 9)));
        ASSERT_TRUE(equal(reader->peek(), message(i, 1 + i % 9)));
        reader->release();
    }
}

TEST(Ring, RefusesUnfitMemory) {
    alignas(128) static std::byte storage[2048];
    const std::span<std::byte> all(storage);
    EXPECT_FALSE(RingWriter::attach({}));
    EXPECT_FALSE(RingWriter::attach(all.first(100)));
    EXPECT_FALSE(RingReader::attach(all.first(ring_memory(128))));
    EXPECT_FALSE(RingReader::attach(all.first(ring_memory(768))));
    EXPECT_FALSE(RingWriter::attach(all.subspan(8).first(ring_memory(256))));
    // Lengths are 32 bits wide. Only the header is looked at, so the rest need not be there.
    const std::span<std::byte> giant(storage, ring_memory(std::size_t{1} << 33));
    EXPECT_FALSE(RingWriter::attach(giant));
    EXPECT_FALSE(RingReader::attach(giant));
    EXPECT_TRUE(RingWriter::attach(all.first(ring_memory(256))));
}

struct Lie {
    const char* what;
    void (*tell)(Memory&);
};

TEST(Ring, ReaderSurvivesALyingWriter) {
    const Lie lies[] = {
        {"beyond the capacity", [](Memory& m) { m.header().produced = 264; }},
        {"not aligned", [](Memory& m) { m.header().produced = 9; }},
        {"far away", [](Memory& m) { m.header().produced = ~std::uint64_t{7}; }},
        {"message longer than published", [](Memory& m) { m.header().produced = 8; }},
        {"giant message", [](Memory& m) { m.content()[3] = std::byte{0x7f}; m.header().produced = 32; }},
        {"unknown kind", [](Memory& m) { m.content()[4] = std::byte{9}; m.header().produced = 32; }},
        {"empty message", [](Memory& m) { m.content()[0] = std::byte{0}; m.header().produced = 32; }},
        {"skip that is no skip", [](Memory& m) { m.content()[4] = std::byte{2}; m.header().produced = 32; }},
    };
    for (const Lie& lie : lies) {
        Memory memory(256);
        auto reader = RingReader::attach(memory.span());
        auto writer = RingWriter::attach(memory.span());
        ASSERT_TRUE(writer->try_write(message(0, 24)));
        lie.tell(memory);
        EXPECT_TRUE(reader->peek().empty()) << lie.what;
        EXPECT_TRUE(reader->broken()) << lie.what;
        EXPECT_TRUE(reader->peek().empty()) << lie.what;
    }
}

TEST(Ring, ReaderSurvivesAWriterThatGoesBack) {
    Memory memory(256);
    auto reader = RingReader::attach(memory.span());
    auto writer = RingWriter::attach(memory.span());
    ASSERT_TRUE(writer->try_write(message(0, 24)) && writer->try_write(message(1, 24)));
    ASSERT_FALSE(reader->peek().empty());
    memory.header().produced = 32;
    reader->release();
    EXPECT_FALSE(reader->peek().empty()) << "seen before";
    reader->release();
    EXPECT_TRUE(reader->peek().empty());
    EXPECT_TRUE(reader->broken());
}

TEST(Ring, WriterSurvivesALyingReader) {
    for (const std::uint64_t consumed : {std::uint64_t{512}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        Memory memory(256);
        auto writer = RingWriter::attach(memory.span());
        while (writer->try_write(message(0, 24))) {
        }
        memory.header().consumed = consumed;
        EXPECT_FALSE(writer->try_write(message(0, 24)));
        EXPECT_TRUE(writer->broken()) << consumed;
        EXPECT_TRUE(writer->reserve(8).empty());
    }
}

TEST(Ring, SurvivesTheWrapOfItsCounters) {
    Memory memory(256);
    memory.header().produced = memory.header().consumed = ~std::uint64_t{0} - 255;
    auto writer = RingWriter::attach(memory.span());
    auto reader = RingReader::attach(memory.span());
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(writer->try_write(message(i, 40)));
        ASSERT_TRUE(equal(reader->peek(), message(i, 40))) << i;
        reader->release();
    }
    EXPECT_LT(memory.header().produced, std::uint64_t{1} << 32);
}

constexpr std::uint64_t kMessages = 50000;

std::size_t size_of(std::uint64_t number) { return 1 + number * 2654435761U % 500; }

int write_all(std::span<std::byte> memory) {
    auto writer = RingWriter::attach(memory);
    if (!writer) return 1;
    const Deadline deadline(30 * kSecond);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
        const auto text = message(i, size_of(i));
        while (!writer->try_write(text)) {
            if (writer->broken() || deadline.passed()) return 2;
            ::sched_yield();
        }
    }
    return 0;
}

int read_all(std::span<std::byte> memory) {
    auto reader = RingReader::attach(memory);
    if (!reader) return 1;
    const Deadline deadline(30 * kSecond);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
        std::span<const std::byte> text;
        while ((text = reader->peek()).empty()) {
            if (reader->broken() || deadline.passed()) return 2;
            ::sched_yield();
        }
        if (!equal(text, message(i, size_of(i)))) return 3;
        reader->release();
    }
    return 0;
}

TEST(Ring, CarriesMessagesBetweenThreads) {
    const Memory memory(4096);
    int written = -1;
    std::thread writer([&] { written = write_all(memory.span()); });
    EXPECT_EQ(read_all(memory.span()), 0);
    writer.join();
    EXPECT_EQ(written, 0);
}

TEST(Ring, CarriesMessagesBetweenProcesses) {
    const Memory memory(4096);
    test::Child writer([&](const test::Child::Line&) { return write_all(memory.span()); });
    EXPECT_EQ(read_all(memory.span()), 0);
    EXPECT_EQ(writer.wait(), 0);
}

}  // namespace
}  // namespace duofi::local
