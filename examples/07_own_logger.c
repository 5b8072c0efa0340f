/* A host in plain C99 with a log callback of its own: what a runtime needs that is written in
 * neither C++ nor with any library of this project. Only the C headers of common/abi are used.
 *
 *   LD_LIBRARY_PATH=<folder of libnccl-net-duofi.so> ./07_own_logger [library]
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/abi/net_v6.h"

static int lines_seen;

static const char* level_name(ncclDebugLogLevel level) {
    switch (level) {
        case NCCL_LOG_VERSION:
            return "version";
        case NCCL_LOG_WARN:
            return "warning";
        case NCCL_LOG_INFO:
            return "info";
        case NCCL_LOG_ABORT:
            return "abort";
        case NCCL_LOG_TRACE:
            return "trace";
        default:
            return "other";
    }
}

/* The plugin does not know what the user wants to see: it sends every line, the host decides. Calls
 * may come from any thread of the plugin, so a real logger needs a lock around what is not
 * thread-safe itself. */
static void my_logger(ncclDebugLogLevel level, unsigned long flags, const char* file, int line,
                      const char* format, ...) {
    char text[1024];
    const char* slash = file ? strrchr(file, '/') : NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ++lines_seen;
    printf("%-7s %s%s%-24s:%3d  %s\n", level_name(level), flags & NCCL_INIT ? "init " : "",
           flags & NCCL_NET ? "net " : "",
           slash  ? slash + 1
           : file ? file
                  : "?",
           line, text);
}

int main(int argc, char** argv) {
    const char* file = argc > 1 ? argv[1] : "libnccl-net-duofi.so";
    const ncclNet_v6_t* net;
    ncclNetProperties_v6_t properties;
    ncclResult_t result;
    int devices = 0, i;
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    net = (const ncclNet_v6_t*)dlsym(library, "ncclNetPlugin_v6");
    if (!net) {
        fprintf(stderr, "%s exports no ncclNetPlugin_v6\n", file);
        return 1;
    }
    printf("network %s\n", net->name); /* valid before init: hosts filter by it */
    result = net->init(my_logger);
    if (result == ncclSuccess) result = net->devices(&devices);
    if (result != ncclSuccess) {
        fprintf(stderr, "init or devices returned %d\n", (int)result);
        return 1;
    }
    for (i = 0; i < devices; ++i)
        if (net->getProperties(i, &properties) == ncclSuccess)
            printf("device %d: %s, %d Mbit/s\n", i, properties.name, properties.speed);
    printf("%d lines came through our logger\n", lines_seen);
    dlclose(library); /* v6 has no finalize; the library really goes */
    return devices > 0 && lines_seen > 0 ? 0 : 1;
}
