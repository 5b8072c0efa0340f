#include "tests/support/process_facts.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "common/util/clock.hpp"
#include "tests/support/failure.hpp"

namespace duofi::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> descriptor_targets() {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd", ignored)) {
        const fs::path target = fs::read_symlink(entry.path(), ignored);
        // The directory that is being listed counts as one descriptor of ours; leave it out.
        if (target.string().find("/proc/") == 0 && target.filename() == "fd") continue;
        found.push_back(target.string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

int entries(const char* folder) {
    std::error_code ignored;
    return static_cast<int>(
        std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()));
}

}  // namespace

std::string read_text(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::vector<std::string> shm_entries_of(pid_t pid) {
    std::vector<std::string> found;
    const std::string number = std::to_string(pid);
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/dev/shm", ignored)) {
        const std::string name = entry.path().filename().string();
        for (std::size_t at = name.find(number); at != std::string::npos;
             at = name.find(number, at + 1)) {
            const std::size_t end = at + number.size();
            const bool starts =
                at == 0 || std::isdigit(static_cast<unsigned char>(name[at - 1])) == 0;
            const bool ends =
                end == name.size() || std::isdigit(static_cast<unsigned char>(name[end])) == 0;
            if (starts && ends) {
                found.push_back(name);
                break;
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

ProcessFacts ProcessFacts::now() {
    ProcessFacts facts;
    facts.threads = entries("/proc/self/task");
    facts.descriptors = descriptor_targets();
    std::set<std::string> files;
    std::istringstream maps(read_text("/proc/self/maps"));
    for (std::string line; std::getline(maps, line);) {
        ++facts.mappings;
        if (const auto slash = line.find('/'); slash != std::string::npos) {
            files.insert(line.substr(slash));
        }
    }
    facts.libraries.assign(files.begin(), files.end());
    facts.shm_entries = shm_entries_of(::getpid());
    std::istringstream statm(read_text("/proc/self/statm"));
    long total = 0;
    long resident = 0;
    statm >> total >> resident;
    facts.rss_kib = resident * (::sysconf(_SC_PAGESIZE) / 1024);
    return facts;
}

bool ProcessFacts::maps_library(const std::string& part) const {
    return std::any_of(libraries.begin(), libraries.end(), [&](const std::string& path) {
        return path.find(part) != std::string::npos;
    });
}

std::string ProcessFacts::to_string() const {
    return fmt::format("threads {} descriptors {} mappings {} shm {} rss {} KiB\n  {}\n  {}",
                       threads, descriptors.size(), mappings, shm_entries.size(), rss_kib,
                       fmt::join(descriptors, " "), fmt::join(shm_entries, " "));
}

void stop_process(pid_t pid) {
    require(::kill(pid, SIGSTOP) == 0, "process {} cannot be stopped", pid);
    const auto runs = [](const std::filesystem::directory_entry& thread) {
        const std::string stat = read_text(thread.path() / "stat");
        return !stat.empty() && stat.find(") T ") == std::string::npos;
    };
    const Deadline deadline(patience(5 * kSecond));
    const auto threads = [&] { return std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task"); };
    while (std::any_of(threads(), std::filesystem::directory_iterator(), runs)) {
        require(!deadline.passed(), "process {} does not stop", pid);
        ::usleep(100);
    }
}

}  // namespace duofi::test
