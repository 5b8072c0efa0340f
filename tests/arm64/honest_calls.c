/* System calls that qemu-user answers wrongly, put right for the program that carries this file: so more of the product
   runs as on a machine. Without EMULATED_BY (cmake/arm64.cmake) they are the usual ones. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static int emulated(void) {
    return getenv("EMULATED_BY") != NULL;
}

/* The emulation makes up the stat file of the process itself, with another start time than others see; not that of its
   first thread, which holds the same. */
SEEN int open(const char* path, int flags, ...) {
    char own[32], first_thread[48];
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    snprintf(own, sizeof(own), "/proc/%d/stat", getpid());
    if (emulated() && (strcmp(path, "/proc/self/stat") == 0 || strcmp(path, own) == 0)) {
        snprintf(first_thread, sizeof(first_thread), "/proc/self/task/%d/stat", getpid());
        path = first_thread;
    }
    return openat(AT_FDCWD, path, flags, mode);
}

/* The emulation says yes to these and does nothing; kernels that lack them say EINVAL. */
SEEN int madvise(void* begin, size_t bytes, int advice) {
    enum { kPopulateRead = 22, kPopulateWrite = 23 };
    const int unknown = advice == MADV_DONTFORK || advice == MADV_WIPEONFORK || advice == kPopulateRead ||
                        advice == kPopulateWrite;
    if (unknown && emulated()) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, begin, bytes, advice);
}
