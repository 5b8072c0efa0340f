#include "tests/unit/ofi/discovery/child_process.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>

#include "common/util/unique_fd.hpp"

namespace duofi::test {
namespace {

void write_all(int fd, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n <= 0) return;
        done += static_cast<std::size_t>(n);
    }
}

[[noreturn]] void run_child(int fd, const std::function<std::string()>& body) {
    int code = 0;
    try {
        write_all(fd, body());
    } catch (const std::exception& failure) {
        write_all(fd, std::string("threw: ") + failure.what());
        code = 1;
    }
    ::_exit(code);
}

/// Reads to the end; false when the deadline passes first.
bool read_all(int fd, const Deadline& deadline, std::string& text) {
    std::array<char, 4096> buffer{};
    for (;;) {
        pollfd ready{fd, POLLIN, 0};
        const int timeout_ms = static_cast<int>(deadline.remaining() / kMillisecond);
        if (::poll(&ready, 1, timeout_ms) <= 0) return false;
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n <= 0) return n == 0;
        text.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& body, Nanoseconds limit) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return {false, "pipe failed"};
    UniqueFd reader(ends[0]), writer(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return {false, "fork failed"};
    if (child == 0) run_child(writer.get(), body);
    writer.reset();

    ChildResult result;
    const bool finished = read_all(reader.get(), Deadline(limit), result.text);
    if (!finished) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    result.ok = finished && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!finished) result.text += " [deadline passed]";
    if (WIFSIGNALED(status))
        result.text += " [killed by signal " + std::to_string(WTERMSIG(status)) + "]";
    return result;
}

}  // namespace duofi::test
