# issue.jl: how every collective and message is started, and waited for.

"""
How a call is made: `async` returns a `Work`; `needs_work` has one also while it waits, for what
only a work can tell; `calls_back` is of reductions by functions of Julia; a `message` is outside
the order of the collectives.
"""
Base.@kwdef struct CallMode
    async::Bool
    needs_work::Bool = false
    calls_back::Bool = false
    message::Bool = false
end

"""
Starts an operation of the library: `f(group, args..., work, error)`. Waits for it, and returns
`finish(handle)`; or returns a `Work` at once. `roots` is what it borrows.
"""
function issue(f::F, manner::CallMode, finish, roots, group::Group, args...) where {F}
    check_open(group)
    group.collected === nothing || return collect_call(f, manner, finish, roots, group, args...)
    if !manner.async && !manner.calls_back && has_stream(args...)
        return enqueue(f, finish, roots, group, args...)
    end
    if !manner.async && !manner.needs_work && !manner.calls_back && is_blocking()
        return issue_directly(f, finish, roots, group, args...)
    end
    pending = start(f, Pending((roots, group), finish, manner.calls_back), group, args...)
    manner.async && return Work(pending)
    try
        await_end(pending, is_blocking())
    catch exception
        # Only a receive can be cancelled; any other operation goes on.
        exception isa InterruptException &&
            Raw.tutti_work_cancel(pending.handle, Ref(Int32(0)), C_NULL)
        rethrow()
    finally
        give_up(pending)  # an operation that goes on after an interrupt keeps what it borrows
    end
    result(pending)
end

"Whether a call is enqueued on a stream, by its options."
has_stream() = false
has_stream(_, args...) = has_stream(args...)
has_stream(options::Base.RefValue{Raw.tutti_call_options}, args...) = options[].stream != C_NULL

"Makes a call that returns before the operation is done."
function enqueue(f::F, finish, roots, group, args...) where {F}
    GC.@preserve roots call_waiting(f, group, args..., C_NULL)
    finish(C_NULL)
end

function issue_directly(f::F, finish, roots, group, args...) where {F}
    error = new_error()
    GC.@preserve roots begin
        directly(f, group, args..., C_NULL, error) == Raw.TUTTI_OK || fail(error)
    end
    finish(C_NULL)
end

"""
A function of the library that may wait for the other ranks before it starts its operation. When it
is interrupted it goes on, so what it borrows stays held.
"""
struct Connecting{F}
    f::F
end
call(connecting::Connecting, args...) = call_waiting(connecting.f, args...)
directly(connecting::Connecting, args...) = directly(connecting.f, args...)

"Starts the operation, with all it borrows held before. Nothing is registered for its end."
function start(f::F, pending::Pending, owner::Handle, args...) where {F}
    slot = Ref(Ptr{Raw.tutti_work}(C_NULL))
    hold(pending)
    try
        call(f, owner, args..., slot)
    catch exception
        f isa Connecting && exception isa InterruptException || drop(pending)
        rethrow()
    end
    pending.handle = slot[]
    pending
end

"Holds what an operation borrows until it is settled."
function hold(pending::Pending)
    pending.calls_back && Threads.atomic_add!(user_reductions, 1)
    pending.id = expect(pending)
end

"The operation was not started."
function drop(pending::Pending)
    forget(pending.id)
    pending.calls_back && Threads.atomic_sub!(user_reductions, 1)
end

"What the calls of a coalescing borrow, and whether one asks Julia; any thread may add to it."
struct Collected
    calls::Vector{Any}
    mutex::ReentrantLock
end

"Whether what is lent to a call is needed after it has returned."
keeps(async::Bool, group::Group) = async || group.collected !== nothing

function collect_call(f, manner, finish, roots, group, args...)
    manner.async && throw(ArgumentError("async is for all of coalescing, not for a call in it"))
    finish isa Output && !manner.message ||
        throw(ArgumentError("coalescing takes collectives of arrays alone"))
    f isa Connecting &&
        throw(ArgumentError("coalescing takes no collectives of several GPUs of a rank"))
    call(f, group, args..., C_NULL)
    collected = group.collected
    lock(() -> push!(collected.calls, (roots, manner.calls_back)), collected.mutex)
    finish(C_NULL)
end

"The result that a collective of arrays has: what was lent to it."
struct Output{L}
    lent::L
end
(output::Output)(_) = give_back(output.lent)

"""
    coalescing(f; group = WORLD, async = false, timeout = nothing, stream = nothing,
               device = Tutti.CPU)

Calls `f(together)`, where `together` is a group: the collectives of arrays that `f` gives it are
done as one operation when `f` returns, and those that are alike share their messages. The results
are there when `coalescing` returns, or with `async = true` when the `Work` it returns is done. All
ranks make the same calls. The group itself works as ever meanwhile. Arrays of a device need it as
`device`.

```julia
coalescing() do together
    allreduce!(x, +; group = together)
    allreduce!(y, +; group = together)
end
```
"""
function coalescing(f; group::Group = WORLD, async::Bool = false, timeout = nothing,
                    stream = nothing, device::Device = CPU)
    options, slot = call_options(timeout, stream), group_slot()
    call(Raw.tutti_coalescing_begin, group, coalescing_options(device), slot)
    collected = Collected([], ReentrantLock())
    together = Group(slot[], collected)
    failure = nothing
    try
        f(together)
    catch exception
        failure = exception
    end
    together.collected = nothing
    # The collected calls are done also if f has failed: the other ranks have called it.
    manner = CallMode(async = async, calls_back = any(last, collected.calls))
    ended = try
        issue(Raw.tutti_coalescing_end, manner, handle -> nothing, (collected, together), together,
              options)
    finally
        close(together)
    end
    failure === nothing || throw(failure)
    ended
end
