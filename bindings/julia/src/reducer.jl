# reducer.jl: gradients of a model that are added up over the ranks while others are computed.

"""
    Reducer(parameters; group = WORLD, names = nothing, order = nothing,
            find_unused_parameters = false, static_graph = false, keep_buckets = false,
            initial_broadcast = true, sum = false, keep_micro_batches = 0, bucket_cap_bytes = 0,
            first_bucket_cap_bytes = 0, timeout = nothing, predivide = 0, stream = nothing)

Adds the gradients of a model up over the ranks, in buckets, while the program computes others
(torch: `DistributedDataParallel`). Every rank of the group makes it with parameters of the same
names, lengths and types in the same order; a `MismatchError` on all ranks shows what differs. The
`parameters` are arrays, in a list or, with their names, in a named tuple. They receive the values
of rank 0, unless `initial_broadcast` is false; their gradients are zero. It has a group of its own.

- `order`: the indices of all parameters as their gradients are expected; else the last one first
- `find_unused_parameters`: some parameters may get no gradient in a pass
- `static_graph`: every pass marks the same parameters equally often
- `keep_buckets`: buckets never follow the order in which gradients come
- `sum`: results are sums, not means
- `keep_micro_batches`: of a reproducible group: passes without synchronisation that are kept apart
- `bucket_cap_bytes`, `first_bucket_cap_bytes`: a bucket is full from there on; 0: 25 MiB and 1 MiB
- `timeout`: of each bucket; `predivide`: gradients are divided by it before they are added up
- `stream`: of the device that all parameters are on: gradients are computed on it, and what it has
  after `finish!` finds the results; without one, `finish!` waits for the default stream and for
  them

```julia
reducer = Reducer((weights = weights, bias = bias))
backward!(reducer) do
    for parameter in (2, 1)  # the last layer first
        fill!(get_gradient(reducer, parameter), 0.25)  # computed in place
        mark_ready!(reducer, parameter)
    end
end
get_gradient(reducer, 1)  # the mean of all ranks
```

If a pass fails, the reducer has failed on all ranks. `close` gives it back, when no pass is under
way.
"""
mutable struct Reducer <: Handle
    handle::Ptr{Raw.tutti_reducer}
    lengths::Vector{Tuple}  # of each parameter
    lent::Vector{Any}       # gradients of the program's own that the library may touch
    lent_lock::Threads.SpinLock
    synchronises::Bool      # the pass that has begun
    hook::UInt64            # the number that the function is expected by; 0: none
end

# The library may still touch what was lent to a pass that has not ended.
const lent_for_good = Any[]

release(handle::Ptr{Raw.tutti_reducer}) = Raw.tutti_reducer_release(handle)

function Base.close(reducer::Reducer)
    reducer.handle == C_NULL && return
    isempty(reducer.lent) || push!(lent_for_good, reducer.lent)
    hook, reducer.hook = reducer.hook, 0
    hook == 0 || @async forget_hook(hook)  # a finalizer does not wait for locks
    invoke(close, Tuple{Handle}, reducer)
end

function Reducer(parameters; group::Group = WORLD, names = nothing, order = nothing,
                 find_unused_parameters::Bool = false, static_graph::Bool = false,
                 keep_buckets::Bool = false, initial_broadcast::Bool = true, sum::Bool = false,
                 keep_micro_batches::Integer = 0, bucket_cap_bytes::Integer = 0,
                 first_bucket_cap_bytes::Integer = 0, timeout = nothing, predivide::Real = 0,
                 stream = nothing)
    wanted = options(
        Raw.tutti_reducer_options; find_unused_parameters = find_unused_parameters,
        static_graph = static_graph, keep_buckets = keep_buckets,
        no_initial_broadcast = !initial_broadcast, sum = sum,
        keep_micro_batches = keep_micro_batches, bucket_cap_bytes = bucket_cap_bytes,
        first_bucket_cap_bytes = first_bucket_cap_bytes, timeout_ms = milliseconds(timeout),
        predivide = predivide, stream = stream_address(stream))
    list = lend_list(lend_output, parameters, :parameters; keeps = false, reduces = true)
    labels = names_of(parameters, names)
    length(labels) == count_of(list) || throw(ArgumentError(
        "names are $(length(labels)), and parameters $(count_of(list))"))
    slot = Ref(Ptr{Raw.tutti_reducer}(C_NULL))
    GC.@preserve list call_waiting(Raw.tutti_reducer_create, group, list.buffers, labels,
                                   indices_in_order(order, count_of(list)), count_of(list),
                                   Ref(wanted), slot)
    made = Reducer(slot[], [size(one.original) for one in list.lent], [], Threads.SpinLock(),
                   false, 0)
    give_back(list)
    finalizer(close, made)
end

names_of(parameters::NamedTuple, ::Nothing) = collect(String.(keys(parameters)))
names_of(parameters, ::Nothing) = string.(1:length(parameters))
names_of(_, names) = collect(String, names)

indices_in_order(::Nothing, count) = C_NULL
function indices_in_order(order, count)
    length(order) == count || throw(ArgumentError(
        "order has $(length(order)) indices for $count parameters"))
    c_indices(order, :order)
end

"Indices for the library, which counts from 0."
c_indices(indices, name) = integers(Int64, indices, name) .- 1

function c_index(reducer::Reducer, parameter)
    count = length(reducer.lengths)
    parameter isa Integer && 1 <= parameter <= count && return Int64(parameter) - 1
    throw(ArgumentError("parameter is $(repr(parameter)); the reducer has 1 to $count"))
end

"""
    get_gradient(reducer, parameter)

Where the reducer has the gradient of a parameter, an array of its shape, on a device a
`Tutti.DeviceArray`: compute it there. It belongs to the reducer from `mark_ready!` to the end of
the pass, and keeps what is there between passes, so a program that accumulates sets it to zero when
it begins anew.
"""
function get_gradient(reducer::Reducer, parameter::Integer)
    index, slot = c_index(reducer, parameter), Ref{Raw.tutti_buffer}()
    call(Raw.tutti_reducer_gradient, reducer, index, slot)
    gradient_array(reducer, slot[], reducer.lengths[parameter])
end

"""
How often gradients have moved, which only `begin_backward!` and `shrink!` do; -1 once the reducer is
closed.
"""
generation(reducer::Reducer) = Int(Raw.tutti_reducer_generation(reducer))

"One of the buckets, as they are now, counted from 1; there is always a first, which says how many."
function get_bucket(reducer::Reducer, index::Integer)
    slot = bucket_slot()
    call(Raw.tutti_reducer_get_bucket, reducer, int32(index - 1, :index), slot)
    Bucket(reducer, slot[])
end

"Says that a forward pass begins, so that `logging_data` can tell how long it takes."
begin_forward!(reducer::Reducer) = call(Raw.tutti_reducer_begin_forward, reducer)

"""
    begin_backward!(reducer; synchronise = true)

Begins a backward pass. One that is not synchronised sends nothing, and counts in the next one that
is (torch: `no_sync`).
"""
function begin_backward!(reducer::Reducer; synchronise::Bool = true)
    call(Raw.tutti_reducer_begin, reducer, synchronise)
    reducer.synchronises && take_back(reducer)  # the pass before is over
    reducer.synchronises = synchronise
    nothing
end

take_back(reducer) = lock(() -> empty!(reducer.lent), reducer.lent_lock)

"""
    mark_ready!(reducer, parameter)

Says that the gradient of a parameter is complete in its place. Several threads may call it.

    mark_ready!(reducer, parameter, gradient)

The same for an array of the program's own, which receives the result. It belongs to the reducer
until a synchronised pass has ended, with a stream until that has come past it. A program that
accumulates gives all that it has accumulated.
"""
mark_ready!(reducer::Reducer, parameter) =
    call(Raw.tutti_reducer_mark_ready, reducer, c_index(reducer, parameter), C_NULL)
function mark_ready!(reducer::Reducer, parameter, gradient)
    lent = lend_output(gradient, :gradient; keeps = true, reduces = true)
    lock(() -> push!(reducer.lent, lent), reducer.lent_lock)
    call(Raw.tutti_reducer_mark_ready, reducer, c_index(reducer, parameter), lent.buffer)
end

"Says early that parameters get no gradient in this pass."
mark_unused!(reducer::Reducer, parameters::Integer...) = call(
    Raw.tutti_reducer_mark_unused, reducer, c_indices(parameters, :parameters), length(parameters))

"""
    finish!(reducer; async = false)

Ends a backward pass, and returns when all buckets are reduced, or, if the reducer has a stream,
enqueued: every rank then has the same gradients, if the pass was synchronised. With `async = true`
it returns a `Work` at once. Parameters that were not marked get no gradient from this rank; where
options do not allow that, all ranks get a `MismatchError` with their names.
"""
function finish!(reducer::Reducer; async::Bool = false)
    if async
        pending = Pending((reducer,), handle -> nothing, false)
        return Work(start(Raw.tutti_reducer_finish, pending, reducer))
    end
    call_waiting(Raw.tutti_reducer_finish, reducer, C_NULL)
    reducer.synchronises && take_back(reducer)
    nothing
end

"""
    backward!(f, reducer; synchronise = true)

A whole backward pass: `begin_backward!`, `f()`, which marks each gradient that it has computed, and
`finish!`. If `f` throws, the pass has not ended, and the reducer is of no more use but for `shrink!`,
or to be closed.
"""
function backward!(f, reducer::Reducer; synchronise::Bool = true)
    begin_backward!(reducer; synchronise = synchronise)
    f()
    finish!(reducer)
end

"""
    next_bucket!(reducer)

The next bucket of this pass whose gradients are reduced, when it is, or, if the reducer has a
stream, for what that has next: an optimizer may update its parameters while later ones travel,
after `finish!(reducer; async = true)`. `nothing` after the last one, and in a pass that is not
synchronised. A `PendingError` says that the reducer's timeout has passed, and the pass goes on.
"""
function next_bucket!(reducer::Reducer)
    slot = bucket_slot()
    call_waiting(Raw.tutti_reducer_next_bucket, reducer, slot)
    slot[].index < 0 ? nothing : Bucket(reducer, slot[])
end

"Whether any rank had a gradient for a parameter in the last synchronised pass."
is_used(reducer::Reducer, parameter) =
    Raw.tutti_reducer_is_used(reducer, c_index(reducer, parameter)) == 1

"""
Copies arrays of the rank `src` to all, for instance running statistics, between two passes. They
are on the CPU or on the device of the parameters.
"""
function sync_buffers!(reducer::Reducer, buffers; src::Integer = 0)
    list = lend_list(lend_output, buffers, :buffers; keeps = false)
    GC.@preserve list call_waiting(Raw.tutti_reducer_sync_buffers, reducer, list.buffers,
                                   count_of(list), int32(src, :src))
    give_back(list)
    nothing
end

"""
    shrink!(reducer; group = WORLD)

Lets the reducer go on in another group, mostly one that `shrink_group` has made after the death of
a rank. Parameters, options, the hook and the compression stay; everything else is as after
`Reducer`: gradients have moved and are zero. No pass before counts any more, one that was
interrupted or that was not synchronised, so the program repeats its step from the first forward
pass. Ranks that had ended the pass may be one step ahead of the others: the program makes the
parameters equal. Every rank of the group calls it, with the same model; one that has no reducer yet
makes one with `initial_broadcast = false`. It may be repeated after an error. No other task may use
the reducer meanwhile; arrays of the program's own are the program's again.
"""
function shrink!(reducer::Reducer; group::Group = WORLD)
    call_waiting(Raw.tutti_reducer_shrink, reducer, group)
    take_back(reducer)
    reducer.synchronises = false
    nothing
end

"A function that reduces buckets; does not hold the reducer, which can so be collected."
struct Hook
    f::Any
    reducer::WeakRef
end

"""
    set_hook!(f, reducer)

Has `f(group, bucket)` reduce each bucket in place instead of the all_reduce and the division, in a
task of Julia's, one bucket after the other, in the same order on all ranks. `group` is the
reducer's own, and closed afterwards. On a device it works on the bucket's stream:
`allreduce!(bucket.gradients, +; group = group, stream = bucket.stream)`. What `f` throws fails the
reducer on all ranks. All ranks set it before the same pass. `nothing` as `f`: the reducer reduces
buckets itself again.
"""
function set_hook!(f, reducer::Reducer)
    id = f === nothing ? UInt64(0) : expect(Hook(f, WeakRef(reducer)))
    Threads.atomic_add!(user_reductions, f === nothing ? 0 : 1)
    try
        entry = f === nothing ? C_NULL : helper_hook.address
        call(Raw.tutti_reducer_set_hook, reducer, entry, Ptr{Cvoid}(UInt(id)), C_NULL)
    catch
        id == 0 || forget_hook(id)
        rethrow()
    end
    replace_hook(reducer, id)
end

"Forgets the function that the library no longer calls."
function replace_hook(reducer, id = UInt64(0))
    before, reducer.hook = reducer.hook, id
    before == 0 || forget_hook(before)
    nothing
end

function forget_hook(id)
    forget(id)
    Threads.atomic_sub!(user_reductions, 1)
end

"Reduces a bucket by a function of the program's."
function hook_event(event::Event)
    hook = look_up(event.id)
    reducer = hook === nothing ? nothing : hook.reducer.value
    reducer === nothing && error("the reducer was closed")
    slot = group_slot()
    call(Raw.tutti_group_retain, Ptr{Raw.tutti_group}(event.output), slot)
    group = owned_group(slot[])
    try
        hook.f(group, Bucket(reducer, unsafe_load(Ptr{Raw.tutti_bucket}(event.input))))
    finally
        close(group)
    end
end

const compressions = (none = Raw.TUTTI_COMPRESSION_NONE, float16 = Raw.TUTTI_COMPRESSION_FLOAT16,
                      bfloat16 = Raw.TUTTI_COMPRESSION_BFLOAT16,
                      quantised = Raw.TUTTI_COMPRESSION_QUANTISED)

"""
    set_compression!(reducer, compression)

Chooses how gradients travel: `:none`, `:float16`, `:bfloat16` or `:quantised`, in 8 bits. All ranks
call it between the same passes, and it returns when they have. It replaces the hook before it.
"""
function set_compression!(reducer::Reducer, compression::Symbol)
    haskey(compressions, compression) || throw(ArgumentError(
        "compression is :$compression, not one of $(keys(compressions))"))
    call_waiting(Raw.tutti_reducer_set_compression, reducer, compressions[compression])
    replace_hook(reducer)
end

"""
    set_power_sgd!(reducer; rows = nothing, matrix_approximation_rank = 1, start_iteration = 1000,
                   min_compression_rate = 2, error_feedback = true, warm_start = true,
                   orthogonalization_epsilon = 0, random_seed = 0)

Makes gradients travel as products of two matrices with few columns (torch: `powerSGD_hook`), those
of `Float32` and `Float64`; others, vectors and small matrices travel as they are. What a pass
leaves out is not lost, so the sums over many passes are right. All ranks call it between the same
passes, and it returns when they have; where the rows or options of one are refused, the others get
a `MismatchError`, and the reducer stays as it was. It replaces the compression and the hook before
it.

- `rows`: for each parameter the rows of its matrix as the other languages have it, row after row:
  of an array of size (m, n) that is its *last* dimension, n. 0: it is no matrix. By default the
  last dimension of each array that has two or more
- `matrix_approximation_rank`: columns of each factor: more are more accurate, and take more bytes
- `start_iteration`: so many synchronised passes are all_reduced before the first one that is
  compressed; 0: 1000
- `min_compression_rate`: a matrix is compressed if it has more numbers than its factors times this
- `error_feedback`: what a pass leaves out is added to the next pass's gradient, which takes as much
  memory as the matrix
- `warm_start`: a pass begins with the directions of the pass before, which are better than random
  ones
- `orthogonalization_epsilon`: added to norms before a division by them; 0 is safe
- `random_seed`: of the random directions
"""
function set_power_sgd!(reducer::Reducer; rows = nothing, matrix_approximation_rank::Integer = 1,
                        start_iteration::Integer = 1000, min_compression_rate::Real = 2,
                        error_feedback::Bool = true, warm_start::Bool = true,
                        orthogonalization_epsilon::Real = 0, random_seed::Integer = 0)
    wanted = options(
        Raw.tutti_power_sgd_options; no_error_feedback = !error_feedback,
        no_warm_start = !warm_start, matrix_approximation_rank = matrix_approximation_rank,
        start_iteration = start_iteration, min_compression_rate = min_compression_rate,
        orthogonalization_epsilon = orthogonalization_epsilon, random_seed = random_seed)
    numbers = integers(Int64, rows === nothing ? matrix_rows.(reducer.lengths) : rows, :rows)
    call_waiting(Raw.tutti_reducer_set_power_sgd, reducer, numbers, length(numbers), Ref(wanted))
    replace_hook(reducer)
end

"The first dimension of the row-major matrix that an array of such lengths is; 0: it is none."
matrix_rows(lengths) = length(lengths) < 2 ? 0 : last(lengths)

"""
What the reducer is and has done: a dictionary with the keys of torch's `_get_ddp_logging_data`,
whose times are in nanoseconds.
"""
function logging_data(reducer::Reducer)
    slot = object_slot()
    call(Raw.tutti_reducer_logging_data, reducer, slot)
    closing(value, Object(slot[]))
end
