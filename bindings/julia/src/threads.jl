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
but the Julia thread stands still while one waits: no other task of it runs. A wait for a `Work`
does what is left of the operation on this thread. For loops in which this task is all there is.
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
    foreach(check_open, args)
    error = new_error()
    status = is_blocking() ? directly(f, args..., error) : run_on_thread(f, args..., error)
    status == Raw.TUTTI_OK || fail(error)
    nothing
end

function run_on_thread(f, args...)
    types = Raw.signature(f)[2]
    length(types) == length(args) || throw(MethodError(f, args))
    roots = map(Base.cconvert, types, args)
    words = UInt[word(Base.unsafe_convert(type, root)) for (type, root) in zip(types, roots)]
    made = ThreadCall((args, roots), 0, Base.Event())
    id = expect(made)
    failed = ccall(helper_call.address, Int32, (Ptr{Cvoid}, Ptr{UInt}, Csize_t, UInt64),
                   Raw.address(f), words, length(words), id)
    if failed != 0
        forget(id)
        throw(ResourceError(-1, failed, "no thread for a call: $(Libc.strerror(failed))"))
    end
    try
        wait(made.returned)
    catch exception
        exception isa InterruptException && interrupt_call(made, args...)
        rethrow()
    end
    made.status
end

"An interrupt ends the wait of a call at a store; other calls go on in their thread."
interrupt_call(made::ThreadCall, args...) = nothing

has_returned(made::ThreadCall) = made.roots === nothing

"""
Makes a call of the library on this thread, in which Julia's other threads may collect garbage
meanwhile. So nothing of Julia's may happen in it: arguments are converted, and the function is
found, before.
"""
@generated function directly(f, args...)
    result, types = Raw.signature(f.instance)
    length(types) == length(args) || return :(throw(MethodError(f, args)))
    roots = [Symbol(:root, i) for i in 1:length(types)]
    words = [Symbol(:word, i) for i in 1:length(types)]
    rooted = [:($root = Base.cconvert($type, args[$i]))
              for (i, (root, type)) in enumerate(zip(roots, types))]
    converted = [:($word = Base.unsafe_convert($type, $root)::$type)
                 for (word, type, root) in zip(words, types, roots)]
    quote
        $(rooted...)
        GC.@preserve $(roots...) begin
            $(converted...)
            address = Raw.address(f)
            state = ccall(:jl_gc_safe_enter, Int8, ())
            status = ccall(address, $result, ($(types...),), $(words...))
            ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
        end
        status
    end
end
