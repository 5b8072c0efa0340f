/* open_close_test <module> <symbol>: 100 times dlopen, read the table's name before any init,
 * dlclose; each time the module must leave the address space (architecture 2, user report A5). */
#define _XOPEN_SOURCE 700 /* realpath */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/abi/net_v6.h"

enum { ROUNDS = 100 };

/* 1 if a mapping of this process names the file, 0 if none does, -1 on error. */
static int is_mapped(const char* path) {
    char line[4608];
    int found = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return -1;
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, path) != NULL) found = 1;
    fclose(maps);
    return found;
}

/* Where the mapping table names the module: symbolic links resolved. */
static int round_trip(const char* module, const char* real_path, const char* symbol) {
    const ncclNet_v6_t* table;
    void* library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("dlopen: %s\n", dlerror());
        return 0;
    }
    if (is_mapped(real_path) != 1) {
        printf("control: %s is open but not found in the address space\n", real_path);
        return 0;
    }
    table = (const ncclNet_v6_t*)dlsym(library, symbol);
    if (table == NULL) {
        printf("dlsym: %s\n", dlerror());
        return 0;
    }
    if (table->name == NULL || table->name[0] == '\0') {
        printf("no name before init\n");
        return 0;
    }
    if (dlclose(library) != 0) {
        printf("dlclose: %s\n", dlerror());
        return 0;
    }
    if (is_mapped(real_path) != 0) {
        printf("%s is still mapped after dlclose\n", real_path);
        return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    int i;
    char* real_path;
    if (argc != 3) {
        printf("usage: %s <module> <symbol>\n", argv[0]);
        return 2;
    }
    real_path = realpath(argv[1], NULL);
    if (real_path == NULL) {
        printf("%s cannot be found\n", argv[1]);
        return 1;
    }
    for (i = 0; i < ROUNDS; ++i) {
        if (!round_trip(argv[1], real_path, argv[2])) {
            printf("failed in round %d\n", i + 1);
            free(real_path);
            return 1;
        }
    }
    printf("%d rounds, nothing left\n", ROUNDS);
    free(real_path);
    return 0;
}
