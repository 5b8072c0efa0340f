// Two sides that move large messages by writes, with registered buffers. A case per provider and number of rails.
#pragma once

#include <optional>

#include "net_plugin/memory_handle.hpp"
#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {

struct RailCase {
    const char* provider;
    std::size_t rails;
};

inline ofi::RailInfos rails_of(const RailCase& c) { return ofi::RailInfos(c.rails, find_device(c.provider)); }

/// Memory that a comm knows.
class Buffer {
  public:
    Buffer(DataComm& comm, std::size_t size) : bytes(size), memory_(*comm.register_memory(bytes.data(), size)) {}
    ~Buffer() { drop(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void drop() {
        if (memory_ == nullptr) return;
        EXPECT_TRUE(drop_memory_handle(std::exchange(memory_, nullptr)));
    }
    void fill(unsigned seed) {
        const auto from = bytes_of(bytes.size(), seed);
        std::copy(from.begin(), from.end(), bytes.begin());
    }
    [[nodiscard]] void* memory() const { return memory_; }
    [[nodiscard]] RecvBuffer part(std::size_t at, std::size_t size, int tag) {
        return {bytes.data() + at, size, tag, memory_};
    }
    std::vector<unsigned char> bytes;

  private:
    void* memory_;
};

class OverRails : public ::testing::TestWithParam<RailCase> {
  protected:
    void SetUp() override {
        if (find_device(GetParam().provider) == nullptr) GTEST_SKIP() << "no device of provider " << GetParam().provider;
        log.emplace(duofi::log::Level::warn);
    }
    void open(const Adjust& adjust = {}) {
        a.emplace(rails_of(GetParam()), adjust);
        b.emplace(rails_of(GetParam()), adjust);
        link = connect(*a, *b);
    }
    [[nodiscard]] Request* send_from(Buffer& out, std::size_t size, int tag) {
        const auto request = link.send->isend(out.bytes.data(), size, tag, out.memory());
        EXPECT_TRUE(request && *request != nullptr);
        return *request;
    }
    [[nodiscard]] Request* receive_into(Buffer& in, std::size_t size, int tag) {
        return receive(*link.recv.get(), {in.part(0, size, tag)});
    }
    std::optional<LogLines> log;
    std::optional<Side> a, b;
    Link link;
};

inline std::string rail_suffix(const ::testing::TestParamInfo<RailCase>& info) {
    return std::string(info.param.provider) + "_" + std::to_string(info.param.rails);
}

}  // namespace duofi::net::comm_test

#define DUOFI_OVER_RAILS(suite)                                                                           \
    INSTANTIATE_TEST_SUITE_P(over, suite,                                                                 \
                             ::testing::Values(duofi::net::comm_test::RailCase{"net", 1},                 \
                                               duofi::net::comm_test::RailCase{"net", 2},                 \
                                               duofi::net::comm_test::RailCase{"net", 4},                 \
                                               duofi::net::comm_test::RailCase{"shm", 1}),                \
                             duofi::net::comm_test::rail_suffix)
