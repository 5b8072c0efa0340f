// User-report A21 (one line, key=value), P5 (shm's wrong sign).
#include "common/ofi/errors.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <cctype>
#include <limits>
#include <utility>
#include <vector>

namespace duofi::ofi {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Parses the documented form; an empty result means that the line does not follow it.
Pairs parse_line(const std::string& line) {
    Pairs pairs;
    std::size_t at = 0;
    while (at < line.size()) {
        std::string key, value;
        while (at < line.size() && line[at] != '=') {
            if (std::isalnum(static_cast<unsigned char>(line[at])) == 0 && line[at] != '_')
                return {};
            key += line[at++];
        }
        if (key.empty() || at++ >= line.size()) return {};
        if (at < line.size() && line[at] == '"') {
            for (++at; at < line.size() && line[at] != '"'; ++at) {
                if (line[at] == '\\') ++at;
                value += line.at(at);
            }
            if (at++ >= line.size()) return {};
        } else {
            while (at < line.size() && line[at] != ' ') value += line[at++];
        }
        pairs.emplace_back(key, value);
        if (at < line.size() && line[at++] != ' ') return {};
    }
    return pairs;
}

TEST(Errors, EitherSignIsTheSameError) {
    EXPECT_EQ(error_from(-FI_ETRUNC, "x").provider_errno, FI_ETRUNC);
    EXPECT_EQ(error_from(FI_ETRUNC, "x").provider_errno, FI_ETRUNC);
    EXPECT_EQ(error_from(-265, "x").provider_errno, 265);
    EXPECT_STREQ(error_text(-FI_ETRUNC), error_text(FI_ETRUNC));
    fi_cq_err_entry entry{};
    entry.err = -265;
    EXPECT_EQ(error_from(entry, "fi_cq_readerr").provider_errno, 265);
    EXPECT_EQ(error_from(std::numeric_limits<std::int64_t>::min(), "x").code, Errc::system);
}

TEST(Errors, ClassesFollowTheCallersCodes) {
    const std::vector<std::pair<int, Errc>> table = {
        {FI_ENOMEM, Errc::no_memory},
        {FI_ENODATA, Errc::no_data},
        {FI_EOPNOTSUPP, Errc::unsupported},
        {FI_ENOSYS, Errc::unsupported},
        {FI_ENOPROTOOPT, Errc::unsupported},
        {FI_ETIMEDOUT, Errc::timed_out},
        {FI_EINVAL, Errc::internal},
        {FI_ECONNREFUSED, Errc::remote},
        {FI_ECONNRESET, Errc::remote},
        {FI_ENOTCONN, Errc::remote},
        {FI_EHOSTUNREACH, Errc::remote},
        {FI_EIO, Errc::system},
        {FI_ETRUNC, Errc::system},
        {FI_ENOKEY, Errc::system},
        {123456, Errc::system},
    };
    for (const auto& [code, expected] : table) {
        EXPECT_EQ(errc_of(code), expected) << code;
        EXPECT_EQ(errc_of(-code), expected) << -code;
    }
}

TEST(Errors, UnknownCodesHaveAText) {
    for (const std::int64_t code : {0L, 1L, -1L, 255L, 99999L, -99999L})
        EXPECT_NE(error_text(code), nullptr);
}

TEST(Errors, NoQueueNoWords) {
    fi_cq_err_entry entry{};
    entry.prov_errno = 5;
    EXPECT_EQ(provider_text(nullptr, entry), "");
}

TEST(Errors, TheReportHasStableKeysInOrder) {
    OperationReport report;
    report.operation = "recv";
    report.size = 4096;
    report.tag = 0x2a;
    report.device = "duofi_eth0";
    report.provider = "tcp;ofi_rxm";
    report.local = "192.0.2.2";
    report.peer = "192.0.2.3";
    report.error = -265;
    report.provider_error = -5;
    report.provider_words = "Input/output error";
    report.hint = "is the receive \"too small\"?";
    const Pairs expected = {{"op", "recv"},
                            {"size", "4096"},
                            {"tag", "0x2a"},
                            {"dev", "duofi_eth0"},
                            {"provider", "tcp;ofi_rxm"},
                            {"local", "192.0.2.2"},
                            {"peer", "192.0.2.3"},
                            {"err", "265"},
                            {"err_text", fi_strerror(FI_ETRUNC)},
                            {"prov_err", "-5"},
                            {"prov_text", "Input/output error"},
                            {"hint", "is the receive \"too small\"?"}};
    EXPECT_EQ(parse_line(format_report(report)), expected) << format_report(report);
}

TEST(Errors, UnknownFactsAreLeftOut) {
    OperationReport report;
    report.operation = "send";
    report.error = -FI_EAGAIN;
    EXPECT_EQ(format_report(report),
              std::string("op=send err=11 err_text=\"") + fi_strerror(FI_EAGAIN) + "\"");
    EXPECT_EQ(format_report(OperationReport{}), "");
}

TEST(Errors, HostileTextStaysOnOneParsableLine) {
    OperationReport report;
    report.operation = "a b=c";
    report.peer = "x\ny";
    report.hint = "tab\tquote\" slash\\ line\n";
    const std::string line = format_report(report);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Pairs expected = {
        {"op", "a b=c"}, {"peer", "x y"}, {"hint", "tab quote\" slash\\ line "}};
    EXPECT_EQ(parse_line(line), expected) << line;
}

}  // namespace
}  // namespace duofi::ofi
