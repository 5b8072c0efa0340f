// A mutex that cannot be locked is an exception for the boundary to turn into ncclInternalError,
// never the end of the process. The mutexes of endpoints check for errors, so holding one makes
// every call of this thread fail.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <system_error>

#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {
namespace {

class MutexFailure : public OverProvider {
  protected:
    template <typename Call>
    static bool fails(Side& side, Call&& call) {
        const std::scoped_lock lock(side.ofi().mutex());
        try {
            call();
        } catch (const std::system_error& e) {
            return e.code() == std::errc::resource_deadlock_would_occur;
        }
        return false;
    }
    /// The same in a child process, which must live. Without a lock in its way a call may also succeed. A child that
    /// was made while the service thread held a lock waits for it for ever: that one is ended, and another is made.
    template <typename Call>
    static void expect_survives(Side& side, Call&& call, bool may_succeed = false) {
        constexpr int kTries = 10;
        for (int attempt = 0; attempt < kTries; ++attempt) {
            const pid_t child = ::fork();
            ASSERT_GE(child, 0);
            if (child == 0) {
                ::alarm(5);
                std::_Exit(fails(side, call) ? 0 : 3);
            }
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) continue;
            ASSERT_TRUE(WIFEXITED(status)) << "it ended by signal " << WTERMSIG(status);
            ASSERT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3) << "exit " << WEXITSTATUS(status);
            EXPECT_TRUE(may_succeed || WEXITSTATUS(status) == 0) << "it succeeded";
            return;
        }
        FAIL() << "every child met a lock";
    }
};

TEST_P(MutexFailure, is_an_exception_in_data_calls) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    unsigned char data[16] = {};
    const RecvBuffer buffer{data, sizeof(data), 1, nullptr};
    EXPECT_TRUE(fails(a, [&] { (void)link.send->isend(data, 8, 1, nullptr); }));
    EXPECT_TRUE(fails(b, [&] { (void)link.recv->irecv(&buffer, 1); }));
    Request* request = receive(*link.recv.get(), data, sizeof(data), 1);
    int done = 0;
    EXPECT_TRUE(fails(b, [&] { (void)test_request(request, &done, nullptr); }));
    EXPECT_EQ(done, 0);
    (void)finish({request, send(*link.send.get(), data, 8, 1)});  // no trace is left
}

TEST_P(MutexFailure, is_an_exception_in_listen_and_accept) {
    Side a(GetParam());
    Listener listener = listen_on(a);
    EXPECT_TRUE(fails(a, [&] { (void)listener.comm->accept(); }));
    FabricEndpoint& endpoint = a.take();
    Handle handle;
    expect_survives(a, [&] { (void)endpoint.listen(handle); });
    endpoint.release();
}

TEST_P(MutexFailure, is_an_exception_in_connect) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    FabricEndpoint& endpoint = a.take();
    expect_survives(a, [&] { (void)endpoint.connect(listener.handle, nullptr); });
    endpoint.release();
}

TEST_P(MutexFailure, does_not_end_the_process_when_a_done_request_is_given_back) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    unsigned char data[16] = {};
    Request* request = send(*link.send.get(), data, 8, 1);
    until("the send", [&] {
        a.poll();
        return !request->pending();
    });
    expect_survives(
        a,
        [&] {
            int done = 0;
            (void)test_request(request, &done, nullptr);
        },
        true);
    (void)finish(request);
}

TEST_P(MutexFailure, does_not_end_the_process_in_close) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    expect_survives(a, [&] { link.send->close(); });
    expect_survives(b, [&] { link.recv->close(); });
}

DUOFI_OVER_PROVIDERS(MutexFailure);

}  // namespace
}  // namespace duofi::net::comm_test
