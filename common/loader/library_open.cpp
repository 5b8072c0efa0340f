#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <strings.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/host_types.h"
#include "common/loader/library.hpp"
#include "common/util/messages/loader.hpp"

namespace duofi::loader {
namespace {

constexpr unsigned long kInitNet = NCCL_INIT | NCCL_NET;
constexpr std::size_t kLongestLoaderError = 255;  // the callers keep so much of dlerror

/// What one dlopen gave.
struct Attempt {
    void* handle = nullptr;
    std::string error;
    int error_number = 0;
    bool no_such_file = false;  ///< for this very name, as the callers decide it
};

Attempt try_open(const std::string& file, const std::string& name) {
    Attempt attempt;
    errno = 0;
    attempt.handle = ::dlopen(file.empty() ? nullptr : file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (attempt.handle != nullptr) return attempt;
    attempt.error_number = errno;
    const char* text = ::dlerror();
    attempt.error = std::string(text != nullptr ? text : "").substr(0, kLongestLoaderError);
    const bool no_file = attempt.error.find("No such file or directory") != std::string::npos;
    attempt.no_such_file = no_file && attempt.error.find(name) != std::string::npos;
    // The callers up to 2.21 print errno, which today's loader leaves alone; its text has the
    // number's meaning.
    if (no_file) attempt.error_number = ENOENT;
    return attempt;
}

const char* tag_of(Flavour flavour) {
    return flavour == Flavour::net ? "NET" : "RMA";
}

/// Prints what the callers of one wording print around the attempts of an entry.
class OpenLines {
  public:
    OpenLines(const Candidate& entry, Flavour flavour, const HostPolicy& policy, const HostLog& log)
        : entry_(entry), tag_(tag_of(flavour)), wording_(policy.wording), log_(log) {}

    void before() const {
        if (wording_ == Wording::r2_12 && entry_.origin == Origin::environment)
            say(log_, NCCL_LOG_INFO, NCCL_INIT,
                fmt::format(messages::kOldNameSetByEnv, entry_.names.front()));
    }

    void opened(const std::string& name) const {
        const bool named = wording_ == Wording::r2_21 || wording_ == Wording::r2_22 ||
                           wording_ == Wording::r2_26 || wording_ == Wording::r2_27;
        // The list callers of 2.27 pass the default name through the same path.
        const bool by_user = entry_.origin == Origin::environment || wording_ == Wording::r2_27;
        if (named && by_user) info(fmt::format(messages::kNameSetByEnv, tag_, name));
    }

    void failed(const Attempt& attempt, const std::string& name) {
        last_ = attempt;
        tried_.push_back(name);
        if (wording_ == Wording::r2_12 || wording_ == Wording::r2_21) return;
        if (attempt.no_such_file) {
            if (wording_ == Wording::r2_26) missing_.clear();  // that release overwrites its list
            missing_ += " " + name;
        } else if (wording_ == Wording::r2_28) {
            info(fmt::format(messages::kNamedLoaderError, tag_, name, attempt.error));
        } else {
            info(fmt::format(messages::kLoaderError, tag_, attempt.error));
        }
    }

    void nothing_opened() const {
        switch (wording_) {
            case Wording::r2_12:
                if (last_.error_number == ENOENT)
                    info(fmt::format(messages::kOldNotFound, last_.error, tried_.front()));
                else
                    info(fmt::format(messages::kOldLoadReturned, last_.error_number, last_.error));
                break;
            case Wording::r2_21:
                summary_of_2_21();
                info(messages::kUsingInternalNetwork);
                break;
            case Wording::r2_22:
                could_not_find(". Using internal network plugin.");
                if (missing_.empty()) info(messages::kUsingInternalNetwork);
                break;
            case Wording::r2_26:
                could_not_find(". Using internal net plugin.");
                if (missing_.empty())
                    info(fmt::format(messages::kLoaderError, tag_, "Using internal net plugin."));
                break;
            case Wording::r2_27:
                could_not_find(". ");
                break;
            case Wording::r2_28:
                could_not_find("");
                break;
        }
    }

  private:
    void info(const std::string& text) const { say(log_, NCCL_LOG_INFO, kInitNet, text); }

    void could_not_find(const char* ending) const {
        if (!missing_.empty()) info(fmt::format(messages::kCouldNotFind, tag_, missing_, ending));
    }

    /// That release drops the last of two names from its list, so the first is printed either way.
    void summary_of_2_21() const {
        say(log_, NCCL_LOG_INFO, NCCL_ENV | NCCL_TUNING,
            fmt::format(messages::kLoadReturnedWhenLoading, last_.error_number, last_.error,
                        tried_.front()));
    }

    const Candidate& entry_;
    const char* tag_;
    Wording wording_;
    const HostLog& log_;
    Attempt last_;
    std::string missing_;
    std::vector<std::string> tried_;
};

}  // namespace

Library::Library(void* handle, std::string opened_as)
    : handle_(handle), opened_as_(std::move(opened_as)) {
    link_map* map = nullptr;
    if (handle_ != nullptr && ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr)
        mapped_name_ = map->l_name;
}

Library& Library::operator=(Library&& other) noexcept {
    if (this != &other) {
        close();
        handle_ = std::exchange(other.handle_, nullptr);
        opened_as_ = std::move(other.opened_as_);
        mapped_name_ = std::move(other.mapped_name_);
    }
    return *this;
}

void Library::close() noexcept {
    if (handle_ != nullptr) ::dlclose(std::exchange(handle_, nullptr));
}

const void* Library::symbol(const char* symbol_name) const noexcept {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol_name);
}

std::string Library::real_path() const {
    const char* name = mapped_name_.empty() ? "/proc/self/exe" : mapped_name_.c_str();
    std::array<char, PATH_MAX> path{};
    return ::realpath(name, path.data()) != nullptr ? std::string(path.data()) : mapped_name_;
}

std::string Library::handle_text() const {
    return handle_ == nullptr ? std::string("(nil)") : fmt::format("{}", handle_);
}

std::optional<Library> open_entry(const Candidate& entry, Flavour flavour, const HostPolicy& policy,
                                  const HostLog& log) {
    const bool adopted = entry.origin == Origin::gin_library || entry.origin == Origin::net_library;
    OpenLines lines(entry, flavour, policy, log);
    lines.before();
    for (std::size_t i = 0; i < entry.attempts.size(); ++i) {
        const Attempt attempt = try_open(entry.attempts[i], entry.names[i]);
        if (attempt.handle != nullptr) {
            if (!adopted) lines.opened(entry.names[i]);
            return Library(attempt.handle, entry.names[i]);
        }
        if (!adopted) lines.failed(attempt, entry.names[i]);
    }
    if (!adopted) lines.nothing_opened();
    return std::nullopt;
}

}  // namespace duofi::loader
