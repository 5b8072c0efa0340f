// Child processes of the tests of shared memory: a body that ends with a number, and words between parent and child. A
// child that hangs is ended by an alarm, a forgotten one by the destructor. One thread.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <type_traits>

namespace duofi::test {

class Child {
  public:
    static constexpr unsigned kAlarmSeconds = 60;
    /// Exit codes of wait(): those of the body, or these.
    static constexpr int kSignalled = 1000;  ///< + number of the signal

    /// One end of the connection; values of plain types go over it whole.
    class Line {
      public:
        explicit Line(int fd) : fd_(fd) {}
        template <typename T>
        bool send(const T& value) const {
            static_assert(std::is_trivially_copyable_v<T>);
            return ::send(fd_, &value, sizeof(T), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(T));
        }
        template <typename T>
        bool receive(T& value) const {
            static_assert(std::is_trivially_copyable_v<T>);
            return ::recv(fd_, &value, sizeof(T), 0) == static_cast<ssize_t>(sizeof(T));
        }
        bool ring() const { return send('x'); }
        bool heard() const {
            char word = 0;
            return receive(word);
        }

      private:
        int fd_;
    };

    using Body = std::function<int(const Line&)>;

    explicit Child(const Body& body) {
        std::array<int, 2> ends{-1, -1};
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(ends[0]);
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::alarm(kAlarmSeconds);
            ::_exit(body(Line(ends[1])));
        }
        ::close(ends[1]);
        fd_ = ends[0];
    }
    ~Child() {
        kill();
        if (fd_ >= 0) ::close(fd_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] Line line() const { return Line(fd_); }

    /// The body's number, or kSignalled + signal.
    int wait() {
        if (pid_ <= 0) return -1;
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
    }
    /// Leaves nothing of it behind, not even a zombie.
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        (void)wait();
    }

  private:
    pid_t pid_ = -1;
    int fd_ = -1;
};

/// Runs a body in a child and returns its number.
inline int in_child(const std::function<int()>& body) {
    Child child([&](const Child::Line&) { return body(); });
    return child.wait();
}

}  // namespace duofi::test
