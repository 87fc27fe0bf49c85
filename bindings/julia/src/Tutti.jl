"""
Collective communication: stores to meet at, process groups, collectives, messages, objects and
meshes, after torch.distributed. Start programs with `tuttirun --nproc-per-node 4 julia program.jl`.

```julia
using Tutti
init_process_group() do
    x = [get_rank() + 1.0]
    allreduce!(x, +)
    println("rank ", get_rank(), " of ", get_world_size(), ": sum = ", x[1])
end
```

Ranks count from 0, as everywhere but in Julia; dimensions of a mesh from 1, as in Julia. Calls that
wait let other tasks run. `Tutti.Raw` has the functions of the C library as they are.
"""
module Tutti

using Dates: Dates, DateTime, Period
using Libdl: Libdl
using LinearAlgebra: LinearAlgebra, Adjoint, Bidiagonal, Diagonal, Hermitian, SymTridiagonal,
    Symmetric, Transpose, Tridiagonal, UpperHessenberg

include("paths.jl")
include("raw.jl")
include("library.jl")
include("errors.jl")
include("handle.jl")
include("options.jl")
include("events.jl")
include("threads.jl")
include("bytes.jl")
include("device.jl")
include("buffer.jl")
include("writable.jl")
include("store.jl")
include("store_calls.jl")
include("work.jl")
include("reduce_op.jl")
include("group.jl")
include("memory.jl")
include("issue.jl")
include("failure.jl")
include("collectives.jl")
include("pieces.jl")
include("multigpu.jl")
include("point_to_point.jl")
include("object.jl")
include("object_values.jl")
include("object_collectives.jl")
include("byte_collectives.jl")
include("object_point_to_point.jl")
include("mesh.jl")
include("bucket.jl")
include("reducer.jl")
include("log.jl")
include("hooks.jl")
include("version.jl")

export TuttiError, InvalidArgumentError, InvalidHandleError, UnsupportedError, TimeoutError,
    AbortedError, PeerLostError, MismatchError, BackendError, NetworkError, StoreError,
    QueueEmptyError, ResourceError, InternalError, PendingError
export Store, HashStore, FileStore, TCPStore, PrefixStore, LibraryStore, add!, compare_set!,
    delete_key!, multi_get, multi_set!, num_keys, list_keys, queue_push!, queue_pop!, queue_length
export Group, WORLD, NON_MEMBER, init_process_group, destroy_process_group, is_initialized,
    new_group, split_group, get_rank, get_world_size, get_backend, is_member, is_reproducible,
    get_group_rank, get_global_rank, get_process_group_ranks, get_pg_count, get_name,
    get_backend_config, get_bound_device, get_failed_ranks
export shrink_group, get_reconfigure_handle, reconfigure, agree, revoke, abort, failure
export Work, waitany, waitall, iscompleted, issuccess, source_rank, then, cancel, op_type,
    sequence_number, duration, synchronize
export ReduceOp, PremulSum, SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR
export bcast!, allreduce!, allreduce, allreduce_addends!, reduce!, allgather!, allgather, gather!,
    gather, scatter!, reducescatter!, alltoall!, barrier, monitored_barrier, coalescing, blocking,
    tagged
export bcast_multigpu!, allreduce_multigpu!, reduce_multigpu!, allgather_multigpu!,
    reducescatter_multigpu!
export send, recv!, batch_isend_irecv, P2POp, ANY_RANK
export encode, decode, to_json, ObjectOptions, Timestamp, AsArray
export bcast_object_list!, allgather_object, gather_object, scatter_object_list, send_object_list,
    recv_object_list
export bcast_bytes, allgather_bytes, gather_bytes, scatter_bytes, send_bytes, recv_bytes
export alloc, HostArray
export Reducer, Bucket, GradientArray, get_gradient, get_bucket, next_bucket!, generation,
    begin_forward!, begin_backward!, mark_ready!, mark_unused!, finish!, backward!, is_used,
    sync_buffers!, shrink!, set_hook!, set_compression!, set_power_sgd!, logging_data
export Mesh, init_device_mesh, find_dim, get_group, get_all_groups, get_local_rank,
    get_coordinate, ranks,
    dim_names, flatten

"Loads the library, and begins to hear what its threads tell."
function __init__()
    load_libraries()
    WORLD.handle, NON_MEMBER.handle = Ptr{Raw.tutti_group}.(constant_groups)
    start_events()
end

end
