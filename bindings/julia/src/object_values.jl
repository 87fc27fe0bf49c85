# object_values.jl: values of Julia as objects, and back.
#
#   nothing           nil           Bool              bool
#   Integer           integer       AbstractFloat     float64
#   AbstractString    string        Symbol            string
#   Vector{UInt8}     bytes         Timestamp         timestamp (DateTime, too)
#   array of numbers  array         other arrays, tuples, sets                 list
#   AbstractDict, NamedTuple        map
#
# An array keeps its shape and element type; its rows are stored one after the other, as other
# languages have them, so x[i, j] here is x[i][j] there.

"A point in time: seconds since 1970-01-01 00:00 UTC, and nanoseconds. `DateTime(t)` rounds down."
struct Timestamp
    seconds::Int64
    nanoseconds::Int32
end

function Timestamp(time::DateTime)
    milliseconds = Dates.value(time) - Dates.UNIXEPOCH
    Timestamp(fld(milliseconds, 1000), mod(milliseconds, 1000) * 1_000_000)
end
Dates.DateTime(time::Timestamp) = DateTime(Dates.UTM(
    Dates.UNIXEPOCH + 1000 * time.seconds + time.nanoseconds ÷ 1_000_000))

"""
    AsArray(x)

An array that goes as an array also where it would be bytes: a vector of `UInt8`. What comes as an
array of uint8 in one dimension is one.
"""
struct AsArray{T, N} <: AbstractArray{T, N}
    array::Array{T, N}
end
Base.size(x::AsArray) = size(x.array)
Base.getindex(x::AsArray, i::Int...) = x.array[i...]

function Object(value)
    slot = object_slot()
    call(Raw.tutti_object_create, slot)
    object = Object(slot[])
    add(object, value)
    object
end
Object(object::Object) = copy(object)

add(object::Object, ::Nothing) = call(Raw.tutti_object_add_nil, object)
add(object::Object, value::Bool) = call(Raw.tutti_object_add_bool, object, value)
add(object::Object, value::AbstractFloat) =
    call(Raw.tutti_object_add_float64, object, Float64(value))
add(object::Object, value::Timestamp) =
    call(Raw.tutti_object_add_timestamp, object, value.seconds, value.nanoseconds)
add(object::Object, value::DateTime) = add(object, Timestamp(value))
add(object::Object, value::Symbol) = add(object, String(value))
add(object::Object, value::Object) =
    call(Raw.tutti_object_add_object, object, value, 0)

function add(object::Object, value::Integer)
    if value > typemax(Int64)
        value <= typemax(UInt64) || refuse_integer(value)
        call(Raw.tutti_object_add_uint64, object, UInt64(value))
    else
        value >= typemin(Int64) || refuse_integer(value)
        call(Raw.tutti_object_add_int64, object, Int64(value))
    end
end
refuse_integer(value) =
    throw(ArgumentError("$value is beyond the integers of objects, -2^63 to 2^64 - 1"))

function add(object::Object, value::AbstractString)
    text = String(value)
    GC.@preserve text call(Raw.tutti_object_add_string, object, Cstring(pointer(text)),
                           ncodeunits(text))
end

add(object::Object, value::Vector{UInt8}) =
    call(Raw.tutti_object_add_bytes, object, value, length(value), 0)
add(object::Object, value::AsArray) = add_array(object, value.array)

function add(object::Object, value::AbstractArray)
    isbitstype(eltype(value)) && dtype(eltype(value)) !== nothing && return add_array(object, value)
    ndims(value) == 1 ||
        throw(ArgumentError("objects have no $(typeof(value)): make it a vector of vectors"))
    add_list(object, value)
end
add(object::Object, value::Union{Tuple, AbstractSet}) = add_list(object, value)
add(object::Object, value) =
    throw(ArgumentError("objects have no $(typeof(value)): make it a Dict, a tuple or an array"))

function add_array(object::Object, value::AbstractArray)
    rows = Array(ndims(value) < 2 ? value : permutedims(value, ndims(value):-1:1))
    shape = Int64[length for length in size(value)]
    call(Raw.tutti_object_add_array, object, rows, dtype(eltype(value)), shape,
         length(shape), 0)
end

const deepest = 10_000

"Builds a list or a map: what `f` adds is in it."
function nested(f, begin_it, object::Object)
    object.depth < deepest ||
        throw(ArgumentError("value is more than $deepest levels deep: does it hold itself?"))
    object.depth += 1
    call(begin_it, object)
    f()
    call(Raw.tutti_object_end, object)
    object.depth -= 1
    nothing
end

add_list(object::Object, values) = nested(Raw.tutti_object_begin_list, object) do
    foreach(value -> add(object, value), values)
end

add(object::Object, value::Union{AbstractDict, NamedTuple}) =
    nested(Raw.tutti_object_begin_map, object) do
        for (key, inner) in pairs(value)
            key isa Union{AbstractString, Symbol, Integer} && !(key isa Bool) ||
                throw(ArgumentError("a key is a $(typeof(key)), not a string or an integer"))
            add(object, key)
            add(object, inner)
        end
    end

string_item(text) = item_of(Raw.TUTTI_OBJECT_STRING, String(text))
item_of(kind, text::String) =
    (Raw.tutti_object_item(kind, 0, 0, 0.0, Ptr{Cvoid}(pointer(text)), ncodeunits(text), C_NULL, 0,
                           0, 0), text)
function integer_item(key)
    kind = key > typemax(Int64) ? Raw.TUTTI_OBJECT_UINT64 : Raw.TUTTI_OBJECT_INT64
    (Raw.tutti_object_item(kind, 0, key % Int64, 0.0, C_NULL, 0, C_NULL, 0, 0, 0), nothing)
end

"Reads the values of an object in the order of their nodes, many at a time."
mutable struct Reader
    object::Object
    items::Vector{Raw.tutti_object_item}
    next::Int    # place in items of the next value
    count::Int   # how many items hold values
    node::Int64  # of the first item after those
end

Reader(object, node) =
    Reader(object, Vector{Raw.tutti_object_item}(undef, 64), 1, 0, node)

function next_item(reader::Reader)
    if reader.next > reader.count
        count = Ref(Int64(0))
        call(Raw.tutti_object_read, reader.object, reader.node, reader.items,
             length(reader.items), count)
        count[] == 0 && throw(ArgumentError("the object ends too soon"))
        reader.next, reader.count = 1, count[]
        reader.node += count[]
    end
    item = reader.items[reader.next]
    reader.next += 1
    item
end

"The value of an object, or of one node of it: `nothing`, numbers, strings, `Vector{Any}`, `Dict`."
value(object::Object, node::Integer = 0) = GC.@preserve object read_value(Reader(object, node))

function read_value(reader::Reader)
    item = next_item(reader)
    kind = item.kind
    kind == Raw.TUTTI_OBJECT_NIL && return nothing
    kind == Raw.TUTTI_OBJECT_BOOL && return item.integer != 0
    kind == Raw.TUTTI_OBJECT_INT64 && return item.integer
    kind == Raw.TUTTI_OBJECT_UINT64 && return item.integer % UInt64
    kind == Raw.TUTTI_OBJECT_FLOAT64 && return item.real
    kind == Raw.TUTTI_OBJECT_STRING && return unsafe_string(Ptr{UInt8}(item.data), item.size)
    kind == Raw.TUTTI_OBJECT_BYTES && return elements(UInt8, item)
    kind == Raw.TUTTI_OBJECT_TIMESTAMP && return Timestamp(item.integer, item.nanoseconds)
    kind == Raw.TUTTI_OBJECT_LIST && return Any[read_value(reader) for _ in 1:item.size]
    kind == Raw.TUTTI_OBJECT_MAP && return read_map(reader, item.size)
    kind == Raw.TUTTI_OBJECT_ARRAY && return read_array(item)
    throw(UnsupportedError(-1, 0, "an object has a value of kind $kind, which is not known here"))
end

function read_map(reader::Reader, size)
    map = Dict{Any, Any}()
    for _ in 1:size
        key = read_value(reader)
        map[key] = read_value(reader)
    end
    map
end

function elements(::Type{T}, item) where {T}
    all = Vector{T}(undef, item.size)
    GC.@preserve all unsafe_copyto!(Ptr{UInt8}(pointer(all)), Ptr{UInt8}(item.data), sizeof(all))
    all
end

function read_array(item)
    all = elements(element_types[item.dtype], item)
    item.dimensions == 0 && return fill(first(all))
    shape = ntuple(i -> Int(unsafe_load(item.shape, i)), Int(item.dimensions))
    length(shape) == 1 && return eltype(all) === UInt8 ? AsArray(all) : all
    permutedims(reshape(all, reverse(shape)), length(shape):-1:1)
end
