# object.jl: handles of objects, for those who read a part of a large one; and how objects are
# encoded.

"""
    Object(value)

A value as the library has it: built once, never changed. `object["key"]` and `object[i]` are the
values in it, as values of Julia; `Tutti.value(object)` is all of it. Two are `==` if their values
are the same, floating-point numbers by their bits. `close` gives it back.
"""
mutable struct Object <: Handle
    handle::Ptr{Raw.tutti_object}
    depth::Int  # of the lists and maps that are being built
    Object(handle::Ptr{Raw.tutti_object}) = finalizer(close, new(handle, 0))
end

release(handle::Ptr{Raw.tutti_object}) = Raw.tutti_object_release(handle)

object_slot() = Ref(Ptr{Raw.tutti_object}(C_NULL))

"""
    ObjectOptions(; limits...)

How values become messages and messages values. 0: the environment's, or else as given here.

- `max_bytes` of a message (4 GiB), `max_decompressed_bytes` (1 GiB), `max_values` (2^26),
  `max_depth` (512)
- `compress`: `:default`, `:never`, `:if_it_pays`; `compression_level` (zstd's),
  `compression_threshold` (4096 bytes)
"""
struct ObjectOptions
    raw::Base.RefValue{Raw.tutti_object_options}
    function ObjectOptions(; compress::Symbol = :default, fields...)
        kinds = (:default, :never, :if_it_pays)
        number = findfirst(==(compress), kinds)
        number === nothing && throw(ArgumentError("compress is :$compress, not one of $kinds"))
        known = (:max_bytes, :max_decompressed_bytes, :max_values, :max_depth,
                 :compression_level, :compression_threshold)
        for name in keys(fields)
            name in known || throw(ArgumentError("ObjectOptions has no $name, only $known"))
        end
        new(Ref(options(Raw.tutti_object_options; compress = number - 1, fields...)))
    end
end

object_options(::Nothing) = C_NULL
object_options(options::ObjectOptions) = options.raw

"An object of a value, for as long as `f` runs."
with_object(f, value) = closing(f, Object(value))

"Where a map's value is, or a list's; `nothing` if the map has no such key."
function find(object::Object, key::AbstractString, node = 0)
    slot = Ref(Int64(-1))
    if '\0' in key
        find_item(object, node, string_item(key), slot)
    else
        call(Raw.tutti_object_find, object, node, key, slot)
    end
    slot[] < 0 ? nothing : slot[]
end
function find(object::Object, key::Integer, node = 0)
    slot, item = Ref(Int64(-1)), first_item(object, node)
    if item.kind == Raw.TUTTI_OBJECT_LIST
        1 <= key <= item.size && call(Raw.tutti_object_at, object, node, key - 1, slot)
    elseif typemin(Int64) <= key <= typemax(UInt64)
        find_item(object, node, integer_item(key), slot)
    end
    slot[] < 0 ? nothing : slot[]
end

find_item(object, node, (item, roots), slot) = GC.@preserve roots call(
    Raw.tutti_object_find_item, object, node, Ref(item), slot)

function first_item(object::Object, node)
    slot, count = Ref{Raw.tutti_object_item}(), Ref(Int64(0))
    call(Raw.tutti_object_read, object, node, slot, 1, count)
    count[] == 1 || throw(ArgumentError("the object has no value $node"))
    slot[]
end

is_list(object::Object) = first_item(object, 0).kind == Raw.TUTTI_OBJECT_LIST

"The value of a map by its key, or of a list by its index from 1."
function Base.getindex(object::Object, key::Union{AbstractString, Integer})
    node = find(object, key)
    node === nothing && throw(is_list(object) ? BoundsError(object, key) : KeyError(key))
    value(object, node)
end

Base.haskey(object::Object, key::Union{AbstractString, Integer}) = find(object, key) !== nothing

"How many values a list has, or pairs a map, or bytes or elements."
Base.length(object::Object) = Int(first_item(object, 0).size)

function Base.:(==)(a::Object, b::Object)
    slot = Ref(Int32(0))
    call(Raw.tutti_object_equal, a, 0, b, 0, slot)
    slot[] == 1
end
Base.hash(object::Object, seed::UInt) = hash(encode(object), seed)

"Another object of the same value, or of one node of it."
function Base.copy(object::Object, node::Integer = 0)
    slot = object_slot()
    call(Raw.tutti_object_copy, object, int64(node, :node), slot)
    Object(slot[])
end

"""
    encode(value; options = nothing)

A value as MessagePack, bytes: what every language's tutti reads.
"""
encode(value; options = nothing) = with_object(object -> encode(object; options = options), value)
function encode(object::Object; options = nothing)
    slot = bytes_slot()
    call(Raw.tutti_object_encode, object, object_options(options), slot)
    take_bytes(slot)
end

"""
    decode(bytes; options = nothing)

The value of MessagePack, compressed or not. What is no value is an `InvalidArgumentError`.
"""
decode(bytes; options = nothing) = closing(value, decode_object(bytes; options = options))

"The object of MessagePack, to be read in part."
function decode_object(bytes; options = nothing)
    slot, message = object_slot(), bytes_of(bytes, :bytes)
    call(Raw.tutti_object_decode, message, length(message), object_options(options), slot)
    Object(slot[])
end

"""
    to_json(value; indent = 0, limit = 0)

A value as JSON, for people to look at; `limit` is about how many bytes of it.
"""
to_json(value; indent::Integer = 0, limit::Integer = 0) =
    with_object(object -> to_json(object; indent = indent, limit = limit), value)
function to_json(object::Object; indent::Integer = 0, limit::Integer = 0)
    slot = bytes_slot()
    call(Raw.tutti_object_to_json, object, 0, int32(indent, :indent),
         int64(limit, :limit), slot)
    take_string(slot)
end
