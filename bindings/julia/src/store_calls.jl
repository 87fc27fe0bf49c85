# store_calls.jl: what one does with a store.

"Stores a value, a string or bytes, under a key."
function Base.setindex!(store::Store, value, key::AbstractString)
    bytes = bytes_of(value, :value)
    call_waiting(Raw.tutti_store_set, store, key, bytes, length(bytes))
    store
end

"The value of a key, bytes; waits until there is one, up to the store's timeout."
Base.getindex(store::Store, key::AbstractString) = get(store, key, Vector{UInt8})

"""
    get(store, key, String; timeout = nothing)
    get(store, key, Vector{UInt8}; timeout = nothing)

The value of a key as a string, or its bytes; waits until there is one.
"""
Base.get(store::Store, key::AbstractString, ::Type{String}; timeout = nothing) =
    String(get(store, key, Vector{UInt8}; timeout = timeout))
function Base.get(store::Store, key::AbstractString, ::Type{Vector{UInt8}}; timeout = nothing)
    slot = bytes_slot()
    again(store, timeout) do rest
        call_waiting(Raw.tutti_store_get, store, key, store_call_options(rest), slot)
    end
    take_bytes(slot)
end

"""
    Tutti.interrupt(store)

Ends the waits of all tasks and threads on this handle with an `AbortedError`. An interrupt of a
task (Ctrl-C) ends the wait of that task alone.
"""
function interrupt(store::Store)
    all = store.interruptions
    barriers = lock(all.mutex) do
        all.count += 1
        copy(all.barriers)
    end
    call(Raw.tutti_store_interrupt, store)
    for own in barriers
        Raw.tutti_store_interrupt(own, C_NULL)
    end
end

how_often(all::Interruptions) = lock(() -> all.count, all.mutex)

"""
Makes a call that may wait at a store, `f(timeout)`. The library ends all waits of a handle
together, so one that was not meant begins again, with the rest of its time.
"""
function again(f, store::Store, timeout)
    before, begun, rest = how_often(store.interruptions), time_ns(), timeout
    while true
        try
            return f(rest)
        catch failure
            failure isa AbortedError && how_often(store.interruptions) == before || rethrow()
        end
        rest = rest_of(timeout === nothing ? Tutti.timeout(store) : timeout, begun)
    end
end

function rest_of(timeout, begun)
    limit = milliseconds(timeout)
    limit == Raw.TUTTI_NO_TIMEOUT && return Inf
    Dates.Millisecond(max(1, limit - Int64((time_ns() - begun) ÷ 1_000_000)))
end

interrupt_call(made::ThreadCall, store::Store, args...) = end_wait(made, store.handle)

"""
Ends the wait of a call that no task waits for any more. An interruption misses a wait that is about
to begin, so there may be several. An interrupt may come to the task that pauses, too: the next one
goes on.
"""
function end_wait(made::ThreadCall, handle::Ptr{Raw.tutti_store}, pause = 0.001)
    has_returned(made) && return
    Raw.tutti_store_interrupt(handle, C_NULL)
    @async try
        sleep(pause)
    finally
        end_wait(made, handle, min(2 * pause, 1.0))
    end
    nothing
end

"""
    flush(store; timeout = nothing)

Waits until the server has taken every value that this handle set, appended or pushed; throws if it
refused one.
"""
Base.flush(store::Store; timeout = nothing) = again(store, timeout) do rest
    call_waiting(Raw.tutti_store_flush, store, store_call_options(rest))
end

"Adds to a counter and returns its new value; a key that is not there counts as 0."
function add!(store::Store, key::AbstractString, amount::Integer = 1)
    slot = Ref(Int64(0))
    call_waiting(Raw.tutti_store_add, store, key, int64(amount, :amount), slot)
    slot[]
end

"""
    append!(store, key, value)

Appends bytes to the value of a key; a key that is not there counts as empty.
"""
function Base.append!(store::Store, key::AbstractString, value)
    bytes = bytes_of(value, :value)
    call_waiting(Raw.tutti_store_append, store, key, bytes, length(bytes))
    store
end

strings(keys) = String[String(key) for key in keys]

"Whether a key is there; or, of several, whether all are."
Base.haskey(store::Store, key::AbstractString) = haskey(store, (key,))
function Base.haskey(store::Store, keys)
    slot, names = Ref(Int32(0)), strings(keys)
    call_waiting(Raw.tutti_store_check, store, names, length(names), slot)
    slot[] == 1
end

"""
    wait(store, keys; timeout = nothing)

Waits until all keys are there; `timeout` is the store's if it is not given.
"""
function Base.wait(store::Store, keys; timeout = nothing)
    names = keys isa AbstractString ? strings((keys,)) : strings(keys)
    again(store, timeout) do rest
        call_waiting(Raw.tutti_store_wait, store, names, length(names), store_call_options(rest))
    end
end

"""
    compare_set!(store, key, expected, desired)

Sets a key to `desired` if its value is `expected`, or if it is not there and `expected` is empty.
Returns the bytes the key has afterwards.
"""
function compare_set!(store::Store, key::AbstractString, expected, desired)
    slot, old, new = bytes_slot(), bytes_of(expected, :expected), bytes_of(desired, :desired)
    call_waiting(Raw.tutti_store_compare_set, store, key, old, length(old), new,
                 length(new), slot)
    take_bytes(slot)
end

"Removes a key; whether it was there."
function delete_key!(store::Store, key::AbstractString)
    slot = Ref(Int32(0))
    call_waiting(Raw.tutti_store_delete_key, store, key, slot)
    slot[] == 1
end
Base.delete!(store::Store, key::AbstractString) = (delete_key!(store, key); store)

"The values of several keys, bytes each; waits until all are there."
function multi_get(store::Store, keys; timeout = nothing)
    names = strings(keys)
    slots = fill(Ptr{Raw.tutti_bytes}(C_NULL), length(names))
    again(store, timeout) do rest
        call_waiting(Raw.tutti_store_multi_get, store, names, length(names),
                     store_call_options(rest), slots)
    end
    map(take_bytes, slots)
end

"""
    multi_set!(store, pairs)

Stores several values at once: pairs of key and value, or a `Dict`.
"""
function multi_set!(store::Store, pairs)
    names = strings(first(pair) for pair in pairs)
    values = Vector{UInt8}[bytes_of(value, "the value of \"$key\"") for (key, value) in pairs]
    call_waiting(Raw.tutti_store_multi_set, store, names, values,
                 Csize_t[length(value) for value in values], length(names))
    store
end

"Puts a value at the end of a queue; a queue that is not there is made."
function queue_push!(store::Store, key::AbstractString, value)
    bytes = bytes_of(value, :value)
    call_waiting(Raw.tutti_store_queue_push, store, key, bytes, length(bytes))
    store
end

"""
    queue_pop!(store, key; block = true, timeout = nothing)

Takes the first value out of a queue. If it is empty: waits, or with `block = false` throws
`QueueEmptyError`.
"""
function queue_pop!(store::Store, key::AbstractString; block::Bool = true, timeout = nothing)
    slot = bytes_slot()
    again(store, timeout) do rest
        call_waiting(Raw.tutti_store_queue_pop, store, key, block, store_call_options(rest), slot)
    end
    take_bytes(slot)
end

function number_of(f, args...)
    slot = Ref(Int64(0))
    call_waiting(f, args..., slot)
    slot[]
end

"How many values a queue holds."
queue_length(store::Store, key::AbstractString) =
    number_of(Raw.tutti_store_queue_len, store, key)

"How many keys there are."
num_keys(store::Store) = number_of(Raw.tutti_store_num_keys, store)

"The keys that are there, in no order."
function list_keys(store::Store)
    slot, count = bytes_slot(), Ref(Int64(0))
    call_waiting(Raw.tutti_store_list_keys, store, slot, count)
    names = split(take_string(slot), '\0')
    String[name for name in names[1:count[]]]
end

"""
    barrier(store, key, world_size; timeout = nothing)

Waits until `world_size` callers have come to the barrier of this key, which serves once. One that
timed out or was interrupted may have been counted.
"""
function barrier(store::Store, key::AbstractString, world_size::Integer; timeout = nothing)
    size = int32(world_size, :world_size)
    # At a handle of its own: it would count twice if it began again.
    own, all = copy(store), store.interruptions
    limit = timeout === nothing ? Tutti.timeout(store) : timeout
    lock(() -> push!(all.barriers, own), all.mutex)
    goes_on = false
    try
        call_waiting(Raw.tutti_store_barrier, own, key, size, store_call_options(limit))
    catch failure
        goes_on = failure isa InterruptException  # until end_wait has ended the call
        rethrow()
    finally
        lock(() -> filter!(other -> other !== own, all.barriers), all.mutex)
        goes_on || close(own)
    end
end

"Whether append!, multi_get and multi_set! work on this store; they do on every store of tutti."
function has_extended_api(store::Store)
    slot = Ref(Int32(0))
    call(Raw.tutti_store_has_extended_api, store, slot)
    slot[] == 1
end

"Sets the timeout of the calls on this handle: seconds, a `Period`, or `Inf`."
set_timeout!(store::Store, timeout) =
    call(Raw.tutti_store_set_timeout, store, milliseconds(timeout))

"The timeout of the calls on this handle, in seconds."
function timeout(store::Store)
    slot = Ref(Int64(0))
    call(Raw.tutti_store_get_timeout, store, slot)
    seconds(slot[])
end
