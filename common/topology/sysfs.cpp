#include "common/topology/sysfs.hpp"

#include <charconv>
#include <fstream>
#include <system_error>

namespace duofi::topology {

namespace fs = std::filesystem;

fs::path Sysfs::under_root(std::string_view path) const {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    return root_ / path;
}

std::optional<std::string> Sysfs::first_line(std::string_view path) const {
    std::ifstream file(under_root(path));
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    line.erase(line.find_last_not_of(" \t\r\n") + 1);
    return line;
}

std::optional<long> Sysfs::number(std::string_view path) const {
    const auto line = first_line(path);
    if (!line) return std::nullopt;
    long value = 0;
    const char* const end = line->data() + line->size();
    const auto [stop, error] = std::from_chars(line->data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

std::optional<std::string> Sysfs::resolve(std::string_view path) const {
    std::error_code error;
    const fs::path root = fs::canonical(root_, error);
    if (error) return std::nullopt;
    const fs::path target = fs::canonical(under_root(path), error);
    if (error) return std::nullopt;
    if (root == "/") return target.string();
    const std::string prefix = root.string() + "/";
    const std::string full = target.string();
    if (full.compare(0, prefix.size(), prefix) != 0) return std::nullopt;
    return full.substr(prefix.size() - 1);
}

std::optional<std::string> Sysfs::link_text(std::string_view path) const {
    std::error_code error;
    const fs::path target = fs::read_symlink(under_root(path), error);
    if (error) return std::nullopt;
    return target.string();
}

bool Sysfs::exists(std::string_view path) const {
    std::error_code error;
    return fs::exists(under_root(path), error);
}

}  // namespace duofi::topology
