#include "common/abi/error_map.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <set>

namespace duofi::abi {
namespace {

struct ClassCase {
    Errc code;
    ncclResult_t expected;
};

// Net contract 3.9 and the comments of Errc.
constexpr ClassCase kClasses[] = {
    {Errc::system, ncclSystemError},
    {Errc::internal, ncclInternalError},
    {Errc::invalid_argument, ncclInvalidArgument},
    {Errc::invalid_usage, ncclInvalidUsage},
    {Errc::remote, ncclRemoteError},
    {Errc::unsupported, ncclSystemError},
    {Errc::no_data, ncclSystemError},
    {Errc::no_memory, ncclSystemError},
    {Errc::timed_out, ncclSystemError},
};

TEST(ErrorMap, each_class_has_its_code) {
    for (const auto& [code, expected] : kClasses) {
        EXPECT_EQ(result_of(code), expected) << static_cast<int>(code);
        EXPECT_EQ(result_of(Error{code, 0, "place"}), expected) << static_cast<int>(code);
    }
}

TEST(ErrorMap, a_class_outside_the_enumeration_is_internal) {
    EXPECT_EQ(result_of(static_cast<Errc>(0)), ncclInternalError);
    EXPECT_EQ(result_of(static_cast<Errc>(-7)), ncclInternalError);
    EXPECT_EQ(result_of(static_cast<Errc>(1000)), ncclInternalError);
}

TEST(ErrorMap, errno_follows_the_table_in_either_sign) {
    const std::set<int> remote = {ECONNABORTED, ECONNRESET, ECONNREFUSED,
                                  ENOTCONN,     EHOSTDOWN,  EHOSTUNREACH};
    for (int code = 1; code < 4096; ++code) {
        ncclResult_t expected = ncclSystemError;
        if (code == EINVAL) expected = ncclInternalError;
        if (code == EMSGSIZE) expected = ncclInvalidUsage;
        if (remote.count(code) != 0) expected = ncclRemoteError;
        EXPECT_EQ(result_of_errno(code), expected) << code;
        EXPECT_EQ(result_of_errno(-code), expected) << -code;
    }
    EXPECT_EQ(result_of_errno(0), ncclSuccess);
    EXPECT_EQ(result_of_errno(INT_MIN), ncclSystemError);
    EXPECT_EQ(result_of_errno(INT_MAX), ncclSystemError);
}

TEST(ErrorMap, the_provider_decides_only_where_the_class_leaves_it_open) {
    EXPECT_EQ(result_of(Error{Errc::system, ECONNREFUSED, ""}), ncclRemoteError);
    EXPECT_EQ(result_of(Error{Errc::system, ENOMEM, ""}), ncclSystemError);
    EXPECT_EQ(result_of(Error{Errc::system, EINVAL, ""}), ncclInternalError);
    EXPECT_EQ(result_of(Error{Errc::timed_out, ENOTCONN, ""}), ncclRemoteError);
    EXPECT_EQ(result_of(Error{Errc::timed_out, ETIMEDOUT, ""}), ncclSystemError);
    EXPECT_EQ(result_of(Error{Errc::invalid_argument, ECONNRESET, ""}), ncclInvalidArgument);
    EXPECT_EQ(result_of(Error{Errc::internal, EMSGSIZE, ""}), ncclInternalError);
    EXPECT_EQ(result_of(Error{Errc::remote, EIO, ""}), ncclRemoteError);
    EXPECT_EQ(result_of(Error{Errc::unsupported, ENOTCONN, ""}), ncclSystemError);
}

TEST(ErrorMap, no_failure_becomes_success) {
    for (const auto& [code, expected] : kClasses)
        for (int provider = -200; provider <= 200; ++provider)
            EXPECT_NE(result_of(Error{code, provider, ""}), ncclSuccess);
}

}  // namespace
}  // namespace duofi::abi
