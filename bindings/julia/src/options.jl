# options.jl: the option structs of the library, and time.

"An option struct with the fields that are named; all others keep their defaults, which are 0."
function options(type::Type; fields...)
    kinds = ntuple(i -> fieldtype(type, i), fieldcount(type))
    values = map(fieldnames(type), kinds) do name, kind
        name === :struct_size && return UInt32(sizeof(type))
        value = get(fields, name, kind <: Union{Ptr, Cstring} ? kind(C_NULL) : zero(kind))
        kind <: Integer ? integer(kind, value, name) : kind(value)
    end
    type(values...)
end

"Milliseconds of a timeout: a number of seconds, a `Period`, `Inf`, or `nothing`, the default."
milliseconds(::Nothing) = Int64(0)
function milliseconds(timeout::Real)
    timeout == Inf && return Raw.TUTTI_NO_TIMEOUT
    0 < timeout < 9.0e15 || throw(ArgumentError("timeout is $timeout: seconds above 0, or Inf"))
    ceil(Int64, 1000 * timeout)
end
milliseconds(timeout::Period) = milliseconds(Dates.toms(timeout) / 1000)

seconds(milliseconds::Integer) =
    milliseconds == Raw.TUTTI_NO_TIMEOUT ? Inf : milliseconds / 1000

"The options of one collective or message."
function call_options(timeout, stream = nothing)
    name = get(task_local_storage(), :tutti_tag_name, nothing)::Union{String, Nothing}
    timeout === stream === name === nothing && return C_NULL
    copied = name === nothing ? C_NULL : ccall(:strdup, Ptr{Cvoid}, (Cstring,), name)
    made = Ref(options(Raw.tutti_call_options; timeout_ms = milliseconds(timeout),
                       stream = stream_address(stream), tag_name = copied))
    name === nothing ? made : finalizer(one -> Libc.free(copied), made)
end

"""
    tagged(f, name)

Runs `f`; the collectives and messages that this task starts meanwhile have the name: errors, hooks,
traces and the flight recorder show it, which keeps its first 32 bytes.

```julia
tagged("loss") do
    allreduce!(x, +)
end
```
"""
function tagged(f, name::AbstractString)
    occursin('\0', name) && throw(ArgumentError("name has a NUL in it"))
    task_local_storage(f, :tutti_tag_name, String(name))
end

"A stream of a device for C: its address, or of an object, CUDA.jl's CuStream, its `handle`."
stream_address(::Nothing) = C_NULL
stream_address(address::Ptr) = Ptr{Cvoid}(address)
stream_address(stream) = stream_address(stream.handle)
stream_address(number::Integer) =
    throw(ArgumentError("stream is the number $number, not a Ptr or an object with a handle"))

"The options of a call on a store that may wait."
store_call_options(::Nothing) = C_NULL
store_call_options(timeout) =
    Ref(options(Raw.tutti_store_call_options; timeout_ms = milliseconds(timeout)))

"The options of a store that is made."
store_options(timeout) = Ref(options(Raw.tutti_store_options; timeout_ms = milliseconds(timeout)))

group_options(timeout, reproducible::Bool, device) = Ref(options(
    Raw.tutti_group_options; timeout_ms = milliseconds(timeout), reproducible = reproducible,
    device_type = device.type, device_index = device.index))

"A string that may be missing."
optional(::Nothing) = C_NULL
optional(text::AbstractString) = String(text)

fits(::Type{T}, number) where {T} =
    number isa Integer && typemin(T) <= number <= typemax(T)

"A number of an integer type of C's; one that is none is named."
function integer(::Type{T}, number, name) where {T}
    number isa Integer || throw(ArgumentError("$name is $(repr(number)), not an integer"))
    fits(T, number) || throw(ArgumentError(
        number < typemin(T) == 0 ? "$name is $number, which is below 0" :
        "$name is $number, which is beyond $(8 * sizeof(T)) bits"))
    T(number)
end
int32(number, name) = integer(Int32, number, name)
int64(number, name) = integer(Int64, number, name)

"Several such numbers."
integers(::Type{T}, numbers, name) where {T} =
    T[fits(T, number) ? number : integer(T, number, "$name[$i]")
      for (i, number) in enumerate(numbers)]
