# options.jl: the option structs of the library, and time.

"An option struct with the fields that are named; all others keep their defaults, which are 0."
function options(type::Type; fields...)
    kinds = ntuple(i -> fieldtype(type, i), fieldcount(type))
    values = map(fieldnames(type), kinds) do name, kind
        name === :struct_size ? UInt32(sizeof(type)) : kind(get(fields, name, zero(kind)))
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
call_options(::Nothing) = C_NULL
call_options(timeout) =
    Ref(options(Raw.tutti_call_options; timeout_ms = milliseconds(timeout)))

group_options(timeout, reproducible::Bool) = Ref(options(
    Raw.tutti_group_options; timeout_ms = milliseconds(timeout), reproducible = reproducible))

"A string that may be missing."
optional(::Nothing) = C_NULL
optional(text::AbstractString) = String(text)

"A number that is a rank or a tag, in 32 bits."
function int32(number::Integer, name)
    typemin(Int32) <= number <= typemax(Int32) ||
        throw(ArgumentError("$name is $number, which is beyond 32 bits"))
    Int32(number)
end
