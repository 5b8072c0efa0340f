#include "common/ofi/errors.hpp"

#include <fmt/core.h>
#include <rdma/fi_errno.h>

#include <array>
#include <iterator>
#include <limits>

namespace duofi::ofi {
namespace {

/// shm gives -265 where 265 is meant (P5); calls give negative codes, completions positive ones.
std::int32_t magnitude(std::int64_t code) noexcept {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (code < -kMost || code > kMost) return static_cast<std::int32_t>(kMost);
    return static_cast<std::int32_t>(code < 0 ? -code : code);
}

void add_key(std::string& line, std::string_view key) {
    if (!line.empty()) line += ' ';
    fmt::format_to(std::back_inserter(line), "{}=", key);
}

/// True if a value needs no quotes to stay one word.
bool is_word(std::string_view value) {
    for (const char c : value)
        if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) return false;
    return true;
}

void add_quoted(std::string& line, std::string_view value) {
    line += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\') line += '\\';
        const auto byte = static_cast<unsigned char>(c);
        line += byte < ' ' || byte == 0x7f ? ' ' : c;
    }
    line += '"';
}

void add_word(std::string& line, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    add_key(line, key);
    if (is_word(value))
        line += value;
    else
        add_quoted(line, value);
}

void add_text(std::string& line, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    add_key(line, key);
    add_quoted(line, value);
}

}  // namespace

Errc errc_of(std::int64_t code) noexcept {
    switch (magnitude(code)) {
        case FI_ENOMEM:
            return Errc::no_memory;
        case FI_ENODATA:
            return Errc::no_data;
        case FI_EOPNOTSUPP:
        case FI_ENOSYS:
        case FI_ENOPROTOOPT:
            return Errc::unsupported;
        case FI_ETIMEDOUT:
            return Errc::timed_out;
        case FI_EINVAL:
            return Errc::internal;
        case FI_ECONNREFUSED:
        case FI_ECONNRESET:
        case FI_ECONNABORTED:
        case FI_ENOTCONN:
        case FI_EHOSTUNREACH:
        case FI_EHOSTDOWN:
        case FI_ENETUNREACH:
        case FI_ENETDOWN:
        case FI_ESHUTDOWN:
            return Errc::remote;
        default:
            return Errc::system;
    }
}

Error error_from(std::int64_t code, const char* place) noexcept {
    return Error{errc_of(code), magnitude(code), place};
}

Error error_from(const fi_cq_err_entry& entry, const char* place) noexcept {
    return error_from(entry.err, place);
}

const char* error_text(std::int64_t code) noexcept {
    return fi_strerror(magnitude(code));
}

std::string provider_text(fid_cq* cq, const fi_cq_err_entry& entry) {
    if (cq == nullptr || entry.prov_errno == 0) return {};
    std::array<char, 256> buffer{};
    const char* text =
        fi_cq_strerror(cq, entry.prov_errno, entry.err_data, buffer.data(), buffer.size());
    return text != nullptr ? std::string(text) : std::string();
}

std::string format_report(const OperationReport& report) {
    std::string line;
    add_word(line, "op", report.operation);
    const auto out = std::back_inserter(line);
    if (report.size) {
        add_key(line, "size");
        fmt::format_to(out, "{}", *report.size);
    }
    if (report.tag) {
        add_key(line, "tag");
        fmt::format_to(out, "{:#x}", *report.tag);
    }
    add_word(line, "dev", report.device);
    add_word(line, "provider", report.provider);
    add_word(line, "local", report.local);
    add_word(line, "peer", report.peer);
    if (report.error != 0) {
        add_key(line, "err");
        fmt::format_to(out, "{}", magnitude(report.error));
        add_text(line, "err_text", error_text(report.error));
    }
    if (report.provider_error != 0) {
        add_key(line, "prov_err");
        fmt::format_to(out, "{}", report.provider_error);
        add_text(line, "prov_text", report.provider_words);
    }
    add_text(line, "hint", report.hint);
    return line;
}

}  // namespace duofi::ofi
