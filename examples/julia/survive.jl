# Training that goes on when ranks die: those that are left make a smaller group, take the newest of
# their models, and repeat the step that was interrupted. At most one step is lost. Start it with
#     tuttirun --nproc-per-node 4 --on-failure=shrink julia survive.jl [RANK STEP]...
# Each RANK kills itself in that STEP: "survive.jl 2 100 0 150" ends with two ranks.
using LinearAlgebra: BLAS, mul!
using Printf: @sprintf
using Tutti

include("digits.jl")

const steps, shown, batch_size, rate, momentum, seed = 400, 50, 64, 0.03, 0.9, 1998

"The weights and the velocity are all that a step changes; `step` comes next."
mutable struct Training
    weights::NamedTuple
    velocity::NamedTuple
    step::Int
    last::Int  # in which this rank kills itself
    images::Vector{Digit}
    reducer::Reducer
end

"This rank's part of the batch, which depends on the step alone."
function share(run)
    random = Random(seed + run.step)
    batch = [run.images[next!(random) % length(run.images) + 1] for _ in 1:batch_size]
    batch[(get_rank() + 1):get_world_size():end]
end

"Changes the model only if all went well."
function train_step!(run)
    digits = share(run)
    images = matrix(digits)
    hidden, scores = forward(run.weights, images)
    _, by_scores = loss_and_gradient(scores, digits)
    backward!(run.reducer) do
        mul!(get_gradient(run.reducer, 2), hidden, by_scores')
        mark_ready!(run.reducer, 2)
        run.step == run.last && ccall(:raise, Cint, (Cint,), Base.SIGKILL)
        by_hidden = (run.weights.second * by_scores .* (1 .- hidden .^ 2))[1:hidden_units, :]
        mul!(get_gradient(run.reducer, 1), images, by_hidden')
        mark_ready!(run.reducer, 1)
    end
    for (i, (weights, speed)) in enumerate(zip(run.weights, run.velocity))
        speed .= momentum .* speed .- rate .* get_gradient(run.reducer, i) ./ batch_size
        weights .+= speed
    end
    run.step += 1
end

"""
Ranks that had ended the step are ahead of the others, which take the model of one of them. It is
copied when it is there: the rank that has it may die, too.
"""
function take_newest_model!(run)
    newest = allreduce(run.step << 16 | get_rank(), max)
    model = (run.weights..., run.velocity...)
    taken = deepcopy(model)
    foreach(layer -> bcast!(layer; src = newest & 0xffff), taken)
    foreach(copyto!, model, taken)
    run.step = newest >> 16
end

"All ranks that are left come here; again, if another one dies meanwhile."
function go_on!(run, why)
    why isa Union{PeerLostError,AbortedError} || throw(why)
    println(stderr, "step $(run.step): $(why.message)")
    shrink_group()  # throws if the others have gone on without this rank, which had stopped
    try
        shrink!(run.reducer)
        take_newest_model!(run)
    catch failure
        go_on!(run, failure)
    end
end

function show_progress(run, tests)
    _, scores = forward(run.weights, matrix(tests))
    right = count(argmax(scores[:, i]) - 1 == digit.label for (i, digit) in enumerate(tests))
    loss, _ = loss_and_gradient(scores, tests)
    println(@sprintf("step %3d, %d ranks: loss %.4f, test accuracy %.2f %%", run.step,
                     get_world_size(), loss / length(tests), 100 * right / length(tests)))
end

function train!(run, tests)
    while run.step < steps
        try
            train_step!(run)
            run.step % shown == 0 && get_rank() == 0 && show_progress(run, tests)
        catch failure
            go_on!(run, failure)
        end
    end
end

"The step in which this rank is to kill itself."
function last_step()
    numbers = parse.(Int, ARGS)
    at = findfirst(==(get_rank()), numbers[1:2:end])
    at === nothing ? -1 : numbers[2at]
end

init_process_group() do
    BLAS.set_num_threads(1)  # the ranks share the machine
    random = Random(seed)
    digits = shuffle!(read_digit.(readlines(data)), random)
    training = length(digits) * 4 ÷ 5
    weights = new_layers()
    initialise!(weights, random)
    # Sums are over the images of a batch, however many ranks share them.
    reducer = Reducer(weights; sum = true, first_bucket_cap_bytes = sizeof(weights.second))
    run = Training(weights, new_layers(), 0, last_step(), digits[1:training], reducer)
    train!(run, digits[(training + 1):end])
    close(reducer)
end
