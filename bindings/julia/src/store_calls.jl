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
    call_waiting(Raw.tutti_store_get, store, key, store_call_options(timeout), slot)
    take_bytes(slot)
end

"""
    Tutti.interrupt(store)

Ends the waits of other tasks and threads on this handle with an `AbortedError`. An interrupt of a
task that waits (Ctrl-C) does the same.
"""
interrupt(store::Store) = call(Raw.tutti_store_interrupt, store)

interrupt_call(store::Store, args...) = interrupt(store)

"""
    flush(store; timeout = nothing)

Waits until the server has taken every value that this handle set, appended or pushed; throws if it
refused one.
"""
Base.flush(store::Store; timeout = nothing) =
    call_waiting(Raw.tutti_store_flush, store, store_call_options(timeout))

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
    call_waiting(Raw.tutti_store_wait, store, names, length(names), store_call_options(timeout))
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
    call_waiting(Raw.tutti_store_multi_get, store, names, length(names),
                 store_call_options(timeout), slots)
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
    call_waiting(Raw.tutti_store_queue_pop, store, key, block, store_call_options(timeout), slot)
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

Waits until `world_size` callers have come to the barrier of this key, which serves once.
"""
barrier(store::Store, key::AbstractString, world_size::Integer; timeout = nothing) =
    call_waiting(Raw.tutti_store_barrier, store, key, int32(world_size, :world_size),
                 store_call_options(timeout))

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
