# reduce_op.jl: what `allreduce!(x, op)` takes as its op.

"A reduce op of the library: `SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`, `BOR`, `BXOR`."
struct BuiltinOp
    code::UInt32
end

const SUM = BuiltinOp(Raw.TUTTI_SUM)
const AVG = BuiltinOp(Raw.TUTTI_AVG)
const PRODUCT = BuiltinOp(Raw.TUTTI_PRODUCT)
const MIN = BuiltinOp(Raw.TUTTI_MIN)
const MAX = BuiltinOp(Raw.TUTTI_MAX)
const BAND = BuiltinOp(Raw.TUTTI_BAND)
const BOR = BuiltinOp(Raw.TUTTI_BOR)
const BXOR = BuiltinOp(Raw.TUTTI_BXOR)

"""
    PremulSum(factor)

Every rank's input times that rank's factor, then the sum. Factors may differ between ranks.
"""
mutable struct PremulSum
    code::UInt32
    function PremulSum(factor::Number)
        dtype(typeof(factor)) === nothing &&
            throw(ArgumentError("factor is a $(typeof(factor)), which the library does not know"))
        memory, slot = Ref(factor), Ref(UInt32(0))
        GC.@preserve memory call(Raw.tutti_reduce_op_create_premul_sum,
                                 Ref(buffer(memory, :factor, true)), slot)
        finalizer(close, new(slot[]))
    end
end

"""
    ReduceOp(f; name = string(f), commutative = true)

A reduction by a function of two elements, `f(a, b)`, where `a` comes from the lower ranks. It must
be associative, and do the same on every rank; what is compared is its name. If it is not
`commutative`, results keep the order of the ranks.

`f` runs in a task of Julia's, while the thread that reduces waits for it: so it is as slow as a
task is woken, some 100 microseconds for each piece of the data, and it never runs in `blocking`.
Nor may it wait for the group whose operation it is in: that operation waits for `f`, and the library,
which refuses such a wait elsewhere, does not see it in a task of Julia's.
"""
mutable struct ReduceOp
    code::UInt32
    f::Any
    function ReduceOp(f; name::AbstractString = string(f), commutative::Bool = true)
        slot, op = Ref(UInt32(0)), new(0, f)
        wanted = options(Raw.tutti_reduce_op_options; non_commutative = !commutative)
        # While an operation runs it is this op that it holds, so the address is good as long.
        call(Raw.tutti_reduce_op_create_user, name,
             helper_reduce.address, pointer_from_objref(op), C_NULL, Ref(wanted), slot)
        op.code = slot[]
        finalizer(close, op)
    end
end

"Gives the op back; operations that were started with it go on."
function Base.close(op::Union{PremulSum, ReduceOp})
    Raw.tutti_reduce_op_release(op.code)
    op.code = typemax(UInt32)  # no op
    nothing
end

"What the library takes for an op."
reduce_op(op::Union{BuiltinOp, PremulSum, ReduceOp}) = op
reduce_op(::typeof(+)) = SUM
reduce_op(::typeof(*)) = PRODUCT
reduce_op(::typeof(min)) = MIN
reduce_op(::typeof(max)) = MAX
reduce_op(::typeof(&)) = BAND
reduce_op(::typeof(|)) = BOR
reduce_op(::typeof(xor)) = BXOR
reduce_op(f::Function) = ReduceOp(f; name = first(string(nameof(f)), 64), commutative = false)
reduce_op(op) = throw(ArgumentError("op is a $(typeof(op)), not a function or a reduce op"))

calls_back(op) = op isa ReduceOp

"Calls f with what the library takes for an op; if it was made for this call, it is given back."
function with_op(f, op)
    reduce = reduce_op(op)
    try
        f(reduce)
    finally
        reduce isa ReduceOp && reduce !== op && close(reduce)
    end
end

"Reduces a piece of the data by a function of the program's."
function reduce_event(event::Event)
    op = unsafe_pointer_to_objref(Ptr{Cvoid}(UInt(event.id)))::ReduceOp
    reduce_piece(op.f, element_types[event.number % UInt32], event)
end

function reduce_piece(f, ::Type{T}, event::Event) where {T}
    lower = unsafe_wrap(Array, Ptr{T}(event.input), event.count)
    both = unsafe_wrap(Array, Ptr{T}(event.output), event.count)
    map!(f, both, lower, both)
end
