# hooks.jl: functions that hear of every operation. The library's threads, and Julia's own inside of a
# call, leave a copy of what they say; a task hears it, so that nobody waits for Julia.

"Memory that an operation reads or writes: the type of its elements, how many, and where."
struct Operand
    eltype::DataType
    length::Int
    device::Device
end

Operand(buffer::Raw.tutti_buffer) =
    Operand(element_types[buffer.dtype], buffer.count, Device(buffer.device_type, buffer.device_index))

Base.eltype(operand::Operand) = operand.eltype
Base.length(operand::Operand) = operand.length
device(operand::Operand) = operand.device

"""
A collective, a message or another operation of a group, that hooks hear of.

- `id`: from 1 on, in this process; the same in all hooks that hear of it
- `name`: "all_reduce", "send", ...
- `group_name`, `tag_name`: of its group; of `tagged`, "" if it has none
- `rank`, `world_size`: of this process in the group, and of the group
- `peer`: the root of a collective, or the other rank of a message; -1: none, or any
- `sequence_number`: which collective of its group it is, from 1 on; 0 of others
- `inputs`, `outputs`: what it reads and writes on this rank, each an `Operand`
- `op`: of a reduction, `SUM` and the like, or `nothing` if it is one that was made
- `tag`: of a message
- `is_async`: whether the program has a `Work` for it
"""
struct Operation
    id::Int
    name::String
    group_name::String
    tag_name::String
    rank::Int
    world_size::Int
    peer::Int
    sequence_number::Int
    inputs::Vector{Operand}
    outputs::Vector{Operand}
    op::Union{BuiltinOp, Nothing}
    tag::Int
    is_async::Bool
end

function Operation(from::Raw.tutti_operation)
    list(first, count) = Operand[Operand(unsafe_load(first, i)) for i in 1:count]
    Operation(from.id, unsafe_string(from.name), unsafe_string(from.group_name),
              unsafe_string(from.tag_name), from.rank, from.world_size, from.peer,
              from.sequence_number, list(from.inputs, from.input_count),
              list(from.outputs, from.output_count),
              from.op <= Raw.TUTTI_BXOR ? BuiltinOp(from.op) : nothing, from.tag,
              from.is_async != 0)
end

Base.show(io::IO, operation::Operation) =
    print(io, "Operation(", operation.name, " of ", operation.group_name, ")")

"Hooks that were added; `close` removes them."
mutable struct Hooks
    before::Any
    after::Any
    aborted::Any
    heard::Channel{Any}
    id::UInt64     # of the library
    number::UInt64 # that their events have; 0: they were removed
end

"""
    add_hooks(; before = nothing, after = nothing, aborted = nothing)

Functions that hear of every operation of this process, of all groups, from now on:
`before(operation)`, and then `after(operation)` or, when it has failed, `aborted(operation, error)`.
They run in a task of their own, one at a time and in order: the operation does not wait for them.
`close(hooks)` removes them. torchcomms: register_pre_hook, register_post_hook, register_abort_hook.

```julia
hooks = Tutti.add_hooks(aborted = (operation, error) -> println(operation.name, ": ", error))
```
"""
function add_hooks(; before = nothing, after = nothing, aborted = nothing)
    hooks = Hooks(before, after, aborted, Channel{Any}(Inf), 0, 0)
    hooks.number = expect(hooks)
    address(f, helper) = f === nothing ? C_NULL : helper.address
    given = options(Raw.tutti_hooks; before = address(before, helper_before),
                    after = address(after, helper_after),
                    aborted = address(aborted, helper_aborted), user = Ptr{Cvoid}(UInt(hooks.number)))
    slot = Ref(UInt64(0))
    try
        call(Raw.tutti_hooks_add, Ref(given), slot)
    catch
        forget(hooks.number)
        rethrow()
    end
    hooks.id = slot[]
    @async for (f, arguments) in hooks.heard
        shown_if_it_fails(f, arguments...)
    end
    hooks
end

"Removes the hooks, which still hear of what has happened until now. May be repeated."
function Base.close(hooks::Hooks)
    number, hooks.number = hooks.number, UInt64(0)
    number == 0 && return
    call(Raw.tutti_hooks_remove, hooks.id)
    serve_events()  # what they are still to hear
    forget(number)
    close(hooks.heard)
end

Base.show(io::IO, hooks::Hooks) = print(io, "Hooks(", hooks.id, ")")

function operation_event(hooks, event::Event)
    try
        hooks === nothing && return
        operation = Operation(unsafe_load(Ptr{Raw.tutti_operation}(event.input)))
        arguments = event.output == C_NULL ? (operation,) : (operation, failure_at(event.output))
        f = (hooks.before, hooks.after, hooks.aborted)[event.number + 1]
        put!(hooks.heard, (f, arguments))
    finally
        Libc.free(event.input)
        Libc.free(event.output)
    end
end

failure_at(address) = exception(Ref(unsafe_load(Ptr{Raw.tutti_error}(address))))
