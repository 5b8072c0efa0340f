// A mutex whose failure is an exception, so that the C boundary turns it into ncclInternalError instead of
// the process aborting. Checks for errors: locking it twice from one thread fails with EDEADLK.
#pragma once

#include <pthread.h>

#include <system_error>

namespace duofi {

class Mutex {
  public:
    Mutex() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&mutex_, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    ~Mutex() { pthread_mutex_destroy(&mutex_); }
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    /// Throws std::system_error.
    void lock() {
        if (const int code = pthread_mutex_lock(&mutex_); code != 0) [[unlikely]]
            throw std::system_error(code, std::generic_category(), "pthread_mutex_lock");
    }
    bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_;
};

}  // namespace duofi
