# errors.jl: what a failed call throws.

"""
A failure that the library tells. Its type says what can be done about it, for instance
`TimeoutError`; all of them are `TuttiError`s.

- `message`: one sentence: operation, group, rank, cause
- `rank`: the group rank at fault, or -1
- `errno`: of the system call behind it, or 0
"""
struct TuttiError{Status} <: Exception
    rank::Int
    errno::Int
    message::String
end

"An argument is wrong, and is named."
const InvalidArgumentError = TuttiError{Raw.TUTTI_ERR_INVALID_ARGUMENT}
"A store, group, work, object or mesh that was closed, or is none."
const InvalidHandleError = TuttiError{Raw.TUTTI_ERR_INVALID_HANDLE}
"Not in this backend or build."
const UnsupportedError = TuttiError{Raw.TUTTI_ERR_UNSUPPORTED}
"The operation timed out."
const TimeoutError = TuttiError{Raw.TUTTI_ERR_TIMEOUT}
"The group was aborted or destroyed, or a wait was interrupted or cancelled."
const AbortedError = TuttiError{Raw.TUTTI_ERR_ABORTED}
"A rank died, left or stopped: `rank`."
const PeerLostError = TuttiError{Raw.TUTTI_ERR_PEER_LOST}
"The ranks called different things, both shown."
const MismatchError = TuttiError{Raw.TUTTI_ERR_MISMATCH}
"The backend failed, the group is lost."
const BackendError = TuttiError{Raw.TUTTI_ERR_BACKEND}
"Connecting, listening or resolving a name failed."
const NetworkError = TuttiError{Raw.TUTTI_ERR_NETWORK}
"The store refused or was lost."
const StoreError = TuttiError{Raw.TUTTI_ERR_STORE}
"Nothing to pop; retry later."
const QueueEmptyError = TuttiError{Raw.TUTTI_ERR_QUEUE_EMPTY}
"Memory, threads or descriptors ran out."
const ResourceError = TuttiError{Raw.TUTTI_ERR_OUT_OF_MEMORY}
"A fault of tutti itself; please report it."
const InternalError = TuttiError{Raw.TUTTI_ERR_INTERNAL}

"A wait expired; the operation goes on."
const PendingError = TuttiError{Raw.TUTTI_ERR_PENDING}

"The number of the failure, one of `Tutti.Raw.TUTTI_ERR_...`."
status(::TuttiError{Status}) where {Status} = Status

"The name of the type in Julia, `TimeoutError`."
function type_name(error::TuttiError)
    for name in names(@__MODULE__)
        isdefined(@__MODULE__, name) && getfield(@__MODULE__, name) === typeof(error) && return name
    end
    unsafe_string(Raw.tutti_status_name(status(error)))
end

Base.showerror(io::IO, error::TuttiError) = print(io, type_name(error), ": ", error.message)
Base.show(io::IO, error::TuttiError) =
    print(io, type_name(error), "(", error.rank, ", ", error.errno, ", ", repr(error.message), ")")

"Memory for a failure, prepared; the last argument of every function that can fail."
@inline function new_error()
    error = Ref{Raw.tutti_error}()
    Raw.tutti_error_init(error, sizeof(Raw.tutti_error))
    error
end

"The exception that an error filled by the library stands for."
function exception(error::Ref{Raw.tutti_error})
    GC.@preserve error begin
        start = Ptr{UInt8}(pointer_from_objref(error))
        field(name, kind) = unsafe_load(Ptr{kind}(start + offset(Raw.tutti_error, name)))
        message = unsafe_string(start + offset(Raw.tutti_error, :message))
        status = field(:status, Int32)
        status in names_arguments && (message = in_julia(message))
        TuttiError{status}(field(:rank, Int32), field(:system_errno, Int32), message)
    end
end

"The failures whose messages name arguments."
const names_arguments = (Raw.TUTTI_ERR_INVALID_ARGUMENT, Raw.TUTTI_ERR_INVALID_HANDLE,
                         Raw.TUTTI_ERR_UNSUPPORTED)

"What C calls an argument, and what it is called here."
const julia_names = Dict(
    "NULL" => "nothing", "TUTTI_NO_TIMEOUT" => "Inf", "buffer" => "x",
    "buffer_count" => "length(buffers)", "group_dst" => "dst",
    "group_peer" => "rank", "group_src" => "src", "input_count" => "length(input)",
    "input_split_count" => "length(input_splits)", "input_split_sizes" => "input_splits",
    "inputs" => "input", "object_count" => "length(values)", "options.stream" => "stream",
    "output_count" => "length(output)", "output_split_count" => "length(output_splits)",
    "output_split_sizes" => "output_splits", "outputs" => "output",
    "rank_count" => "length(ranks)", "split_count" => "length(parts)", "timeout_ms" => "timeout")

"""
A message with the names that arguments have here, and places in lists counted from 1; what is
quoted in it stays.
"""
function in_julia(message)
    addends = startswith(message, "tutti_all_reduce_addends")
    factors = startswith(message, "tutti_reducer_set_power_sgd")
    words = r"\"[^\"]*\"|\boptions\.stream\b|\b[A-Za-z]\w*(?:\[\d+\])?"
    replace(message, words => function (found)
        startswith(found, '"') && return found
        name, place = match(r"^([\w.]*)(?:\[(\d+)\])?$", found).captures
        place = place === nothing ? "" : string("[", parse(Int, place) + 1, "]")
        addends && name == "inputs" && return name * place
        addends && name == "input_count" && return "length(inputs)"
        factors && name == "count" && return "length(rows)"
        get(julia_names, name, name) * place
    end)
end

"Calls f, which works in place: what C calls input and output is `x` here, also in messages."
function in_place(f)
    try
        f()
    catch failure
        failure isa Union{InvalidArgumentError, UnsupportedError} || rethrow()
        message = replace(failure.message, r"\"[^\"]*\"|\b(?:in|out)put\b" =>
                          found -> startswith(found, '"') ? found : "x")
        throw(typeof(failure)(failure.rank, failure.errno, message))
    end
end

offset(type, name) = fieldoffset(type, findfirst(==(name), fieldnames(type)))

@noinline fail(error) = throw(exception(error))

"Calls a function of the library that does not wait, and throws if it fails."
@inline function call(f::F, args...) where {F}
    foreach(check_open, args)
    error = new_error()
    f(args..., error) == Raw.TUTTI_OK || fail(error)
    nothing
end
