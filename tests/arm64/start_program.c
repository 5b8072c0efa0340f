/* Programs for arm64 that a test starts: the kernel here refuses them, so the emulation is started with them as its
   argument. EMULATED_BY names it and QEMU_LD_PREFIX, which it reads itself, the sysroot (cmake/arm64.cmake). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

enum { kMostWords = 256 };

struct Call {
    char program[PATH_MAX];
    char* words[kMostWords + 3];
};

static int is_arm64(const char* path) {
    Elf64_Ehdr head;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : read(file, &head, sizeof(head));
    if (file >= 0) close(file);
    return got == (ssize_t)sizeof(head) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == EM_AARCH64;
}

/* Whether `path` has to be emulated; then `call` says how: emulation -0 <name> <program> <arguments>. */
static int emulation_of(const char* path, char* const argv[], struct Call* call) {
    char* const emulation = getenv("EMULATED_BY");
    ssize_t length = -1;
    int count = 0;
    if (emulation == NULL || strchr(path, '/') == NULL || !is_arm64(path)) return 0;
    while (argv[count] != NULL) ++count;
    if (count == 0 || count > kMostWords - 2) return 0;
    if (strcmp(path, "/proc/self/exe") == 0) length = readlink(path, call->program, sizeof(call->program) - 1);
    if (length < 0) length = (ssize_t)strlen(strncpy(call->program, path, sizeof(call->program) - 1));
    call->program[length] = '\0';
    call->words[0] = emulation;
    call->words[1] = "-0";
    call->words[2] = argv[0];
    call->words[3] = call->program;
    memcpy(call->words + 4, argv + 1, (size_t)count * sizeof(char*)); /* with the NULL at the end */
    return 1;
}

SEEN int execv(const char* path, char* const argv[]) {
    struct Call call;
    if (emulation_of(path, argv, &call)) return execvpe(call.words[0], call.words, environ);
    return execve(path, argv, environ);
}

SEEN int execvp(const char* file, char* const argv[]) {
    struct Call call;
    if (emulation_of(file, argv, &call)) return execvpe(call.words[0], call.words, environ);
    return execvpe(file, argv, environ);
}

SEEN int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                      const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
    typedef int Spawn(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                      char* const[]);
    struct Call call;
    Spawn* next = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "posix_spawnp");
    if (next == NULL) return ENOSYS;
    if (emulation_of(file, argv, &call)) return next(pid, call.words[0], actions, attributes, call.words, envp);
    return next(pid, file, actions, attributes, argv, envp);
}
