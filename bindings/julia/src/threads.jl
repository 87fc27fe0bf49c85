# threads.jl: calls that may wait are made on a thread of their own, so that the other tasks of this
# Julia thread go on; or, where the program says so, at once.

"A call that another thread makes; `roots` are its arguments, held until it returns."
mutable struct ThreadCall
    roots::Any
    status::Int32
    returned::Base.Event
end

function call_returned(made::ThreadCall, status)
    made.status = status
    made.roots = nothing
    notify(made.returned)
end

"""
    blocking(f)

Runs `f`; tutti's calls in this task are made directly meanwhile. They are some microseconds faster,
but the Julia thread stands still while one waits: no other task of it runs. For loops in which
this task is all there is.
"""
blocking(f) = task_local_storage(f, :tutti_blocking, true)

is_blocking() = get(task_local_storage(), :tutti_blocking, false)::Bool && user_reductions[] == 0

"Operations with functions of Julia that are not done: those need this thread."
const user_reductions = Threads.Atomic{Int}(0)

word(pointer::Ptr) = UInt(pointer)
word(text::Cstring) = reinterpret(UInt, text)
word(number::Integer) = number % UInt

"""
Calls a function of the library that may wait, and throws if it fails. The arguments are converted
as `ccall` does; the tasks of this thread go on meanwhile, except in `blocking`.
"""
function call_waiting(f, args...)
    error = new_error()
    types = Raw.signature(f)[2]
    length(types) == length(args) + 1 || throw(MethodError(f, args))
    roots = map(Base.cconvert, types, (args..., error))
    words = UInt[word(Base.unsafe_convert(type, root)) for (type, root) in zip(types, roots)]
    status = is_blocking() ? invoke(f, roots, words) : run_on_thread(f, (args, roots), words)
    status == Raw.TUTTI_OK || fail(error)
    nothing
end

invoke(f, roots, words) = GC.@preserve roots directly(invoke_words, Raw.address(f), words)

invoke_words(address, words) =
    ccall((:tutti_julia_invoke, libtutti_julia), Int32, (Ptr{Cvoid}, Ptr{UInt}, Csize_t),
          address, words, length(words))

function run_on_thread(f, roots, words)
    made = ThreadCall(roots, 0, Base.Event())
    id = expect(made)
    failed = ccall((:tutti_julia_call, libtutti_julia), Int32,
                   (Ptr{Cvoid}, Ptr{UInt}, Csize_t, UInt64), Raw.address(f), words, length(words),
                   id)
    if failed != 0
        forget(id)
        throw(ResourceError(-1, failed, "no thread for a call: $(Libc.strerror(failed))"))
    end
    wait(made.returned)
    made.status
end

"Makes a call on this thread, in which Julia's other threads may collect garbage meanwhile."
@inline function directly(f::F, args...) where {F}
    state = ccall(:jl_gc_safe_enter, Int8, ())
    status = f(args...)
    ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
    status
end
