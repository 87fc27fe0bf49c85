# buffer.jl: arrays as the library sees them: where their elements are, how many, of which type.

"A bfloat16, by its bits: the upper half of a Float32. Not in Julia before 1.11."
struct BFloat16 <: AbstractFloat
    bits::UInt16
end

BFloat16(x::BFloat16) = x
function BFloat16(x::Real)
    bits = reinterpret(UInt32, Float32(x))
    isnan(x) && return BFloat16((bits >> 16) % UInt16 | 0x0040)
    BFloat16(((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) % UInt16)
end
Base.Float32(x::BFloat16) = reinterpret(Float32, UInt32(x.bits) << 16)
Base.Float64(x::BFloat16) = Float64(Float32(x))
Base.promote_rule(::Type{BFloat16}, ::Type{T}) where {T <: Union{Float32, Float64}} = T
Base.promote_rule(::Type{BFloat16}, ::Type{<:Integer}) = BFloat16
for f in (:+, :-, :*, :/)
    @eval Base.$f(x::BFloat16, y::BFloat16) = BFloat16($f(Float32(x), Float32(y)))
end
Base.:-(x::BFloat16) = BFloat16(xor(x.bits, 0x8000))
for f in (:(==), :<, :<=, :isless)
    @eval Base.$f(x::BFloat16, y::BFloat16) = $f(Float32(x), Float32(y))
end
Base.isnan(x::BFloat16) = isnan(Float32(x))
Base.show(io::IO, x::BFloat16) = print(io, "BFloat16(", Float32(x), ")")

const element_types = Dict{UInt32, DataType}()

for (type, name) in ((Int8, :INT8), (UInt8, :UINT8), (Int16, :INT16), (UInt16, :UINT16),
                     (Int32, :INT32), (UInt32, :UINT32), (Int64, :INT64), (UInt64, :UINT64),
                     (Float16, :FLOAT16), (BFloat16, :BFLOAT16), (Float32, :FLOAT32),
                     (Float64, :FLOAT64), (ComplexF32, :COMPLEX64), (ComplexF64, :COMPLEX128),
                     (Bool, :BOOL))
    number = getfield(Raw, Symbol(:TUTTI_, name))
    @eval dtype(::Type{$type}) = $number
    element_types[number] = type
end
if isdefined(Core, :BFloat16)
    @eval dtype(::Type{Core.BFloat16}) = Raw.TUTTI_BFLOAT16
end

"The library's element type for a type of Julia; `nothing` for one it does not know."
dtype(::Type) = nothing

"Memory of an array of bits, or of a `Ref` to some."
const Memory = Union{AbstractArray, Base.RefValue}

is_contiguous(::Union{Array, Base.RefValue}) = true
is_contiguous(x::AbstractArray) =
    isempty(x) || x isa StridedArray && strides_are_dense(strides(x), size(x))

function strides_are_dense(steps, lengths)
    expected = 1
    for (step, length) in zip(steps, lengths)
        length == 1 || step == expected || return false
        expected *= length
    end
    true
end

"""
Memory that is lent to an operation: `memory` is `original`, or a dense copy of it for as long as a
synchronous call lasts.
"""
struct Lent{Original, M <: Memory}
    original::Original
    memory::M
    buffer::Base.RefValue{Raw.tutti_buffer}
end

"""
Lends an array to an operation. One that is not dense in memory is copied, but not if the operation
goes on after the call. Elements the library does not know are moved as bytes, but not reduced.
"""
function lend(x::Memory, name; keeps::Bool, reduces::Bool = false)
    is_contiguous(x) && return Lent(x, x, Ref(buffer(x, name, reduces)))
    is_on_device(x) &&
        throw(ArgumentError("$name is not dense in the memory of $(device(x)): it is not copied"))
    keeps && throw(ArgumentError("$name is not dense in memory: an operation that goes on after " *
                                 "the call needs an Array or a view without gaps"))
    copy = Array(x)
    Lent(x, copy, Ref(buffer(copy, name, reduces)))
end
lend(x, name; options...) =
    throw(ArgumentError("$name is a $(typeof(x)), not an array or a Ref"))

"After the operation: what was copied goes back to where it came from."
give_back(lent::Lent) = (lent.original === lent.memory || copyto!(lent.original, lent.memory);
                         lent.original)

function buffer(x::Memory, name, reduces::Bool)
    type = eltype(x)
    isbitstype(type) ||
        throw(ArgumentError("$name has elements of type $type, which are not plain bits"))
    known = dtype(type)
    known === nothing && reduces &&
        throw(ArgumentError("$name has elements of type $type, which cannot be reduced"))
    count = length(x) * (known === nothing ? sizeof(type) : 1)
    raw_buffer(address(x, name), count, known === nothing ? Raw.TUTTI_UINT8 : known, device(x))
end

raw_buffer(data::Ptr, count, type, place::Device) =
    Raw.tutti_buffer(data, count, type, place.type, place.index, 0, (0, 0, 0, 0))

address(x::Base.RefValue, name) = Ptr{Cvoid}(Base.unsafe_convert(Ptr{eltype(x)}, x))
function address(x::AbstractArray, name)
    isempty(x) && return C_NULL
    start = pointer(x)
    start isa Ptr || is_on_device(x) || throw(ArgumentError(
        "$name is not in the memory of the CPU; a method of Tutti.device says where"))
    Ptr{Cvoid}(UInt(start))
end

"Whether a collective's argument is a list of buffers, one for each rank, and not one buffer."
is_list(x) = x isa Union{Tuple, AbstractVector} && !isbitstype(eltype(x))

"Arrays that are lent, and the buffers in them, in a row."
struct LentList
    lent::Vector{Lent}
    buffers::Vector{Raw.tutti_buffer}
end

"Lends each array of a list by `lender`, which is `lend` or `lend_output`."
function lend_list(lender, list, name; options...)
    lent = Lent[lender(x, "$name[$i]"; options...) for (i, x) in enumerate(list)]
    LentList(lent, Raw.tutti_buffer[one.buffer[] for one in lent])
end

give_back(list::LentList) = foreach(give_back, list.lent)
give_back(::Nothing) = nothing

"An array's buffer in equal pieces, one for each of `count` ranks."
function pieces(whole::Lent, count, name)
    elements = length(whole.memory)
    elements % count == 0 || throw(DimensionMismatch(
        "$name has $elements elements, which $count ranks cannot share equally"))
    buffer = whole.buffer[]
    bytes = sizeof(eltype(whole.memory)) * elements ÷ count
    place = Device(buffer.device_type, buffer.device_index)
    [raw_buffer(buffer.data + i * bytes, buffer.count ÷ count, buffer.dtype, place)
     for i in 0:(count - 1)]
end

pointer_to(lent::Lent) = lent.buffer
pointer_to(list::LentList) = list.buffers
pointer_to(::Nothing) = C_NULL
count_of(list::LentList) = length(list.buffers)
count_of(::Nothing) = 0
