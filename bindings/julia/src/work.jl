# work.jl: operations that run while the caller goes on.

"""
What belongs to an operation that runs: the arrays it borrows, and how its result is made of them.
It is held among `expected` until its end is noticed, by a task that asks or waits, or by an event.
An event takes several wakes, and has the library begin the operation on a thread of its own; so
one is asked for only where a task waits that lets others run, for `then`, and when the program has
given the `Work` up.
"""
mutable struct Pending
    handle::Ptr{Raw.tutti_work}
    id::UInt64         # the number that it is expected by
    roots::Any
    finish::Any        # finish(handle) gives the result, once the operation has succeeded
    calls_back::Bool
    value::Any
    failure::Any       # an exception, or nothing
    announced::Bool    # an event will come
    settled::Bool
    mutex::Threads.SpinLock
    ended::Base.Event
    callbacks::Vector{Any}
    parted::Threads.Atomic{Int}  # who needs the handle no longer, see release
end

Pending(roots, finish, calls_back) =
    Pending(C_NULL, 0, roots, finish, calls_back, nothing, nothing, false, false,
            Threads.SpinLock(), Base.Event(), [], Threads.Atomic{Int}(0))

"""
An operation that runs, as calls with `async = true` return it: `wait(work)`, `fetch(work)` for its
result, `isready(work)`. What it borrows is held until it is done, also if the `Work` is dropped. It
is released when one of these, `waitany` or `waitall` finds the operation done; or, of a `Work` that
was closed or dropped, when the operation ends.
"""
mutable struct Work <: Handle
    handle::Ptr{Raw.tutti_work}
    pending::Pending
    function Work(pending::Pending)
        # Calls are not direct until its end is noticed, which must not be left to the program.
        pending.calls_back && announce(pending)
        finalizer(abandon, new(pending.handle, pending))
    end
end

release(handle::Ptr{Raw.tutti_work}) = Raw.tutti_work_release(handle)

abandon(work::Work) = work.handle == C_NULL || give_up(work.pending)

function Base.close(work::Work)
    work.handle == C_NULL && return
    work.handle = C_NULL
    settle_ended(work.pending)
    give_up(work.pending)
    nothing
end

"""
The program has no use for an operation any more. If there is no memory for the event that it needs,
what it borrows is held for good. The collector calls this too, so it takes no lock and settles
nothing.
"""
function give_up(pending::Pending)
    pending.settled || announce(pending)
    release(pending, 1)
end

"The program (1) or the operation (2) needs the handle no longer; the last one gives it back."
function release(pending::Pending, who)
    before = Threads.atomic_or!(pending.parted, who)
    before != 3 && before | who == 3 && release(pending.handle)
end

"""
Has an event follow the end of an operation; a status. May be called again and at once: the first
event counts.
"""
function announce(pending::Pending)
    pending.announced && return Raw.TUTTI_OK
    status = ccall(helper_expect.address, Int32,
                   (Ptr{Raw.tutti_work}, UInt64, Ptr{Raw.tutti_error}), pending.handle, pending.id,
                   C_NULL)
    status == Raw.TUTTI_OK && (pending.announced = true)
    status
end

Base.show(io::IO, work::Work) = print(io, "Work(", something(op_type(work), "closed"), ")")

"""
The operation is done: makes its result and releases what it borrowed, once, whoever notices the end
and how often. `ended` is notified when the result is there.
"""
function settle(pending::Pending, failure)
    lock(pending.mutex)
    mine = !pending.settled
    pending.settled = true
    unlock(pending.mutex)
    mine || return
    pending.calls_back && Threads.atomic_sub!(user_reductions, 1)
    try
        # The task of events is older than the program's types, whose arrays may be copied to.
        failure === nothing ?
            (pending.value = Base.invokelatest(pending.finish, pending.handle)) :
            (pending.failure = failure)
    catch exception
        pending.failure = exception
    end
    pending.roots = pending.finish = nothing
    notify(pending.ended)
    release(pending, 2)
    for callback in pending.callbacks
        @async shown_if_it_fails(callback, pending.failure)
    end
    forget(pending.id)  # last, as an interrupt may come to a task that waits for the lock
end

"The event of an operation's end, `nothing` if that was noticed before."
function work_ended(pending::Union{Pending, Nothing}, event::Event)
    failure = event.number == Raw.TUTTI_OK ? nothing : told_failure(event)
    pending === nothing || settle(pending, failure)
end

function told_failure(event::Event)
    event.input == C_NULL && return TuttiError{event.number}(-1, 0, "out of memory")
    failure = exception(Ref(unsafe_load(Ptr{Raw.tutti_error}(event.input))))
    Libc.free(event.input)
    failure
end

"Settles an operation if it is done; whether it is settled."
function settle_ended(pending::Pending)
    pending.settled && return true
    ended(pending.handle) || return pending.settled
    error = new_error()
    status = Raw.tutti_work_error(pending.handle, error)
    settle(pending, status == Raw.TUTTI_OK ? nothing : exception(error))
    true
end

function ended(handle)
    completed = Ref(Int32(0))
    Raw.tutti_work_is_completed(handle, completed, C_NULL) == Raw.TUTTI_OK && completed[] == 1
end

"Asks for a moment until `f()` is true: most short operations end sooner than a task could wait."
function soon(f)
    until = time_ns() + 20_000
    while true
        f() && return true
        time_ns() > until && return false
    end
end

"""
Waits in this task until the operation is done: `direct`, in C, where this thread does what is left
of it, or while other tasks run. Closing its `Work` meanwhile changes nothing.
"""
function await_end(pending::Pending, direct::Bool)
    direct && !pending.settled && directly(Raw.tutti_work_wait, pending.handle, 0, C_NULL)
    await_end(pending)
end

function await_end(pending::Pending)
    if !soon(() -> settle_ended(pending))
        while announce(pending) != Raw.TUTTI_OK  # without memory for an event it asks on
            settle_ended(pending) && break
            yield()
        end
    end
    wait(pending.ended)
end

"The same, for some milliseconds at the most."
function await_end(work::Work, limit)
    pending = work.pending
    if is_blocking() || !soon(() -> settle_ended(pending))
        try
            call_waiting(Raw.tutti_work_wait, work, limit)
        catch exception
            # Once the operation is done, this is its failure, of which `result` speaks.
            exception isa TuttiError && settle_ended(pending) || rethrow()
        end
    end
    await_end(pending)
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
    timeout === nothing ? await_end(work.pending, is_blocking()) :
        await_end(work, milliseconds(timeout))
    result(work.pending)
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

function truth(f, work)
    slot = Ref(Int32(0))
    call(f, work, slot)
    slot[] == 1
end

"Whether the operation is done, successfully or not."
iscompleted(work::Work) = settles(work, truth(Raw.tutti_work_is_completed, work))
Base.isready(work::Work) = iscompleted(work)

"Whether the operation is done and successful."
issuccess(work::Work) = settles(work, truth(Raw.tutti_work_is_success, work))

settles(work::Work, ended::Bool) = ended && settle_ended(work.pending)

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
    limit, slot, all = milliseconds(timeout), Ref(Int64(0)), listed(works)
    if is_blocking() || !soon(() -> any(is_settled, all))
        GC.@preserve all call_waiting(Raw.tutti_work_wait_any, handles(all), length(all), limit,
                                      slot)
    end
    findfirst(is_settled, all)
end

"Whether a work of a list is done, which it then settles."
is_settled(work::Work) = settle_ended(work.pending)
is_settled(::Nothing) = false

"""
    waitall(works; timeout = nothing)

Waits until all operations are done; throws the first failure in their order. Entries that are
`nothing` are passed over.
"""
function waitall(works; timeout = nothing)
    all = listed(works)
    timeout === nothing || wait_for_all(all, milliseconds(timeout))
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

function wait_for_all(works, limit)
    all_settled() = all(work -> work === nothing || is_settled(work), works)
    is_blocking() || !soon(all_settled) || return
    try
        GC.@preserve works call_waiting(Raw.tutti_work_wait_all, handles(works), length(works),
                                        limit)
    catch exception
        exception isa TuttiError && all_settled() || rethrow()
    end
end

"""
    then(f, work)

Has `f(failure)` called in a task of its own once the operation is done; `failure` is `nothing` if
it succeeded, else the exception.
"""
function then(f, work::Work)
    check_open(work)
    pending = work.pending
    pending.settled || announce(pending) == Raw.TUTTI_OK || settle_ended(pending) ||
        throw(ResourceError(-1, 0, "no memory to call a function at the end of an operation"))
    lock(pending.mutex)
    ended = pending.settled
    ended || push!(pending.callbacks, f)
    unlock(pending.mutex)
    ended && @async (wait(pending.ended); shown_if_it_fails(f, pending.failure))
    nothing
end
