// The part of NCCL's interface that tutti uses, declared here: the module builds where there is no
// nccl.h. tests/unit/modules/nccl compares it with nccl.h where there is one.
#pragma once

#include <climits>
#include <cstddef>

#include "modules/cuda/abi.hpp"

namespace tutti::nccl {

using cuda::Stream;
using Comm = struct ncclComm*;
using WindowHandle = struct ncclWindow_vidmem*;

struct UniqueId {
    char internal[128];
};

// ncclResult_t.
enum class Result : int {
    Success = 0,
    UnhandledCudaError = 1,
    SystemError = 2,
    InternalError = 3,
    InvalidArgument = 4,
    InvalidUsage = 5,
    RemoteError = 6,
    InProgress = 7
};

// ncclDataType_t.
enum class DataType : int {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9
};

// ncclRedOp_t: these, and larger numbers of those that are made.
enum class RedOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };

// ncclScalarResidence_t.
enum class Residence : int { Device = 0, HostImmediate = 1 };

constexpr int undefined = INT_MIN;   // NCCL_CONFIG_UNDEF_INT
constexpr int no_color = -1;         // NCCL_SPLIT_NOCOLOR
constexpr int window_symmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

// ncclConfig_t of 2.28. NCCL reads no further than it knows, and takes what is newer than `version`
// for undefined.
struct Config {
    size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 22800;
    int blocking = undefined;
    int cga_cluster_size = undefined;
    int min_ctas = undefined;
    int max_ctas = undefined;
    const char* net_name = nullptr;
    int split_share = undefined;
    int traffic_class = undefined;
    const char* comm_name = nullptr;
    int collnet_enable = undefined;
    int cta_policy = undefined;
    int shrink_share = undefined;
    int nvls_ctas = undefined;
    int channels_per_net_peer = undefined;
    int nvlink_centric_sched = undefined;
};

// Every function, by the name that the library has it under: F(member, symbol, parameters...). All
// of them are in 2.19.
#define TUTTI_NCCL_FUNCTIONS(F)                                                             \
    F(get_version, ncclGetVersion, int*)                                                    \
    F(get_unique_id, ncclGetUniqueId, UniqueId*)                                            \
    F(comm_init, ncclCommInitRankConfig, Comm*, int, UniqueId, int, Config*)                \
    F(comm_split, ncclCommSplit, Comm, int, int, Comm*, Config*)                            \
    F(comm_finalize, ncclCommFinalize, Comm)                                                \
    F(comm_destroy, ncclCommDestroy, Comm)                                                  \
    F(comm_abort, ncclCommAbort, Comm)                                                      \
    F(async_error, ncclCommGetAsyncError, Comm, Result*)                                    \
    F(group_start, ncclGroupStart)                                                          \
    F(group_end, ncclGroupEnd)                                                              \
    F(all_reduce, ncclAllReduce, const void*, void*, size_t, DataType, RedOp, Comm, Stream) \
    F(broadcast, ncclBroadcast, const void*, void*, size_t, DataType, int, Comm, Stream)    \
    F(reduce, ncclReduce, const void*, void*, size_t, DataType, RedOp, int, Comm, Stream)   \
    F(all_gather, ncclAllGather, const void*, void*, size_t, DataType, Comm, Stream)        \
    F(reduce_scatter, ncclReduceScatter, const void*, void*, size_t, DataType, RedOp, Comm, \
      Stream)                                                                               \
    F(send, ncclSend, const void*, size_t, DataType, int, Comm, Stream)                     \
    F(receive, ncclRecv, void*, size_t, DataType, int, Comm, Stream)                        \
    F(redop_create, ncclRedOpCreatePreMulSum, RedOp*, void*, DataType, Residence, Comm)     \
    F(redop_destroy, ncclRedOpDestroy, RedOp, Comm)

// Functions that return a text.
#define TUTTI_NCCL_TEXTS(F)                     \
    F(error_string, ncclGetErrorString, Result) \
    F(last_error, ncclGetLastError, Comm)

// Functions that only later releases have, or that are done without; null if they are not there.
#define TUTTI_NCCL_LATER_FUNCTIONS(F)                                                   \
    F(all_to_all, ncclAlltoAll, const void*, void*, size_t, DataType, Comm, Stream)     \
    F(mem_alloc, ncclMemAlloc, void**, size_t)                                          \
    F(mem_free, ncclMemFree, void*)                                                     \
    F(comm_register, ncclCommRegister, Comm, void*, size_t, void**)                     \
    F(comm_deregister, ncclCommDeregister, Comm, void*)                                 \
    F(window_register, ncclCommWindowRegister, Comm, void*, size_t, WindowHandle*, int) \
    F(window_deregister, ncclCommWindowDeregister, Comm, WindowHandle)

}  // namespace tutti::nccl
