#include "common/bootstrap/child_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr int kThrew = 70;
constexpr int kNoProgram = 127;

int guarded(int rank, const std::function<int(int)>& body) noexcept {
    const char* what = "unknown";
    try {
        return body(rank);
    } catch (const std::exception& error) {
        what = error.what();
        log::warn(log::all, messages::kSpawnBodyThrew, rank, what);
    } catch (...) {
        log::warn(log::all, messages::kSpawnBodyThrew, rank, what);
    }
    return kThrew;
}

[[noreturn]] void run_child(pid_t parent, int rank, const Variables& variables,
                            const std::function<int(int)>& body) noexcept {
    static_cast<void>(::setpgid(0, 0));
    static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
    if (::getppid() != parent) ::_exit(kNoProgram);  // the parent ended before the line above
    for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE}) std::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    static_cast<void>(::sigprocmask(SIG_SETMASK, &none, nullptr));
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    const int code = guarded(rank, body);
    std::fflush(nullptr);
    ::_exit(code);
}

}  // namespace

Variables variables_of(const SpawnRequest& request, int rank) {
    const std::string size = std::to_string(request.size);
    Variables variables{{"RANK", std::to_string(rank)},
                        {"WORLD_SIZE", size},
                        {"LOCAL_RANK", std::to_string(rank)},
                        {"LOCAL_WORLD_SIZE", size},
                        {"MASTER_ADDR", request.root_host}};
    if (request.root_port != 0)
        variables.emplace_back("MASTER_PORT", std::to_string(request.root_port));
    variables.insert(variables.end(), request.variables.begin(), request.variables.end());
    return variables;
}

Result<ChildProcess> ChildProcess::start(int rank, const Variables& variables,
                                         const std::function<int(int)>& body) {
    std::fflush(nullptr);  // or the child prints the parent's buffered text a second time
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail(Errc::system, "fork", errno);
    if (pid == 0) run_child(parent, rank, variables, body);
    static_cast<void>(
        ::setpgid(pid, pid));  // both sides do it, so that it is done before either goes on
    return ChildProcess(pid, rank);
}

void ChildProcess::signal(int number) const noexcept {
    if (running_ && ::kill(-pid_, number) != 0) static_cast<void>(::kill(pid_, number));
}

bool ChildProcess::reap(bool stopping) noexcept {
    if (!running_) return false;
    siginfo_t info{};
    const int looked = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && info.si_pid == 0) return false;
    if (looked != 0 && errno == EINTR) return false;
    // What the rank started in its group goes with it, while the number still belongs to it.
    static_cast<void>(::kill(-pid_, SIGKILL));
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, 0);
    running_ = false;
    exit_.stopped_by_us = stopping;
    if (ended == pid_ && WIFEXITED(status)) exit_.exit_code = WEXITSTATUS(status);
    if (ended == pid_ && WIFSIGNALED(status)) exit_.signal_number = WTERMSIG(status);
    return true;
}

int become_program(const std::vector<std::string>& argv) {
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
    return kNoProgram;
}

}  // namespace duofi::bootstrap
