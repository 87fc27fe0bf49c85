# work.jl: operations that run while the caller goes on.

"""
What belongs to an operation that runs: the arrays it borrows, and how its result is made of them.
It is held among `expected` until the operation is done.
"""
mutable struct Pending
    roots::Any
    finish::Any    # finish(handle) gives the result, once the operation has succeeded
    calls_back::Bool
    value::Any
    failure::Any   # an exception, or nothing
    settled::Bool
    mutex::Threads.SpinLock
    ended::Base.Event
    callbacks::Vector{Any}
end

Pending(roots, finish, calls_back) =
    Pending(roots, finish, calls_back, nothing, nothing, false, Threads.SpinLock(),
            Base.Event(), [])

"""
An operation that runs, as calls with `async = true` return it: `wait(work)`, `fetch(work)` for its
result, `isready(work)`. What it borrows is held until it is done, also if the `Work` is dropped.
"""
mutable struct Work <: Handle
    handle::Ptr{Raw.tutti_work}
    pending::Pending
    Work(handle, pending) = finalizer(close, new(handle, pending))
end

release(handle::Ptr{Raw.tutti_work}) = Raw.tutti_work_release(handle)

Base.show(io::IO, work::Work) = print(io, "Work(", something(op_type(work), "closed"), ")")

"The operation is done: makes its result, once, and lets go of what it borrowed."
function settle(pending::Pending, handle, failure)
    lock(pending.mutex)
    mine = !pending.settled
    pending.settled = true
    unlock(pending.mutex)
    mine || return wait(pending.ended)
    pending.calls_back && Threads.atomic_sub!(user_reductions, 1)
    try
        # The task of events is older than the program's types, whose arrays may be copied to.
        failure === nothing ? (pending.value = Base.invokelatest(pending.finish, handle)) :
            (pending.failure = failure)
    catch exception
        pending.failure = exception
    end
    pending.roots = pending.finish = nothing
    notify(pending.ended)
    for callback in pending.callbacks
        @async shown_if_it_fails(callback, pending.failure)
    end
end

"A work that was announced is done."
function work_ended(announced, event::Event)
    announced === nothing && return
    pending, handle = announced
    failure = nothing
    if event.number != Raw.TUTTI_OK
        failure = told_failure(event)
    end
    settle(pending, handle, failure)
end

function told_failure(event::Event)
    event.input == C_NULL && return TuttiError{event.number}(-1, 0, "out of memory")
    failure = exception(Ref(unsafe_load(Ptr{Raw.tutti_error}(event.input))))
    Libc.free(event.input)
    failure
end

"""
How the operation ended, if it has: settles it. Not if its `Work` is closed at this moment: then an
event tells.
"""
function settle_ended(pending::Pending, handle)
    error = new_error()
    ended(handle) || return
    status = Raw.tutti_work_error(handle, error)
    status == Raw.TUTTI_ERR_INVALID_HANDLE && return
    settle(pending, handle, status == Raw.TUTTI_OK ? nothing : exception(error))
end

function ended(handle)
    completed = Ref(Int32(0))
    Raw.tutti_work_is_completed(handle, completed, C_NULL) == Raw.TUTTI_OK && completed[] == 1
end

"Looks for a moment whether an operation ends: most short ones do, sooner than a task could wait."
function ends_soon(handle)
    until = time_ns() + 20_000
    while true
        ended(handle) && return true
        time_ns() > until && return false
    end
end

result(pending::Pending) =
    pending.failure === nothing ? pending.value : throw(pending.failure)

"""
    wait(work; timeout = nothing)

Waits until the operation is done, while other tasks run; throws what it failed with. A `timeout`
is a limit for this wait alone: when it passes, a `PendingError` says that the operation goes on,
and the wait may be repeated.
"""
function Base.wait(work::Work; timeout = nothing)
    fetch(work; timeout = timeout)
    nothing
end

"""
    fetch(work; timeout = nothing)

Waits as `wait` does, and returns the result: what the call returns without `async = true`.
"""
function Base.fetch(work::Work; timeout = nothing)
    check_open(work)
    pending = work.pending
    if timeout !== nothing
        wait_limited(work, milliseconds(timeout))
    elseif !pending.settled && ends_soon(work)
        settle_ended(pending, work)
    elseif is_blocking()
        directly(Raw.tutti_work_wait, work, 0, C_NULL)
        settle_ended(pending, work)
    end
    wait(pending.ended)
    result(pending)
end

"""
    synchronize(work, stream)

Makes a stream of a device, a `Ptr` or CUDA.jl's `CuStream`, wait for the operation while this task
goes on: what is enqueued on the stream later finds the results. Throws what the operation failed
with.
"""
function synchronize(work::Work, stream)
    check_open(work)
    call_waiting(Raw.tutti_work_synchronize, work, stream_address(stream))
end

function wait_limited(work::Work, limit)
    try
        call_waiting(Raw.tutti_work_wait, work, limit)
    catch exception
        exception isa TuttiError && !(exception isa PendingError) || rethrow()
    end
    settle_ended(work.pending, work)
end

function truth(f, work)
    slot = Ref(Int32(0))
    call(f, work, slot)
    slot[] == 1
end

"Whether the operation is done, successfully or not."
iscompleted(work::Work) = truth(Raw.tutti_work_is_completed, work)
Base.isready(work::Work) = iscompleted(work)

"Whether the operation is done and successful."
issuccess(work::Work) = truth(Raw.tutti_work_is_success, work)

"The failure of the operation; `nothing` while it is running and if it succeeded."
function exception(work::Work)
    error = new_error()
    Raw.tutti_work_error(work, error) == Raw.TUTTI_OK ? nothing : exception(error)
end

"The group rank a finished `recv!` received from; -1 while nothing has come."
function source_rank(work::Work)
    slot = Ref(Int32(-1))
    call(Raw.tutti_work_source_rank, work, slot)
    Int(slot[])
end

"""
    cancel(work)

Cancels a receive that has not begun, which then fails with an `AbortedError`; whether it did. What
has begun, or is no receive, goes on.
"""
cancel(work::Work) = truth(Raw.tutti_work_cancel, work)

"What kind of operation it is: \"all_reduce\"; `nothing` if the work was closed."
function op_type(work::Work)
    name = Raw.tutti_work_get_op_type(work)
    name == C_NULL ? nothing : unsafe_string(name)
end

"Which collective of its group it is, from 1 on, the same on all ranks; 0 for messages."
function sequence_number(work::Work)
    slot = Ref(Int64(0))
    call(Raw.tutti_work_get_sequence_number, work, slot)
    Int(slot[])
end

"How long the operation took, in seconds; `nothing` while it is running."
function duration(work::Work)
    slot = Ref(0.0)
    call(Raw.tutti_work_get_duration, work, slot)
    slot[] < 0 ? nothing : slot[] / 1000
end

"The works of a list, or of any iterator: gone through once, as that may start the operations."
function listed(works)
    all = Any[work for work in works]
    for (i, work) in enumerate(all)
        work === nothing && continue
        work isa Work || throw(ArgumentError("works[$i] is a $(typeof(work)), not a Work"))
        check_open(work)
    end
    Vector{Union{Work, Nothing}}(all)
end

handles(works) = Ptr{Raw.tutti_work}[work === nothing ? C_NULL : work.handle for work in works]

"""
    waitany(works; timeout = nothing)

Waits until one of several operations is done; returns its index, the lowest one if several are.
Entries that are `nothing` are passed over.
"""
function waitany(works; timeout = nothing)
    slot, all = Ref(Int64(0)), listed(works)
    GC.@preserve all call_waiting(Raw.tutti_work_wait_any, handles(all), length(all),
                                  milliseconds(timeout), slot)
    Int(slot[]) + 1
end

"""
    waitall(works; timeout = nothing)

Waits until all operations are done; throws the first failure in their order. Entries that are
`nothing` are passed over.
"""
function waitall(works; timeout = nothing)
    all = listed(works)
    if timeout !== nothing
        GC.@preserve all call_waiting(Raw.tutti_work_wait_all, handles(all), length(all),
                                      milliseconds(timeout))
    end
    failures = Any[]
    for work in all
        work === nothing && continue
        try
            fetch(work)
        catch failure
            failure isa InterruptException && rethrow()
            push!(failures, failure)
        end
    end
    isempty(failures) || throw(first(failures))
    nothing
end

"""
    then(f, work)

Has `f(failure)` called in a task of its own once the operation is done; `failure` is `nothing` if
it succeeded, else the exception.
"""
function then(f, work::Work)
    check_open(work)
    pending = work.pending
    lock(pending.mutex)
    ended = pending.settled
    ended || push!(pending.callbacks, f)
    unlock(pending.mutex)
    ended && @async (wait(pending.ended); shown_if_it_fails(f, pending.failure))
    nothing
end
