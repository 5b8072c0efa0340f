/* A C99 program over the installed interface: four ranks as threads sum a vector. Exit 0: all is well. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "p2p/abi.h"
#include "p2p/p2p.h"

enum { kRanks = 4, kCount = 10000 };

static duofiP2pBootstrap bootstraps[kRanks];

static const char* run_rank(int rank) {
    static float input[kRanks][kCount], output[kRanks][kCount];
    duofiP2pComm* comm = NULL;
    duofiP2pConfig config;
    ncclResult_t error = ncclInternalError;
    int size = 0, dead = 7;
    if (duofiP2pConfigInit(&config) != ncclSuccess) return "config";
    config.channels = 2;
    if (duofiP2pCommCreate(&comm, &bootstraps[rank], &config) != ncclSuccess) return "create";
    if (duofiP2pCommSize(comm, &size) != ncclSuccess || size != kRanks) return "size";
    for (int i = 0; i < kCount; ++i) input[rank][i] = (float)(rank + i % 100);
    if (duofiP2pAllReduce(input[rank], output[rank], kCount, duofiP2pFloat32, duofiP2pSum, comm) !=
        ncclSuccess)
        return duofiP2pGetLastError(comm);
    for (int i = 0; i < kCount; ++i)
        if (output[rank][i] != (float)(6 + 4 * (i % 100))) return "wrong sum";
    if (duofiP2pCommGetAsyncError(comm, &error, &dead) != ncclSuccess || error != ncclSuccess ||
        dead != -1)
        return "health";
    if (duofiP2pCommDestroy(comm) != ncclSuccess) return "destroy";
    return NULL;
}

static void* thread_main(void* rank) {
    return (void*)(size_t)run_rank((int)(size_t)rank);
}

int main(void) {
    pthread_t threads[kRanks];
    int failed = 0;
    if (strcmp(ncclTransports[TRANSPORT_P2P]->name, "P2P") != 0) return 2;
    if (duofiP2pBootstrapThreads(kRanks, bootstraps) != ncclSuccess) return 3;
    for (size_t rank = 0; rank < kRanks; ++rank)
        if (pthread_create(&threads[rank], NULL, thread_main, (void*)rank) != 0) return 4;
    for (int rank = 0; rank < kRanks; ++rank) {
        void* text = NULL;
        pthread_join(threads[rank], &text);
        if (text == NULL) continue;
        fprintf(stderr, "rank %d: %s\n", rank, (const char*)text);
        failed = 1;
    }
    for (int rank = 0; rank < kRanks; ++rank) duofiP2pBootstrapFree(&bootstraps[rank]);
    return failed;
}
