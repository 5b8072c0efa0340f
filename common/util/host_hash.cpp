#include "common/util/host_hash.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace duofi {

namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";

std::string boot_id() {
    std::array<char, 64> text{};
    std::FILE* file = std::fopen(kBootId, "re");
    if (file == nullptr) return {};
    const std::size_t length = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
    std::string id(text.data(), length);
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
}

}  // namespace

std::string host_text(std::string_view host_id) {
    if (!host_id.empty()) return std::string(host_id);
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
    return name.data() + boot_id();
}

}  // namespace duofi
