# device.jl: arrays in the memory of a device, which are passed where they are, and its streams.

"""
    Tutti.Device

Where the elements of an array are: `Tutti.CPU`, `Tutti.CudaDevice(index)` or
`Tutti.XpuDevice(index)`.
"""
struct Device
    type::Int32
    index::Int32
end

"The memory that Julia itself reads."
const CPU = Device(Raw.TUTTI_CPU, 0)
"A GPU of NVIDIA."
CudaDevice(index::Integer) = Device(Raw.TUTTI_CUDA, int32(index, :index))
"A GPU of Intel."
XpuDevice(index::Integer) = Device(Raw.TUTTI_XPU, int32(index, :index))

function Base.show(io::IO, device::Device)
    names = Dict(Raw.TUTTI_CPU => "CPU", Raw.TUTTI_CUDA => "CudaDevice",
                 Raw.TUTTI_XPU => "XpuDevice")
    print(io, "Tutti.", get(names, device.type, "Device"))
    device == CPU || print(io, "(", device.index, ")")
end

"Arrays whose elements are those of their parent, in another order, shape or type."
const Rearranged = Union{SubArray, Base.ReshapedArray, Base.ReinterpretArray, PermutedDimsArray,
                         Adjoint, Transpose}

"""
    Tutti.device(x)

Where the elements of an array are: `Tutti.CPU`, unless the array's type has a method that says
otherwise. For such a type `pointer(x)` gives the address that the device knows, and calls take the
array as it is. The package extension for CUDA.jl has the method for `CuArray`; for a type of your
own:

```julia
Tutti.device(x::MyArray) = Tutti.CudaDevice(0)
```
"""
device(x) = CPU
device(x::Rearranged) = device(parent(x))

is_on_device(x) = device(x) != CPU

coalescing_options(device::Device) = device == CPU ? C_NULL :
    Ref(options(Raw.tutti_coalescing_options; device_type = device.type,
                device_index = device.index))

"""
An array in memory of a device that `alloc` made, or that an `owner` has, such as the gradients of a
`Reducer`. Calls take it as any array of a device; its elements are not for the CPU.
`unsafe_wrap(CuArray, CuPtr{T}(UInt(pointer(x))), size(x))` makes a CuArray of it.
"""
mutable struct DeviceArray{T, N} <: DenseArray{T, N}
    data::Ptr{T}  # C_NULL: it was closed
    lengths::NTuple{N, Int}
    device::Device
    owner::Any    # nothing: the array itself
    DeviceArray{T, N}(data, lengths, device, owner = nothing) where {T, N} =
        new{T, N}(data, lengths, device, owner)
end

device(x::DeviceArray) = x.device

"""
    close(array)

Gives the memory of an array that `alloc` made back, when operations that use it are done. May be
repeated. An owner's memory stays its own.
"""
function Base.close(array::DeviceArray)
    data, array.data = array.data, C_NULL
    data == C_NULL || array.owner !== nothing || Raw.tutti_memory_release(data)
    nothing
end

Base.size(array::DeviceArray) = array.lengths
Base.IndexStyle(::Type{<:DeviceArray}) = IndexLinear()
Base.elsize(::Type{DeviceArray{T, N}}) where {T, N} = sizeof(T)
function Base.unsafe_convert(::Type{Ptr{T}}, array::DeviceArray{T}) where {T}
    array.data == C_NULL && throw(InvalidHandleError(-1, 0, "the array was closed"))
    array.owner === nothing || check_open(array.owner)
    array.data
end
Base.getindex(array::DeviceArray, ::Int...) =
    throw(ArgumentError("the elements are on $(array.device), where the CPU does not read them"))
Base.setindex!(array::DeviceArray, value, ::Int...) = getindex(array, 1)
Base.show(io::IO, array::DeviceArray) = summary(io, array)
Base.show(io::IO, ::MIME"text/plain", array::DeviceArray) =
    (summary(io, array); print(io, " on ", array.device))
