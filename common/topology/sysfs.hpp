// All reads of sysfs and procfs, under a root that tests replace. Missing or unreadable files are
// normal (containers): every answer is optional, nothing throws or logs. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace duofi::topology {

class Sysfs {
  public:
    /// `root` stands for "/": files are looked up below it.
    explicit Sysfs(std::filesystem::path root = "/") : root_(std::move(root)) {}

    /// First line of a file without trailing blanks. `path` is absolute, as on the real machine.
    [[nodiscard]] std::optional<std::string> first_line(std::string_view path) const;
    /// The first line as a decimal number.
    [[nodiscard]] std::optional<long> number(std::string_view path) const;
    /// Path with all links resolved, as seen from the root ("/sys/devices/..."). Links that leave
    /// the root give nothing.
    [[nodiscard]] std::optional<std::string> resolve(std::string_view path) const;
    /// Text of a symbolic link that need not lead anywhere ("net:[4026531840]").
    [[nodiscard]] std::optional<std::string> link_text(std::string_view path) const;
    [[nodiscard]] bool exists(std::string_view path) const;
    [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }

  private:
    [[nodiscard]] std::filesystem::path under_root(std::string_view path) const;
    std::filesystem::path root_;
};

}  // namespace duofi::topology
