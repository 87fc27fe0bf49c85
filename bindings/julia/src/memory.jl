# memory.jl: arrays in memory that the ranks of a host share.

"""
An array that `alloc` made. It is used as any dense array; reading it when it was closed is an
`InvalidHandleError`.
"""
mutable struct HostArray{T, N} <: DenseArray{T, N}
    data::Ptr{T}        # C_NULL: it was closed
    memory::Ptr{Cvoid}  # C_NULL: the memory was given back
    lengths::NTuple{N, Int}
end

"""
    alloc(T, dims...; group = WORLD)

An array of zeros in memory that the other ranks of this host read where it is. Collectives and
messages of the group whose data lie in such arrays, or in views of them, on all ranks that give
data, copy less; everywhere else it is an array like any other. Every rank of the group calls it, in
the order of its collectives; the dimensions may differ, and be 0.

`close` gives the memory back, the collector does so if the program forgets, and the group may end
before. An operation that has begun keeps the memory until it is done.
"""
function alloc(::Type{T}, dims::Integer...; group::Group = WORLD) where {T}
    isbitstype(T) || throw(ArgumentError("T is $T, whose elements are not plain bits"))
    bytes = size_in_bytes(T, dims)
    slot = Ref(C_NULL)
    call_waiting(Raw.tutti_alloc, group, bytes, slot)
    finalizer(give_back, HostArray{T, length(dims)}(Ptr{T}(slot[]), slot[], Int.(dims)))
end

alloc(::Type{T}, dims::Dims; options...) where {T} = alloc(T, dims...; options...)

function size_in_bytes(type, dims)
    all(>=(0), dims) || throw(ArgumentError("dims are $dims, and none can be below 0"))
    bytes = foldl(*, dims; init = big(sizeof(type)))
    bytes <= typemax(Int) ||
        throw(ArgumentError("dims are $dims: $bytes bytes are more than there can be"))
    Int(bytes)
end

function give_back(array::HostArray)
    memory, array.memory = array.memory, C_NULL
    array.data = C_NULL
    Raw.tutti_free(memory, C_NULL)
    nothing
end

"""
    close(array)

Gives the memory of an array that `alloc` made back: at once, or, while operations run that may be
using it, when they and the array are gone. May be repeated.
"""
function Base.close(array::HostArray)
    array.data = C_NULL
    is_idle = gathering_groups[] == 0 && lock(() -> isempty(expected), expected_lock)
    is_idle && give_back(array)
    nothing
end

function open_data(array::HostArray)
    array.data == C_NULL && throw(InvalidHandleError(-1, 0, "the array was closed"))
    array.data
end

Base.size(array::HostArray) = array.lengths
Base.IndexStyle(::Type{<:HostArray}) = IndexLinear()
Base.elsize(::Type{HostArray{T, N}}) where {T, N} = sizeof(T)
Base.unsafe_convert(::Type{Ptr{T}}, array::HostArray{T}) where {T} = open_data(array)
Base.dataids(array::HostArray) = (UInt(array.memory),)

@inline function Base.getindex(array::HostArray, i::Int)
    @boundscheck checkbounds(array, i)
    GC.@preserve array unsafe_load(open_data(array), i)
end

@inline function Base.setindex!(array::HostArray{T}, value, i::Int) where {T}
    @boundscheck checkbounds(array, i)
    element = convert(T, value)
    GC.@preserve array unsafe_store!(open_data(array), element, i)
    array
end
