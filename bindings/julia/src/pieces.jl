# pieces.jl: collectives in which pieces of the ranks come together or part: all_gather, gather,
# scatter, all_to_all. Lists hold one array for each rank, that of rank 0 first.

"""
    allgather!(output, input; group = WORLD, async = false, timeout = nothing, stream = nothing)

Every rank receives every rank's `input`, one after the other in the array `output`, or each in its
array of the list `output`; these may differ in length. `nothing` for `input`: it is in its place in
`output` already. torch: all_gather_into_tensor, all_gather.
"""
function allgather!(output, input::Union{Memory, Nothing} = nothing; group::Group = WORLD,
                    async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    given = input === nothing ? nothing : lend(input, :input; keeps = stays)
    if is_list(output)
        outs = lend_list(lend_output, output, :output; keeps = stays)
        done = Output(AnyOutput(outs, output))
        return issue(Raw.tutti_all_gather, CallMode(async = async), done, (given, outs), group,
                     buffer_of(given), outs.buffers, length(outs.buffers),
                     call_options(timeout, stream))
    end
    out = lend_output(output, :output; keeps = stays)
    issue(Raw.tutti_all_gather_into_tensor, CallMode(async = async), Output(out), (given, out), group,
          buffer_of(given), out.buffer, call_options(timeout, stream))
end

buffer_of(lent::Lent) = lent.buffer
buffer_of(::Nothing) = C_NULL

"Lists that are lent, and what the call returns for them."
struct AnyOutput
    lent::Any
    result::Any
end
give_back(output::AnyOutput) = (give_back(output.lent); output.result)

"A new array for elements of another one, where those are."
array_like(x, dims...) = is_on_device(x) ? similar(x, dims...) : Array{eltype(x)}(undef, dims...)

"""
    allgather(x; group = WORLD, timeout = nothing)

Every rank's `x`, a number or an array of the same size on all ranks, in an array with one dimension
more: `allgather(x)[.., r + 1]` is of rank `r`.
"""
function allgather(x::AbstractArray; group::Group = WORLD, options...)
    output = array_like(x, size(x)..., max(0, get_world_size(group)))
    allgather!(output, x; group = group, options...)
end
allgather(x::Number; group::Group = WORLD, timeout = nothing) =
    vec(allgather(fill(x); group = group, timeout = timeout))

"A list, or an array in equal pieces, lent for rank by rank."
function lend_pieces(lender, x, name, group; options...)
    x === nothing && return nothing
    is_list(x) && return lend_list(lender, x, name; options...)
    whole = lender(x, name; options...)
    LentList([whole], pieces(whole, max(1, get_world_size(group)), name))
end

"""
    gather!(output, input; dst = 0, group = WORLD, async = false, timeout = nothing,
            stream = nothing)

Rank `dst` receives every rank's `input`: one after the other in the array `output`, or each in its
array of a list. Other ranks give `nothing` as `output`.
"""
function gather!(output, input::Union{Memory, Nothing}; dst::Integer = 0, group::Group = WORLD,
                 async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    outs = lend_pieces(lend_output, output, :output, group; keeps = stays)
    given = input === nothing ? nothing : lend(input, :input; keeps = stays)
    issue(Raw.tutti_gather, CallMode(async = async), Output(AnyOutput(outs, output)), (outs, given),
          group, buffer_of(given), pointer_to(outs), count_of(outs), int32(dst, :dst),
          call_options(timeout, stream))
end

"""
    gather(x; dst = 0, group = WORLD, timeout = nothing)

On rank `dst` what `allgather` gives; `nothing` on the others.
"""
function gather(x::AbstractArray; dst::Integer = 0, group::Group = WORLD, options...)
    receives = get_rank(group) == dst
    output = receives ? array_like(x, size(x)..., get_world_size(group)) : nothing
    gather!(output, x; dst = dst, group = group, options...)
end
function gather(x::Number; dst::Integer = 0, group::Group = WORLD, timeout = nothing)
    gathered = gather(fill(x); dst = dst, group = group, timeout = timeout)
    gathered === nothing ? nothing : vec(gathered)
end

"""
    scatter!(output, input; src = 0, group = WORLD, async = false, timeout = nothing,
             stream = nothing)

Every rank receives in `output` its piece of the `input` of rank `src`, an array of as many times
the elements as there are ranks, or a list of arrays. Other ranks give `nothing` as `input`.
"""
function scatter!(output::Union{Memory, Nothing}, input = nothing; src::Integer = 0,
                  group::Group = WORLD, async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    out = output === nothing ? nothing : lend_output(output, :output; keeps = stays)
    ins = lend_pieces(lend, input, :input, group; keeps = stays)
    issue(Raw.tutti_scatter, CallMode(async = async), Output(out), (out, ins), group,
          pointer_to(ins), count_of(ins), buffer_of(out), int32(src, :src),
          call_options(timeout, stream))
end

"""
    alltoall!(output, input; output_splits = nothing, input_splits = nothing, group = WORLD,
              async = false, timeout = nothing, stream = nothing)

Every rank gives every rank a piece of `input` and receives the pieces in `output`, in rank order.
Both are arrays in equal pieces, or in pieces of as many elements as the splits say; or both are
lists of arrays, which may differ in length. torch: all_to_all_single, all_to_all.
"""
function alltoall!(output, input = nothing; output_splits = nothing, input_splits = nothing,
                   group::Group = WORLD, async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    is_list(output) && !(output_splits === input_splits === nothing) &&
        throw(ArgumentError("output_splits and input_splits are of arrays; output is a list, " *
                            "whose arrays say how much goes where"))
    is_list(output) && return alltoall_lists!(output, input, group, async, stays,
                                               call_options(timeout, stream))
    out = lend_output(output, :output; keeps = stays)
    given = input === nothing ? nothing : lend(input, :input; keeps = stays)
    issue(Raw.tutti_all_to_all_single, CallMode(async = async), Output(out), (out, given), group,
          buffer_of(given), split_sizes(input_splits, :input_splits)..., out.buffer,
          split_sizes(output_splits, :output_splits)..., call_options(timeout, stream))
end

function alltoall_lists!(output, input, group, async, stays, options)
    outs = lend_list(lend_output, output, :output; keeps = stays)
    ins = input === nothing ? nothing : lend_list(lend, input, :input; keeps = stays)
    issue(Raw.tutti_all_to_all, CallMode(async = async), Output(AnyOutput(outs, output)),
          (outs, ins), group, pointer_to(ins), count_of(ins), outs.buffers, length(outs.buffers),
          options)
end

split_sizes(::Nothing, name) = (C_NULL, 0)
function split_sizes(sizes, name)
    all = integers(Int64, sizes, name)
    all, length(all)
end
