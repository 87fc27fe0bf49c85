# handle.jl: what the library has made for Julia, until `close` or the collector gives it back.

"""
A store, group, work, object, mesh or reducer. Calls take the value itself, not its `handle`, so that
it is held until they have returned, and is not collected before.
"""
abstract type Handle end

Base.unsafe_convert(::Type{Ptr{T}}, owner::Handle) where {T} = owner.handle::Ptr{T}

"What it is called in messages."
kind(owner::Handle) = lowercase(string(nameof(typeof(owner))))

"A call with something closed is an error here, which says what."
check_open(argument) = nothing
check_open(owner::Handle) = owner.handle == C_NULL &&
    throw(InvalidHandleError(-1, 0, "the $(kind(owner)) was closed"))

"""
    close(store), close(group), close(work), close(object), close(mesh),
    close(reducer)

Gives it back; using it afterwards is an `InvalidHandleError`. May be repeated. What a call or an
operation still uses is not touched by it. A group that was not destroyed is ended in the
background, as are the groups of a mesh that nothing else holds; `WORLD` is ended by
`destroy_process_group` alone. The operation of a work goes on, and its arrays are held until it is
done.
"""
function Base.close(owner::Handle)
    handle, owner.handle = owner.handle, C_NULL
    release(handle)
    nothing
end
