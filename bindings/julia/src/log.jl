# log.jl: what the library says of its work, which is nothing unless it is asked to.

const log_levels = (:off, :error, :warning, :info, :debug, :trace)

"The function that hears the log, and the number it is held by."
const log_listener = Ref{UInt64}(0)

struct LogListener
    f::Any
    lines::Channel{Tuple{Symbol, String}}
end

"""
    set_log_callback(f, level = :info)

Sends the log to `f(level, message)`, up to `level` (`:error`, `:warning`, `:info`, `:debug`,
`:trace`), instead of stderr. `f` runs in a task of its own, one line at a time and in order.

    set_log_callback(nothing)

stderr again, and the environment's level.
"""
function set_log_callback(f, level::Symbol = :info)
    number = findfirst(==(level), log_levels)
    number === nothing && throw(ArgumentError("level is :$level, not one of $log_levels"))
    lines = Channel{Tuple{Symbol, String}}(Inf)
    id = expect(LogListener(f, lines))
    call(Raw.tutti_set_log_callback, helper_log.address, Ptr{Cvoid}(UInt(id)), C_NULL,
         number - 1)
    replace_listener(id)
    @async for (level, message) in lines
        shown_if_it_fails(f, level, message)
    end
    nothing
end

function set_log_callback(::Nothing)
    call(Raw.tutti_set_log_callback, C_NULL, C_NULL, C_NULL, 0)
    replace_listener(UInt64(0))
end

function replace_listener(id)
    serve_events()  # what the one before is still to hear
    before = forget(log_listener[])
    before === nothing || close(before.lines)
    log_listener[] = id
    nothing
end

function log_line(listener, event::Event)
    line = unsafe_string(Ptr{UInt8}(event.input))
    Libc.free(event.input)
    listener === nothing || put!(listener.lines, (log_levels[event.number + 1], line))
end
