# memory.jl: arrays in memory that the ranks of a host share.

"""
A dense array in memory of the library's, at `data`, with `lengths`; `open_data` throws once that is
gone.
"""
abstract type NativeArray{T, N} <: DenseArray{T, N} end

"""
An array that `alloc` made. It is used as any dense array; reading it when it was closed is an
`InvalidHandleError`.
"""
mutable struct HostArray{T, N} <: NativeArray{T, N}
    data::Ptr{T}  # C_NULL: it was closed
    lengths::NTuple{N, Int}
end

"""
    alloc(T, dims...; group = WORLD, timeout = nothing, device = Tutti.CPU)

An array of zeros in memory that the other ranks of this host read where it is. Collectives and
messages of the group whose data lie in such arrays, or in views of them, on all ranks that give
data, copy less; everywhere else it is an array like any other. Every rank of the group calls it, in
the order of its collectives; the dimensions may differ, and be 0.

With a `device`, for instance `Tutti.CudaDevice(0)`, it is a `Tutti.DeviceArray` in memory of that.

`close` gives the memory back, the collector does so if the program forgets, and the group may end
before. An operation that has begun keeps the memory until it is done.
"""
function alloc(::Type{T}, dims::Integer...; group::Group = WORLD, timeout = nothing,
               device::Device = CPU) where {T}
    isbitstype(T) || throw(ArgumentError("T is $T, whose elements are not plain bits"))
    bytes, lengths, slot = size_in_bytes(T, dims), Int.(dims), Ref(C_NULL)
    make_room(bytes)
    wanted = Ref(options(Raw.tutti_memory_options; timeout_ms = milliseconds(timeout),
                         device_type = device.type, device_index = device.index))
    call_waiting(Raw.tutti_memory_alloc, group, bytes, wanted, slot)
    device == CPU ||
        return finalizer(close, DeviceArray{T, length(dims)}(slot[], lengths, device))
    Threads.atomic_add!(bytes_held, bytes)
    finalizer(close, HostArray{T, length(dims)}(slot[], lengths))
end

alloc(::Type{T}, dims::Tuple{Vararg{Integer}}; options...) where {T} = alloc(T, dims...; options...)

function size_in_bytes(type, dims)
    all(>=(0), dims) || throw(ArgumentError("dims are $dims, and none can be below 0"))
    elements = foldl(*, dims; init = big(1))
    bytes = elements * sizeof(type)
    max(elements, bytes, dims...) <= typemax(Int) ||
        throw(ArgumentError("dims are $dims: $bytes bytes are more than there can be"))
    Int(bytes)
end

"Bytes in arrays that were not given back."
const bytes_held = Threads.Atomic{Int}(0)
"How many there may be before dropped arrays are looked for."
const bytes_before_collection = Threads.Atomic{Int}(2^28)

"The collector does not know how large these arrays are, and is asked before they are too many."
function make_room(bytes)
    wanted = bytes_held[] + Int128(bytes)
    wanted > bytes_before_collection[] || return
    GC.gc()
    bytes_before_collection[] = max(2^28, 2 * bytes_held[])
    nothing
end

"""
    close(array)

Gives the memory of an array that `alloc` made back: at once, or, while operations run that use it,
when they are done. May be repeated. No other thread may be using the array.
"""
function Base.close(array::HostArray)
    data, array.data = array.data, C_NULL
    data == C_NULL && return
    Threads.atomic_sub!(bytes_held, sizeof(array))
    Raw.tutti_memory_release(data)
    nothing
end

function open_data(array::HostArray)
    array.data == C_NULL && throw(InvalidHandleError(-1, 0, "the array was closed"))
    array.data
end

# The copy would have the same memory, and nobody to give it back.
Base.deepcopy_internal(::NativeArray, ::IdDict) = throw(ArgumentError(
    "an array of alloc or of a reducer cannot be in a deep copy; its copy is an Array"))

is_writable(::NativeArray) = true

Base.size(array::NativeArray) = array.lengths
Base.sizeof(array::NativeArray{T}) where {T} = sizeof(T) * length(array)
Base.IndexStyle(::Type{<:NativeArray}) = IndexLinear()
Base.elsize(::Type{<:NativeArray{T}}) where {T} = sizeof(T)
Base.unsafe_convert(::Type{Ptr{T}}, array::NativeArray{T}) where {T} = open_data(array)
Base.dataids(array::NativeArray) = (UInt(array.data),)

@inline function Base.getindex(array::NativeArray, i::Int)
    @boundscheck checkbounds(array, i)
    GC.@preserve array unsafe_load(open_data(array), i)
end

@inline function Base.setindex!(array::NativeArray{T}, value, i::Int) where {T}
    @boundscheck checkbounds(array, i)
    element = convert(T, value)
    GC.@preserve array unsafe_store!(open_data(array), element, i)
    array
end
