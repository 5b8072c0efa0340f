#include "common/abi/boundary.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "common/abi/net_v6.h"
#include "common/util/log.hpp"

namespace duofi::abi {
namespace {

enum class Throw { nothing, bad_alloc, system_error, failing_mutex, logic_error, integer };

void throw_it(Throw what) {
    switch (what) {
        case Throw::nothing:
            return;
        case Throw::bad_alloc:
            throw std::bad_alloc();
        case Throw::system_error:
            throw std::system_error(std::make_error_code(std::errc::operation_not_permitted));
        case Throw::failing_mutex: {
            std::mutex mutex;
            std::unique_lock lock(mutex);
            lock.lock();  // the standard lock refuses: resource_deadlock_would_occur
            return;
        }
        case Throw::logic_error:
            throw std::logic_error("broken {} promise %s");
        case Throw::integer:
            throw 42;
    }
}

Status throwing_entry(Throw what) {
    throw_it(what);
    return {};
}

Status failing_entry(Errc code, int provider_errno) {
    return fail(code, "failing_entry", provider_errno);
}

ncclResult_t plain_entry(int result) {
    return static_cast<ncclResult_t>(result);
}

Result<ncclResult_t> mixed_entry(bool failed) {
    if (failed) return fail(Errc::remote, "mixed_entry");
    return ncclInProgress;
}

ncclResult_t quiet_entry(void* request, int* done, int*) noexcept {
    *done = request != nullptr;
    return ncclSuccess;
}

class Boundary : public testing::Test {
  protected:
    void SetUp() override {
        log::set_threshold(log::Level::warn);
        log::set_sink(
            [this](log::Level level, unsigned long flags, const char*, int, const char* text) {
                EXPECT_EQ(level, log::Level::warn);
                EXPECT_EQ(flags, static_cast<unsigned long>(log::all));
                lines_.emplace_back(text);
            });
    }
    void TearDown() override {
        set_abort_on_error(false);
        log::set_sink({});
    }

    /// The result for `what`, after a check of the one line it must leave.
    ncclResult_t throw_and_expect_line(Throw what, const std::string& part) {
        lines_.clear();
        ncclResult_t (*const call)(Throw) = entry<&throwing_entry>;
        const ncclResult_t result = call(what);
        EXPECT_EQ(lines_.size(), 1u);
        if (!lines_.empty()) {
            EXPECT_NE(lines_[0].find("throwing_entry"), std::string::npos) << lines_[0];
            EXPECT_NE(lines_[0].find(part), std::string::npos) << lines_[0];
        }
        return result;
    }

    std::vector<std::string> lines_;
};

TEST_F(Boundary, success_passes_and_is_silent) {
    ncclResult_t (*const call)(Throw) = entry<&throwing_entry>;
    EXPECT_EQ(call(Throw::nothing), ncclSuccess);
    EXPECT_TRUE(lines_.empty());
}

TEST_F(Boundary, out_of_memory_is_a_system_error) {
    EXPECT_EQ(throw_and_expect_line(Throw::bad_alloc, "out of memory"), ncclSystemError);
}

TEST_F(Boundary, a_failing_mutex_is_an_internal_error_and_no_abort) {
    EXPECT_EQ(throw_and_expect_line(Throw::failing_mutex, "error 35"), ncclInternalError);
    EXPECT_EQ(throw_and_expect_line(Throw::system_error, "error 1"), ncclInternalError);
}

TEST_F(Boundary, anything_else_thrown_is_an_internal_error) {
    EXPECT_EQ(throw_and_expect_line(Throw::logic_error, "broken {} promise %s"), ncclInternalError);
    EXPECT_EQ(throw_and_expect_line(Throw::integer, "unknown kind"), ncclInternalError);
}

TEST_F(Boundary, an_error_becomes_its_code_without_a_second_line) {
    ncclResult_t (*const call)(Errc, int) = entry<&failing_entry>;
    for (int code = 1; code <= static_cast<int>(Errc::timed_out); ++code) {
        const auto errc = static_cast<Errc>(code);
        EXPECT_EQ(call(errc, 0), result_of(errc));
        EXPECT_NE(call(errc, 0), ncclSuccess);
    }
    EXPECT_EQ(call(Errc::system, ECONNRESET), ncclRemoteError);
    EXPECT_TRUE(lines_.empty());
}

TEST_F(Boundary, codes_pass_unchanged) {
    ncclResult_t (*const plain)(int) = entry<&plain_entry>;
    for (int code = 0; code < ncclNumResults; ++code)
        EXPECT_EQ(plain(code), static_cast<ncclResult_t>(code));
    ncclResult_t (*const mixed)(bool) = entry<&mixed_entry>;
    EXPECT_EQ(mixed(false), ncclInProgress);
    EXPECT_EQ(mixed(true), ncclRemoteError);
}

TEST_F(Boundary, fills_a_slot_of_exactly_its_type) {
    ncclNet_v6_t table{};
    table.test = entry<&quiet_entry>;
    int done = -1;
    EXPECT_EQ(table.test(&done, &done, nullptr), ncclSuccess);
    EXPECT_EQ(done, 1);

    using Quiet = Entry<&quiet_entry>;
    static_assert(std::is_convertible_v<Quiet, decltype(table.test)>);
    static_assert(!std::is_convertible_v<Quiet, decltype(table.devices)>);
    static_assert(!std::is_convertible_v<Quiet, ncclResult_t (*)(void*, int*, long*)>);
    using Plain = Entry<&plain_entry>;
    static_assert(noexcept(detail::Wrapped<&plain_entry, ncclResult_t, int>::call(0)));
    static_assert(!std::is_same_v<Plain::Slot, Plain>);
}

TEST_F(Boundary, names_the_function_with_its_namespace) {
    const std::string name(detail::name_of<&throwing_entry>());
    EXPECT_EQ(name.find("duofi::abi::"), 0u) << name;
    EXPECT_EQ(name.substr(name.rfind(':') + 1), "throwing_entry") << name;
    EXPECT_EQ(name.find_first_of(";]=&"), std::string::npos) << name;
}

using BoundaryDeathTest = Boundary;

TEST_F(BoundaryDeathTest, abort_on_error_ends_the_process_after_the_known_line) {
    ncclResult_t (*const fails)(Errc, int) = entry<&failing_entry>;
    ncclResult_t (*const throws)(Throw) = entry<&throwing_entry>;
    const auto arm = [] {
        log::set_sink([](log::Level, unsigned long, const char*, int, const char* text) {
            fprintf(stderr, "%s\n", text);
        });
        set_abort_on_error(true);
    };
    EXPECT_EXIT((arm(), fails(Errc::invalid_usage, 0)), testing::KilledBySignal(SIGABRT),
                "NET/OFI Aborting due to call failure with return 5");
    EXPECT_EXIT((arm(), throws(Throw::bad_alloc)), testing::KilledBySignal(SIGABRT),
                "out of memory(.|\n)*Aborting due to call failure with return 2");
}

TEST_F(Boundary, abort_on_error_leaves_success_alone) {
    set_abort_on_error(true);
    ncclResult_t (*const call)(Throw) = entry<&throwing_entry>;
    EXPECT_EQ(call(Throw::nothing), ncclSuccess);
    set_abort_on_error(false);
    EXPECT_EQ(call(Throw::bad_alloc), ncclSystemError);
}

}  // namespace
}  // namespace duofi::abi
