/* Measures MPI's operations as tutti-bench does tutti's: the same cells, the same method, by the
 * same code. against.py compiles it with what both share, by the mpicc of each MPI that is there,
 * and starts it by its mpirun. */
#include <limits.h>
#include <mpi.h>

#include "messages.h"
#include "peer.h"

static int rank, ranks;
static MPI_Datatype type;
static int element_size;

static void die(const char* why) {
    fprintf(stderr, "mpi_peer, rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* In the order of element_types; what MPI does not add is not there. */
static MPI_Datatype type_of(int element) {
    const MPI_Datatype types[] = {
        MPI_INT8_T,   MPI_UINT8_T, MPI_INT16_T,         MPI_UINT16_T,         MPI_INT32_T,
        MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T,        MPI_DATATYPE_NULL,    MPI_DATATYPE_NULL,
        MPI_FLOAT,    MPI_DOUBLE,  MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_DATATYPE_NULL};
    return types[element];
}

static int ping_pong(const cell* of, int count) {
    const int other = 1 - rank;
    if (rank > 1) return MPI_SUCCESS;
    if (rank == 0) MPI_Send(of->input, count, type, other, 0, MPI_COMM_WORLD);
    MPI_Recv(of->output, count, type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(of->input, count, type, other, 0, MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

static int move_pieces(const cell* of, int count) {
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    const int messages = (int)messages_of(of);
    char go = 0;
    if (rank > 1) return MPI_SUCCESS;
    if (rank == 0) MPI_Recv(&go, 1, MPI_CHAR, 1, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < messages; ++i) {
        const int number = rank == 0 ? i : messages - 1 - i;
        const size_t at = (size_t)number * (size_t)count * (size_t)element_size;
        if (rank == 0)
            MPI_Isend((char*)of->input + at, count, type, 1, number, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv((char*)of->output + at, count, type, 0, number, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank == 1) MPI_Send(&go, 1, MPI_CHAR, 0, MANY, MPI_COMM_WORLD);
    return MPI_Waitall(messages, requests, statuses);
}

static int reduce_buckets(const cell* of, int together) {
    const int count = (int)(of->count / DDP_BUCKETS);
    MPI_Request requests[DDP_BUCKETS];
    MPI_Status statuses[DDP_BUCKETS];
    for (int i = 0; i < DDP_BUCKETS; ++i) {
        char* const bucket = (char*)of->input + (size_t)i * (size_t)count * (size_t)element_size;
        if (together)
            MPI_Iallreduce(MPI_IN_PLACE, bucket, count, type, MPI_SUM, MPI_COMM_WORLD,
                           &requests[i]);
        else
            MPI_Allreduce(MPI_IN_PLACE, bucket, count, type, MPI_SUM, MPI_COMM_WORLD);
    }
    return together ? MPI_Waitall(DDP_BUCKETS, requests, statuses) : MPI_SUCCESS;
}

static void check_counts(const cell* of) {
    if (of->count > INT_MAX || of->piece * ranks > INT_MAX) die("more elements than an int counts");
}

static int call(const cell* of) {
    const MPI_Comm world = MPI_COMM_WORLD;
    check_counts(of);
    const int count = (int)of->count, piece = (int)of->piece;
    void* const in = of->input;
    void* const out = of->output;
    switch (of->op->kind) {
        case ALL_REDUCE:
            return !MPI_Allreduce(in, out, count, type, MPI_SUM, world);
        case BROADCAST:
            return !MPI_Bcast(in, count, type, 0, world);
        case REDUCE:
            return !MPI_Reduce(in, out, count, type, MPI_SUM, 0, world);
        case REDUCE_SCATTER:
            return !MPI_Reduce_scatter_block(in, out, piece, type, MPI_SUM, world);
        case ALL_GATHER:
            return !MPI_Allgather(in, count, type, out, count, type, world);
        case ALL_TO_ALL:
            return !MPI_Alltoall(in, piece, type, out, piece, type, world);
        case BARRIER:
            return !MPI_Barrier(world);
        case PING_PONG:
            return !ping_pong(of, count);
        case MANY_RECEIVES:
            return !move_pieces(of, piece);
        case GATHER:
            return !MPI_Gather(in, count, type, out, count, type, 0, world);
        case SCATTER:
            return !MPI_Scatter(in, piece, type, out, piece, type, 0, world);
        case EXCHANGE_CALL:
            return !MPI_Sendrecv(in, count, type, rank ^ 1, 0, out, count, type, rank ^ 1, 0, world,
                                 MPI_STATUS_IGNORE);
        case DDP:
            return !reduce_buckets(of, 1);
        case DDP_BLOCKING:
            return !reduce_buckets(of, 0);
        default:
            die("MPI has no such operation");
            return 0;
    }
}

static MPI_Request pending[MOST_MESSAGES];
static int pending_count;

static int start_messages(const cell* of) {
    const MPI_Datatype of_one = of->op->kind == HALO2D ? MPI_DOUBLE : type;
    const message* const each = messages_of_phase(message_phase());
    int wrong = 0;
    pending_count = message_count();
    for (int i = 0; i < pending_count; ++i) {
        const message* const one = &each[i];
        const int count = (int)one->count;
        wrong |= one->sends ? MPI_Isend(one->data, count, of_one, one->other, one->tag,
                                        MPI_COMM_WORLD, &pending[i])
                            : MPI_Irecv(one->data, count, of_one, one->other, one->tag,
                                        MPI_COMM_WORLD, &pending[i]);
    }
    return !wrong;
}

static int start(const cell* of) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const int count = (int)of->count, piece = (int)of->piece;
    void* const in = of->input;
    void* const out = of->output;
    check_counts(of);
    if (has_messages(of)) return start_messages(of);
    pending_count = 1;
    switch (of->op->kind) {
        case ALL_REDUCE:
            return !MPI_Iallreduce(in, out, count, type, MPI_SUM, world, pending);
        case BROADCAST:
            return !MPI_Ibcast(in, count, type, 0, world, pending);
        case REDUCE:
            return !MPI_Ireduce(in, out, count, type, MPI_SUM, 0, world, pending);
        case REDUCE_SCATTER:
            return !MPI_Ireduce_scatter_block(in, out, piece, type, MPI_SUM, world, pending);
        case ALL_GATHER:
            return !MPI_Iallgather(in, count, type, out, count, type, world, pending);
        case ALL_TO_ALL:
            return !MPI_Ialltoall(in, piece, type, out, piece, type, world, pending);
        case BARRIER:
            return !MPI_Ibarrier(world, pending);
        case GATHER:
            return !MPI_Igather(in, count, type, out, count, type, 0, world, pending);
        case SCATTER:
            return !MPI_Iscatter(in, piece, type, out, piece, type, 0, world, pending);
        default:
            die("MPI has no such operation");
            return 0;
    }
}

static int finish(void) {
    static MPI_Status statuses[MOST_MESSAGES];
    return !(pending_count == 1 ? MPI_Wait(pending, MPI_STATUS_IGNORE)
                                : MPI_Waitall(pending_count, pending, statuses));
}

static int barrier(void) {
    return !MPI_Barrier(MPI_COMM_WORLD);
}

static int largest(double* values, int64_t count) {
    return !MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static int sum(double* value) {
    return !MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int takes(int element) {
    type = type_of(element);
    if (type != MPI_DATATYPE_NULL) MPI_Type_size(type, &element_size);
    return type != MPI_DATATYPE_NULL;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const peer mpi = {
        {rank, ranks, call, NULL, NULL, barrier, largest, start, finish, sum}, takes, die};
    measure_all(&mpi, argc, argv);
    MPI_Finalize();
    return 0;
}
