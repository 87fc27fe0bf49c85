# events.jl: what threads of the library tell Julia. Julia's code runs on Julia's threads alone, so
# such a thread leaves an event in libtutti_julia (deps/tutti_julia.c) and wakes Julia's event loop;
# one task here takes the events and serves them.

const WORK_DONE, CALL_RETURNED, LOG_LINE, REDUCE, ALLGATHER, HOOK, OPERATION = UInt32.(1:7)

"As the struct of this name in deps/tutti_julia.c."
struct Event
    kind::UInt32
    number::Int32
    id::UInt64
    input::Ptr{Cvoid}
    output::Ptr{Cvoid}
    count::Int64
    answer::Ptr{Cvoid}
end

"""
What waits for an event, by the number that the event will have. What an operation borrows is held
from here until its end is noticed, whatever becomes of the task or the `Work` that waits for it.
"""
const expected = Dict{UInt64, Any}()
const expected_lock = ReentrantLock()
const last_id = Threads.Atomic{UInt64}(0)

function expect(waiting)
    id = Threads.atomic_add!(last_id, UInt64(1)) + 1
    lock(() -> expected[id] = waiting, expected_lock)
    id
end

forget(id) = lock(() -> pop!(expected, id, nothing), expected_lock)
look_up(id) = lock(() -> get(expected, id, nothing), expected_lock)

function start_events()
    ccall(:jl_generating_output, Cint, ()) == 0 || return
    condition = Base.AsyncCondition()
    ccall(helper_start.address, Cvoid, (Ptr{Cvoid}, Ptr{Cvoid}), cglobal(:uv_async_send),
          condition.handle)
    atexit(() -> ccall(helper_stop.address, Cvoid, ()))
    listener[] = @async listen(condition)
end

"The task that takes the events."
const listener = Ref{Task}()

"""
Takes events. An interrupt comes to whichever task waited last, which may be this one: another one
goes on then, as all that wait would wait for ever.
"""
function listen(condition)
    try
        while true
            disable_sigint(serve_events)
            wait(condition)
        end
    catch
        isopen(condition) && (listener[] = @async listen(condition))
        rethrow()
    end
end

function serve_events()
    event = Ref{Event}()
    while ccall(helper_take.address, Int32, (Ptr{Event},), event) != 0
        try
            serve(event[])
        catch exception
            @error "tutti: an event could not be served" exception = (exception, catch_backtrace())
        end
    end
end

function serve(event::Event)
    if event.kind == WORK_DONE
        work_ended(look_up(event.id), event)
    elseif event.kind == CALL_RETURNED
        call_returned(forget(event.id), event.number)
    elseif event.kind == LOG_LINE
        log_line(look_up(event.id), event)
    elseif event.kind == OPERATION
        operation_event(look_up(event.id), event)
    elseif event.kind == REDUCE
        @async answer(reduce_event, event)
    elseif event.kind == ALLGATHER
        @async answer(allgather_event, event)
    elseif event.kind == HOOK
        @async answer(hook_event, event)
    end
end

"Calls a function of the program's, with nobody to throw to."
function shown_if_it_fails(f, args...)
    try
        Base.invokelatest(f, args...)
    catch exception
        @error "tutti: a function of the program failed" exception = (exception, catch_backtrace())
    end
    nothing
end

"Answers a question by a function of the program's; what it throws is the text of the failure."
function answer(f, event::Event)
    status, text = Raw.TUTTI_OK, ""
    try
        Base.invokelatest(f, event)
    catch exception
        status, text = Raw.TUTTI_ERR_BACKEND, sprint(showerror, exception)
    end
    ccall(helper_answer.address, Cvoid, (Ptr{Cvoid}, Int32, Cstring), event.answer, status,
          replace(text, '\0' => ' '))
end
