/* A program that has MPI already: its ranks meet by one MPI_Allgather, without store or address.
 *     mpirun -n 4 mpi_all_reduce */
#include <mpi.h>
#include <stdio.h>
#include <tutti/tutti.h>

static tutti_status gather(const void* input, void* output, size_t size, void* user) {
    const MPI_Comm* world = (const MPI_Comm*)user;
    const int failed =
        MPI_Allgather(input, (int)size, MPI_BYTE, output, (int)size, MPI_BYTE, *world);
    return failed == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_NETWORK;
}

static int fail(const tutti_error* error) {
    fprintf(stderr, "%s: %s\n", tutti_status_name(error->status), error->message);
    return MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    MPI_Comm world = MPI_COMM_WORLD;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group* group = NULL;
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (tutti_group_create_with_allgather(NULL, gather, &world, NULL, rank, size, NULL, &group,
                                          &error))
        return fail(&error);

    double sum = rank + 1;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_FLOAT64);
    if (tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) return fail(&error);
    printf("rank %d of %d: sum = %g\n", rank, size, sum);

    if (tutti_destroy_process_group(group, NULL, &error)) return fail(&error);
    tutti_group_release(group);
    MPI_Finalize();
    return 0;
}
