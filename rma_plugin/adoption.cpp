#include "rma_plugin/adoption.hpp"

#include "common/util/version.hpp"

namespace duofi::rma {

namespace {

std::string_view base_name(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Callers build lib<caller>-rma-<entry>.so from a short name (rma contract 1.2).
bool is_short_name(std::string_view entry, std::string_view file) {
    for (const std::string_view prefix : {"librccl-rma-", "libnccl-rma-"}) {
        if (file.size() != prefix.size() + entry.size() + 3) continue;
        if (file.starts_with(prefix) && file.substr(prefix.size(), entry.size()) == entry && file.ends_with(".so"))
            return true;
    }
    return false;
}

}  // namespace

bool names_library(std::string_view list, std::string_view library_file) noexcept {
    const std::string_view file = base_name(library_file);
    while (!list.empty()) {
        const auto comma = list.find(',');
        const std::string_view entry = list.substr(0, comma);
        const std::string_view name = base_name(entry);
        if (!name.empty() && (name == file || is_short_name(name, file) ||
                              name.find(kPackageName) != std::string_view::npos))
            return true;
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return false;
}

std::string why_declined(const Settings& settings, std::string_view library_file) {
    if (settings.rma.has_value())
        return *settings.rma ? std::string() : std::string("DUOFI_RMA=0");
    if (names_library(settings.nccl_rma_plugin, library_file)) return {};
    return "NCCL_RMA_PLUGIN does not name it and device memory cannot be served";
}

}  // namespace duofi::rma
