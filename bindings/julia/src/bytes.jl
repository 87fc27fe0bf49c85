# bytes.jl: bytes that the library returns.

"The bytes of an owned handle, which is given back."
function take_bytes(handle::Ptr{Raw.tutti_bytes})
    size = Raw.tutti_bytes_size(handle)
    bytes = Vector{UInt8}(undef, size)
    data = Ptr{UInt8}(Raw.tutti_bytes_data(handle))
    GC.@preserve bytes unsafe_copyto!(pointer(bytes), data, size)
    Raw.tutti_bytes_release(handle)
    bytes
end

take_bytes(slot::Ref) = take_bytes(slot[])
take_string(slot::Ref) = String(take_bytes(slot))

bytes_slot() = Ref(Ptr{Raw.tutti_bytes}(C_NULL))

"The bytes of an argument that is a string or a vector of `UInt8`."
bytes_of(value::AbstractString, name) = Vector{UInt8}(codeunits(String(value)))
bytes_of(value::Vector{UInt8}, name) = value
bytes_of(value::AbstractVector{UInt8}, name) = Vector{UInt8}(value)
bytes_of(value, name) =
    throw(ArgumentError("$name is a $(typeof(value)), not a string or a vector of UInt8"))
