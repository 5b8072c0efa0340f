// The arrays of irecv and iflush: nothing is read before count and pointers are checked (net
// contract 3.4).
#include "net_plugin/abi/group.hpp"

#include <sys/mman.h>

#include <climits>

#include "tests/unit/net_plugin/entry/fake_protocol.hpp"

namespace duofi::net::entry_test {
namespace {

/// A page that cannot be read, and one array of int that ends at such a page.
class Fence {
  public:
    Fence() {
        base_ = static_cast<char*>(
            ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED) throw std::bad_alloc();
        ::mprotect(base_ + kPage, kPage, PROT_NONE);
    }
    ~Fence() { ::munmap(base_, 3 * kPage); }
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;
    template <typename T>
    [[nodiscard]] T* forbidden() const {
        return reinterpret_cast<T*>(base_ + kPage);
    }
    /// Exactly `count` readable entries.
    template <typename T>
    [[nodiscard]] T* ending(int count) const {
        return reinterpret_cast<T*>(base_ + kPage) - count;
    }

  private:
    static constexpr std::size_t kPage = 65536;  // a multiple of every page size
    char* base_;
};

class Groups : public EntryTest {
  protected:
    Groups() {
        void* send = connected(listening(&listener));
        recv = accepted(listener);
        EXPECT_EQ(table.closeSend(send), ncclSuccess);
        (void)calls();
    }
    ~Groups() override {
        fake.endpoint.request.state = RequestState::free;
        EXPECT_EQ(table.closeRecv(recv), ncclSuccess);
        EXPECT_EQ(table.closeListen(listener), ncclSuccess);
    }
    Fence data, sizes, tags, memory;
    void* listener = nullptr;
    void* recv = nullptr;
    void* request = this;
};

TEST_F(Groups, a_bad_count_reads_no_array) {
    for (const int n : {-1, 0, 9, 1000, INT_MAX, INT_MIN}) {
        request = this;
        EXPECT_EQ(table.irecv(recv, n, data.forbidden<void*>(), sizes.forbidden<int>(),
                              tags.forbidden<int>(), memory.forbidden<void*>(), &request),
                  ncclInvalidArgument);
        EXPECT_EQ(request, nullptr);
        const auto told = lines();
        ASSERT_EQ(told.size(), 1u);
        EXPECT_NE(told[0].find("irecv: n=" + std::to_string(n)), std::string::npos) << told[0];
        request = this;
        EXPECT_EQ(table.iflush(recv, n, data.forbidden<void*>(), sizes.forbidden<int>(),
                               memory.forbidden<void*>(), &request),
                  ncclInvalidArgument);
        EXPECT_EQ(request, nullptr);
        const auto flush = lines();
        ASSERT_EQ(flush.size(), 1u);
        EXPECT_NE(flush[0].find("iflush: n=" + std::to_string(n)), std::string::npos) << flush[0];
    }
    EXPECT_TRUE(calls().empty());
}

TEST_F(Groups, a_missing_array_is_refused_before_the_others_are_read) {
    void** d = data.forbidden<void*>();
    int* s = sizes.forbidden<int>();
    int* t = tags.forbidden<int>();
    EXPECT_EQ(table.irecv(recv, 1, nullptr, s, t, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(table.irecv(recv, 8, d, nullptr, t, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(table.irecv(recv, 8, d, s, nullptr, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(table.iflush(recv, 1, nullptr, s, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(table.iflush(recv, 1, d, nullptr, nullptr, &request), ncclInvalidArgument);
    EXPECT_EQ(lines().size(), 5u);
    EXPECT_TRUE(calls().empty());
}

TEST_F(Groups, exactly_n_entries_are_read) {
    for (const int n : {1, 2, 7, 8}) {
        std::string expected = "irecv " + std::to_string(n) + ":";
        for (int i = 0; i < n; ++i) {
            data.ending<void*>(n)[i] = this;
            sizes.ending<int>(n)[i] = 10 * i;
            tags.ending<int>(n)[i] = -i;
            memory.ending<void*>(n)[i] = nullptr;
            expected += " " + std::to_string(10 * i) + "/" + std::to_string(-i);
        }
        ASSERT_EQ(table.irecv(recv, n, data.ending<void*>(n), sizes.ending<int>(n),
                              tags.ending<int>(n), memory.ending<void*>(n), &request),
                  ncclSuccess);
        EXPECT_EQ(calls(), list({expected.c_str()}));
        ASSERT_EQ(table.iflush(recv, n, data.ending<void*>(n), sizes.ending<int>(n),
                               memory.ending<void*>(n), &request),
                  ncclSuccess);
        (void)calls();
    }
}

TEST_F(Groups, a_null_array_of_mhandles_means_none) {
    void* pointer = this;
    int size = 3, tag = 4;
    Group group;
    ASSERT_TRUE(group.fill("irecv", 1, &pointer, &size, &tag, nullptr));
    EXPECT_EQ(group.buffers[0].data, this);
    EXPECT_EQ(group.buffers[0].size, 3u);
    EXPECT_EQ(group.buffers[0].tag, 4);
    EXPECT_EQ(group.buffers[0].memory, nullptr);
    void* handle = &size;
    ASSERT_TRUE(group.fill("irecv", 1, &pointer, &size, &tag, &handle));
    EXPECT_EQ(group.buffers[0].memory, &size);
}

TEST_F(Groups, wide_sizes_are_kept) {
    void* pointer = this;
    std::size_t size = std::size_t{3} << 40;
    int tag = 0;
    Group group;
    ASSERT_TRUE(group.fill("irecv", 1, &pointer, &size, &tag, nullptr));
    EXPECT_EQ(group.buffers[0].size, std::size_t{3} << 40);
}

}  // namespace
}  // namespace duofi::net::entry_test
