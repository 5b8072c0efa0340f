/* duofi-mpi-pair <seconds> <bytes> ...: two MPI ranks send messages of each size back and forth, blocking, from one
 * buffer into another. Rank 0 prints "<bytes> <ns>" per size: half a round trip. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double round_trips(int rank, char* out, char* in, int bytes, long count) {
    const double start = MPI_Wtime();
    for (long i = 0; i < count; ++i) {
        if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - start;
}

int main(int argc, char** argv) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || size != 2) {
        if (rank == 0) fprintf(stderr, "duofi-mpi-pair <seconds> <bytes> ... with two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const double seconds = atof(argv[1]);
    for (int i = 2; i < argc; ++i) {
        const int bytes = atoi(argv[i]);
        char* out = malloc((size_t)bytes + 1);
        char* in = malloc((size_t)bytes + 1);
        if (bytes < 0 || out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
        memset(out, 1, (size_t)bytes + 1);
        memset(in, 2, (size_t)bytes + 1);
        const long first = bytes >= 1 << 24 ? 2 : 20;
        double took = round_trips(rank, out, in, bytes, first); /* also warms up */
        long count = (long)(seconds / (took / (double)first + 1e-8)) + 3;
        MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        took = round_trips(rank, out, in, bytes, count);
        if (rank == 0) printf("%d %.1f\n", bytes, took / (double)count / 2 * 1e9);
        free(out);
        free(in);
    }
    return MPI_Finalize();
}
