#include "p2p/gate/levels.hpp"

#include <charconv>

namespace duofi::p2p {
namespace {

struct TypeRow {
    const char* name;
    int era;
};
constexpr std::array<TypeRow, kPathTypes> kTypes{{{"LOC", 0},
                                                  {"NVL", 1},
                                                  {"NVB", 2},
                                                  {"C2C", -1},
                                                  {"PIX", 3},
                                                  {"PXB", 4},
                                                  {"P2C", -1},
                                                  {"PXN", -1},
                                                  {"PHB", 5},
                                                  {"SYS", 6},
                                                  {"NET", -1},
                                                  {"DIS", -1}}};

constexpr std::array kLegacy{PathType::loc, PathType::pix, PathType::pxb, PathType::phb,
                             PathType::sys};

const TypeRow& row(PathType type) noexcept {
    return kTypes[static_cast<std::size_t>(type)];
}

}  // namespace

const char* to_string(PathType type) noexcept {
    return row(type).name;
}

int era_value(PathType type) noexcept {
    return row(type).era;
}

std::optional<PathType> parse_level(std::string_view text) noexcept {
    for (int type = 0; type <= static_cast<int>(PathType::sys); ++type)
        if (text == row(static_cast<PathType>(type)).name) return static_cast<PathType>(type);
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    std::size_t number = kLegacy.size();  // too many digits for it: farther than everything
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number < kLegacy.size() ? kLegacy[number] : PathType::sys;
}

const char* accepted_levels() noexcept {
    return "LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS or a number from 0";
}

PathType default_level(LevelRule rule, std::string_view cpu_vendor, int devices) noexcept {
    if (rule == LevelRule::shared_memory) return PathType::sys;
    return cpu_vendor == "AuthenticAMD" && devices <= 2 ? PathType::sys : PathType::pxb;
}

}  // namespace duofi::p2p
