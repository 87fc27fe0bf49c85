# store.jl: key-value stores, where processes meet.

"""
A key-value store: `store["key"] = "value"`, `store["key"]` (bytes; waits until there is a value),
`haskey`, `delete!`, `add!`, `wait`, `close`. Keys are strings, values strings or bytes. Any task
may use it; a task that waits holds up no other, and an interrupt of it (Ctrl-C) ends its wait
alone.
"""
abstract type Store <: Handle end

"""
What the program interrupts: `count` says how often it has. Shared by all values that stand for one
handle of the library. `barriers` are the handles of their own that barriers wait at.
"""
mutable struct Interruptions
    count::Int
    barriers::Vector{Store}
    mutex::ReentrantLock
    Interruptions() = new(0, Store[], ReentrantLock())
end

for Kind in (:HashStore, :FileStore, :TCPStore, :LibraryStore, :AnyStore)
    @eval mutable struct $Kind <: Store
        handle::Ptr{Raw.tutti_store}
        interruptions::Interruptions
        $Kind(handle::Ptr{Raw.tutti_store}, interruptions = Interruptions()) =
            finalizer(close, new(handle, interruptions))
    end
end

mutable struct PrefixStore <: Store
    handle::Ptr{Raw.tutti_store}
    interruptions::Interruptions
    underlying::Interruptions
    PrefixStore(handle::Ptr{Raw.tutti_store}, underlying = Interruptions()) =
        finalizer(close, new(handle, Interruptions(), underlying))
end

"A store of which only the handle is known."
AnyStore

release(handle::Ptr{Raw.tutti_store}) = Raw.tutti_store_release(handle)

kind(::Store) = "store"
Base.isopen(store::Store) = store.handle != C_NULL
Base.show(io::IO, store::Store) =
    print(io, nameof(typeof(store)), isopen(store) ? "()" : "(closed)")

store_slot() = Ref(Ptr{Raw.tutti_store}(C_NULL))

"Makes a store by a function of the library; `f(store)` if there is an `f`, and closes it then."
function open_store(kind, create, args...)
    slot = store_slot()
    call_waiting(create, args..., slot)
    kind(slot[])
end

function closing(f, resource)
    try
        f(resource)
    finally
        close(resource)
    end
end

"""
    HashStore()

A store that lives in this process only, for ranks that are tasks or threads.
"""
function HashStore()
    slot = store_slot()
    call(Raw.tutti_hash_store_create, slot)
    HashStore(slot[])
end

"""
    FileStore(path, world_size = nothing; timeout = nothing)

A store in a file that all processes can reach and lock; removed when the last of `world_size`
stores is closed. A file that an earlier run left behind must be removed before. `timeout` is of the
store's calls, and of the wait for others that hold the file's lock.
"""
FileStore(path::AbstractString, world_size::Union{Integer, Nothing} = nothing; timeout = nothing) =
    open_store(FileStore, Raw.tutti_file_store_create, path,
               int32(something(world_size, -1), :world_size), store_options(timeout))

"""
    LibraryStore(name, address = ""; timeout = nothing)

The store of a library `libtutti-NAME.so`, which says what its `address` is. `timeout` is of opening
and of the store's calls.
"""
LibraryStore(name::AbstractString, address::AbstractString = ""; timeout = nothing) =
    open_store(LibraryStore, Raw.tutti_store_open, name, address, store_options(timeout))

"""
    TCPStore(host, port; is_master = false, world_size = nothing, timeout = nothing, limits...)

Connects to a store served over TCP, and serves it if this process is the master (port 0: any free
one, see `port`). With a `world_size` the master waits until all have come. PyTorch's `TCPStore`
may be on the other side. `timeout` is of connecting and of the store's calls from then on.

- `wait_for_workers = true`, `multi_tenant = false`, `master_listen_fd = nothing`: as in torch
- `max_connections`, `max_key_bytes`, `max_value_bytes`, `max_keys_per_request`,
  `max_memory_bytes`: of the master's server; 0: what `Tutti.Raw.tutti_tcp_store_options` says
"""
function TCPStore(host::AbstractString, port::Integer; is_master::Bool = false,
                  world_size::Union{Integer, Nothing} = nothing, timeout = nothing,
                  wait_for_workers::Bool = true, multi_tenant::Bool = false,
                  master_listen_fd::Union{Integer, Nothing} = nothing, limits...)
    wanted = options(
        Raw.tutti_tcp_store_options; no_wait_for_workers = !wait_for_workers,
        timeout_ms = milliseconds(timeout), multi_tenant = multi_tenant,
        has_master_listen_fd = master_listen_fd !== nothing,
        master_listen_fd = something(master_listen_fd, 0), checked_limits(limits)...)
    open_store(TCPStore, Raw.tutti_tcp_store_create, host, int32(port, :port),
               int32(something(world_size, -1), :world_size), is_master, Ref(wanted))
end

function checked_limits(limits)
    for name in keys(limits)
        startswith(String(name), "max_") && name in fieldnames(Raw.tutti_tcp_store_options) ||
            throw(ArgumentError("TCPStore has no limit $name"))
    end
    limits
end

"""
    PrefixStore(prefix, store)

A view of a store that puts `prefix` and "/" before every key.
"""
function PrefixStore(prefix::AbstractString, store::Store)
    slot = store_slot()
    call(Raw.tutti_prefix_store_create, store, prefix, slot)
    PrefixStore(slot[], store.interruptions)
end

for Kind in (:HashStore, :FileStore, :TCPStore, :LibraryStore, :PrefixStore)
    @eval $Kind(f::Function, args...; options...) = closing(f, $Kind(args...; options...))
end

"The port a TCP store is served at."
function port(store::TCPStore)
    slot = Ref(Int32(0))
    call(Raw.tutti_tcp_store_port, store, slot)
    Int(slot[])
end

function text_of(f, store::Store)
    slot = bytes_slot()
    call(f, store, slot)
    take_string(slot)
end

"The host of a TCP store, as it was given."
host(store::TCPStore) = text_of(Raw.tutti_tcp_store_host, store)
"The absolute path of a file store's file."
path(store::FileStore) = text_of(Raw.tutti_file_store_path, store)

"The store whose keys a prefix store shows; its `close` leaves the prefix store as it is."
function underlying_store(store::PrefixStore)
    slot = store_slot()
    call(Raw.tutti_prefix_store_underlying_store, store, slot)
    AnyStore(slot[], store.underlying)
end

"Another handle of the same store, with a timeout and, over TCP, connections of its own."
Base.copy(store::Store; timeout = nothing) = again(store, timeout) do rest
    open_store(typeof(store), Raw.tutti_store_clone, store, store_options(timeout))
end
