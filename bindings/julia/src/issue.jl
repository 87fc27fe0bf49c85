# issue.jl: how every collective and message is started, and waited for.

"""
How a call is made: `async` returns a `Work`; `needs_work` has one also while it waits, for what
only a work can tell; `asks_julia` is of reductions by functions of Julia; a `message` is outside
the order of the collectives.
"""
Base.@kwdef struct Manner
    async::Bool
    needs_work::Bool = false
    asks_julia::Bool = false
    message::Bool = false
end

"""
Starts an operation of the library: `f(group, args..., work, error)`. Waits for it, and returns
`finish(handle)`; or returns a `Work` at once. `roots` is what it borrows.
"""
function issue(f::F, manner::Manner, finish, roots, group::Group, args...) where {F}
    check_open(group)
    gathered = manner.message ? nothing : gathering(group)
    gathered === nothing ||
        return gather_call(gathered, f, manner, finish, roots, group, args...)
    if !manner.async && !manner.needs_work && !manner.asks_julia && is_blocking()
        return issue_directly(f, finish, roots, group, args...)
    end
    pending = Pending((roots, group), finish, manner.asks_julia)
    id, handle = start(f, pending, group, args...)
    manner.async && return Work(handle, announce(pending, id, handle))
    try
        wait_issued(pending, id, handle, is_blocking() && !manner.asks_julia)
    finally
        Raw.tutti_work_release(handle)
    end
    result(pending)
end

"Waits in this task alone. If that is interrupted the operation goes on, and keeps what it borrows."
function wait_issued(pending::Pending, id, handle, direct::Bool)
    if ends_soon(handle)
        forget(id)
        settle_ended(pending, handle)
    elseif direct
        directly(Raw.tutti_work_wait, handle, 0, C_NULL)
        forget(id)
        settle_ended(pending, handle)
    else
        announce(pending, id, handle)
        wait(pending.ended)
    end
end

function issue_directly(f::F, finish, roots, group, args...) where {F}
    error = new_error()
    borrow(roots)
    try
        GC.@preserve roots begin
            directly(f, group, args..., C_NULL, error) == Raw.TUTTI_OK || fail(error)
        end
        finish(C_NULL)
    finally
        let_go(roots)
    end
end

"Starts the operation, with all it borrows held before."
function start(f::F, pending::Pending, group::Group, args...) where {F}
    slot = Ref(Ptr{Raw.tutti_work}(C_NULL))
    id = hold(pending)
    try
        call(f, group, args..., slot)
    catch
        drop(pending, id)
        rethrow()
    end
    id, slot[]
end

"Holds what an operation borrows until it is settled; returns the number it is expected by."
function hold(pending::Pending)
    borrow(first(pending.roots))
    pending.asks_julia && Threads.atomic_add!(user_reductions, 1)
    expect((pending, C_NULL))
end

"The operation was not started."
function drop(pending::Pending, id)
    forget(id)
    pending.asks_julia && Threads.atomic_sub!(user_reductions, 1)
    let_go(pending.roots)
end

"Has Julia told when the operation is done."
function announce(pending::Pending, id, handle)
    lock(() -> expected[id] = (pending, handle), expected_lock)
    error = new_error()
    status = ccall((:tutti_julia_expect, libtutti_julia), Int32,
                   (Ptr{Raw.tutti_work}, UInt64, Ptr{Raw.tutti_error}), handle, id, error)
    if status != Raw.TUTTI_OK  # no memory to be told: it is waited for here
        Raw.tutti_work_wait(handle, 0, C_NULL)
        forget(id)
        settle_ended(pending, handle)
    end
    pending
end

"The calls that `coalescing` gathers: what they have borrowed, and what else there is to know."
struct Gathered
    calls::Vector{Any}
end

borrow(::Gathered) = nothing  # each call has
each_host_array(f, gathered::Gathered) = each_host_array(f, gathered.calls)

const gathered_calls = Dict{Ptr{Raw.tutti_group}, Gathered}()
const gathered_lock = ReentrantLock()
const gathering_groups = Threads.Atomic{Int}(0)

function gathering(group::Group)
    gathering_groups[] == 0 && return nothing
    lock(() -> get(gathered_calls, group.handle, nothing), gathered_lock)
end

"Whether what is lent to a call is needed after it has returned."
keeps(async::Bool, group::Group) = async || gathering(group) !== nothing

function gather_call(gathered, f, manner, finish, roots, group, args...)
    manner.async && throw(ArgumentError("async is for all of coalescing, not for a call in it"))
    finish isa Output || throw(ArgumentError("coalescing gathers no objects or bytes"))
    borrow(roots)
    try
        call(f, group, args..., C_NULL)
    catch
        let_go(roots)
        rethrow()
    end
    lock(() -> push!(gathered.calls, (roots, manner.asks_julia)), gathered_lock)
    finish(C_NULL)
end

"The result that a collective of arrays has: what was lent to it."
struct Output{L}
    lent::L
end
(output::Output)(_) = give_back(output.lent)

"""
    coalescing(f; group = WORLD, async = false, timeout = nothing)

Gathers the group's collectives of arrays that `f` calls, and does them as one operation when it
returns: those that are alike share their messages. The results are there when `coalescing` returns,
or with `async = true` when the `Work` it returns is done. All ranks gather the same calls.
"""
function coalescing(f; group::Group = WORLD, async::Bool = false, timeout = nothing)
    options = call_options(timeout)
    call(Raw.tutti_coalescing_begin, group)
    gathered, handle = Gathered([]), group.handle
    lock(() -> gathered_calls[handle] = gathered, gathered_lock)
    Threads.atomic_add!(gathering_groups, 1)
    failure = nothing
    try
        f()
    catch exception
        failure = exception
    end
    lock(() -> delete!(gathered_calls, handle), gathered_lock)
    Threads.atomic_sub!(gathering_groups, 1)
    group.handle == C_NULL && let_go(gathered)  # f has closed it
    # What was gathered is done also if f has failed: the other ranks have called it.
    manner = Manner(async = async, asks_julia = any(last, gathered.calls))
    ended = issue(Raw.tutti_coalescing_end, manner, handle -> nothing, gathered, group, options)
    failure === nothing || throw(failure)
    ended
end
