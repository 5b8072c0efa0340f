#include "common/loader/host_logger.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "common/util/parse.hpp"
#include "common/util/settings.hpp"

namespace duofi::loader {
namespace {

constexpr std::size_t kLineBytes = 4096;  // longer lines are cut

struct Named {
    std::string_view name;
    unsigned long value;
};

constexpr Named kLevels[] = {{"VERSION", NCCL_LOG_VERSION},
                             {"WARN", NCCL_LOG_WARN},
                             {"INFO", NCCL_LOG_INFO},
                             {"ABORT", NCCL_LOG_ABORT},
                             {"TRACE", NCCL_LOG_TRACE}};

constexpr Named kSubsystems[] = {{"INIT", NCCL_INIT},
                                 {"COLL", NCCL_COLL},
                                 {"P2P", NCCL_P2P},
                                 {"SHM", NCCL_SHM},
                                 {"NET", NCCL_NET},
                                 {"GRAPH", NCCL_GRAPH},
                                 {"TUNING", NCCL_TUNING},
                                 {"ENV", NCCL_ENV},
                                 {"ALLOC", NCCL_ALLOC},
                                 {"CALL", NCCL_CALL},
                                 {"PROXY", NCCL_PROXY},
                                 {"NVLS", NCCL_NVLS},
                                 {"REG", NCCL_REG},
                                 {"PROFILE", NCCL_PROFILE},
                                 {"BOOTSTRAP", NCCL_BOOTSTRAP},
                                 {"RAS", NCCL_RAS},
                                 {"DESTROY", NCCL_DESTROY},
                                 {"ALLOC_HOST", NCCL_ALLOC_HOST},
                                 {"ALL", ~0UL}};

template <std::size_t N>
unsigned long value_of(const Named (&names)[N], std::string_view name, unsigned long otherwise) {
    for (const Named& entry : names)
        if (equal_ignoring_case(entry.name, name)) return entry.value;
    return otherwise;
}

/// Sink and filter of the process.
class Logger {
  public:
    Logger() {
        level_ = host_level_of(environment_value("NCCL_DEBUG").value_or(""));
        const auto subsystems = environment_value("NCCL_DEBUG_SUBSYS");
        subsystems_ = subsystems ? host_subsystems_of(*subsystems) : kDefaultSubsystems;
    }

    void pass(int level, unsigned long subsystems, const char* file, int line, const char* format,
              std::va_list arguments) {
        const std::shared_lock lock(mutex_);
        if (level > level_ || (subsystems & subsystems_) == 0) return;
        std::array<char, kLineBytes> text{};
        std::vsnprintf(text.data(), text.size(), format, arguments);
        deliver({level, subsystems, file != nullptr ? file : "<unknown>", line, text.data()});
    }

    void pass(int level, unsigned long subsystems, const std::string& text) {
        const std::shared_lock lock(mutex_);
        if (level > level_ || (subsystems & subsystems_) == 0) return;
        deliver({level, subsystems, "", 0, text});
    }

    void set_sink(PluginLineSink sink) {
        const std::unique_lock lock(mutex_);
        sink_ = std::move(sink);
    }

    void set_level(int level, unsigned long subsystems) {
        const std::unique_lock lock(mutex_);
        level_ = level;
        subsystems_ = subsystems;
    }

  private:
    static constexpr unsigned long kDefaultSubsystems = NCCL_INIT | NCCL_BOOTSTRAP | NCCL_ENV;

    void deliver(PluginLine line) {
        while (line.text.ends_with('\n')) line.text.pop_back();
        if (sink_) {
            sink_(line);
            return;
        }
        const std::string text = as_host_line(line) + "\n";
        std::fwrite(text.data(), 1, text.size(), stderr);  // one call, so lines stay whole
    }

    std::shared_mutex mutex_;
    PluginLineSink sink_;
    int level_ = NCCL_LOG_NONE;
    unsigned long subsystems_ = kDefaultSubsystems;
};

/// Never destroyed: a plugin may log until the process ends.
Logger& logger() {
    static auto* const instance = new Logger;
    return *instance;
}

extern "C" void duofi_host_log(ncclDebugLogLevel level, unsigned long flags, const char* file,
                               int line, const char* format, ...) noexcept {
    if (format == nullptr) return;
    std::va_list arguments;
    va_start(arguments, format);
    try {
        logger().pass(level, flags, file, line, format, arguments);
    } catch (...) {
        // A line that cannot be delivered is dropped; nothing may escape into the plugin.
        static_cast<void>(level);
    }
    va_end(arguments);
}

}  // namespace

ncclDebugLogger_t host_logger() noexcept {
    return &duofi_host_log;
}

void set_host_sink(PluginLineSink sink) {
    logger().set_sink(std::move(sink));
}

void set_host_level(int level, unsigned long subsystems) {
    logger().set_level(level, subsystems);
}

void host_line(int level, unsigned long subsystems, const std::string& text) {
    logger().pass(level, subsystems, text);
}

int host_level_of(const std::string& text) noexcept {
    return static_cast<int>(value_of(kLevels, text, NCCL_LOG_NONE));
}

unsigned long host_subsystems_of(const std::string& text) noexcept {
    std::string_view rest(text);
    const bool inverted = rest.starts_with('^');
    if (inverted) rest.remove_prefix(1);
    unsigned long mask = inverted ? ~0UL : 0;
    while (!rest.empty()) {
        const std::size_t end = rest.find(',');
        const unsigned long bit = value_of(kSubsystems, rest.substr(0, end), 0);
        mask = inverted ? mask & ~bit : mask | bit;
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return mask;
}

std::string as_host_line(const PluginLine& line) {
    if (line.level == NCCL_LOG_VERSION || line.level == NCCL_LOG_ABORT) return line.text;
    std::array<char, 256> node{};
    if (::gethostname(node.data(), node.size() - 1) != 0) node[0] = '?';
    std::string_view name(node.data());
    name = name.substr(0, name.find('.'));
    std::string text(name);
    text +=
        ":" + std::to_string(::getpid()) + ":" + std::to_string(::syscall(SYS_gettid)) + " [0] ";
    const bool placed = line.level != NCCL_LOG_INFO && !line.file.empty();
    if (placed) text += line.file + ":" + std::to_string(line.line) + " ";
    text += line.level == NCCL_LOG_WARN   ? "NCCL WARN "
            : line.level == NCCL_LOG_INFO ? "NCCL INFO "
                                          : "NCCL TRACE ";
    return text + line.text;
}

}  // namespace duofi::loader
