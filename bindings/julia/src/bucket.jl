# bucket.jl: gradients where a reducer has them, one after the other in buckets.

"""
The gradient of a parameter, or all of a bucket, in the memory of a reducer, which it holds. It is
used as any dense array, until `generation(reducer)` changes; reading it when the reducer was closed
is an `InvalidHandleError`.
"""
struct GradientArray{T, N} <: NativeArray{T, N}
    owner::Handle
    data::Ptr{T}
    lengths::NTuple{N, Int}
end

function open_data(array::GradientArray)
    check_open(array.owner)
    array.data
end

"The elements of a buffer, in the given shape."
function gradient_array(owner::Handle, buffer::Raw.tutti_buffer, lengths = (Int(buffer.count),))
    type, place = element_types[buffer.dtype], Device(buffer.device_type, buffer.device_index)
    place == CPU ||
        return DeviceArray{type, length(lengths)}(buffer.data, lengths, place, owner)
    GradientArray{type, length(lengths)}(owner, Ptr{type}(buffer.data), lengths)
end

"""
The gradients of some parameters of one type, one after the other.

- `index`: buckets are reduced in this order, from 1 to `count`
- `gradients`: of all its parameters, a vector; on a device a `DeviceArray`
- `parameters`: their indices, in their order in the bucket
- `ranges`: for each, where its gradient is in `gradients`
- `stream`: of a bucket on a device: its gradients are there after what this stream has, so a hook
  gives it to its collectives; `C_NULL` on the CPU
"""
struct Bucket
    index::Int
    count::Int
    gradients::Union{GradientArray, DeviceArray}
    parameters::Vector{Int}
    ranges::Vector{UnitRange{Int}}
    stream::Ptr{Cvoid}
end

function Bucket(owner::Handle, bucket::Raw.tutti_bucket)
    list(first) = copy(unsafe_wrap(Array, Ptr{Int64}(first), bucket.parameter_count))
    ranges = [(offset + 1):(offset + count)
              for (offset, count) in zip(list(bucket.offsets), list(bucket.counts))]
    Bucket(bucket.index + 1, bucket.bucket_count, gradient_array(owner, bucket.gradients),
           list(bucket.parameters) .+ 1, ranges, bucket.stream)
end

Base.show(io::IO, bucket::Bucket) =
    print(io, "Bucket(", bucket.index, " of ", bucket.count, ", of ", bucket.parameters, ")")

"A bucket for the library to fill in."
function bucket_slot()
    slot = Ref{Raw.tutti_bucket}()
    Raw.tutti_bucket_init(slot, sizeof(Raw.tutti_bucket))
    slot
end
