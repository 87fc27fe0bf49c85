# Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
# gradients, those of the last layer while the first one's are computed. All ranks then take the
# same step, so their weights stay the same without being sent. Start it with
#     tuttirun --nproc-per-node 4 julia train_digits.jl
using LinearAlgebra: BLAS, mul!
using Printf: @sprintf
using Tutti

include("digits.jl")

const epochs, batch_size, rate, momentum, seed = 20, 64, 0.1, 0.9, 1998

"This rank's part of so many images."
function share(count)
    place(rank) = count * rank ÷ get_world_size()
    (place(get_rank()) + 1):place(get_rank() + 1)
end

"One step on one batch; the loss of this rank's images, summed."
function train_batch!(layers, velocity, reducer, batch)
    digits = batch[share(length(batch))]
    images = matrix(digits)
    hidden, scores = forward(layers, images)
    loss, by_scores = loss_and_gradient(scores, digits)
    backward!(reducer) do
        mul!(get_gradient(reducer, 2), hidden, by_scores')
        mark_ready!(reducer, 2)
        by_hidden = (layers.second * by_scores .* (1 .- hidden .^ 2))[1:hidden_units, :]
        mul!(get_gradient(reducer, 1), images, by_hidden')
        mark_ready!(reducer, 1)
    end
    for (i, (weights, speed)) in enumerate(zip(layers, velocity))
        speed .= momentum .* speed .- rate .* get_gradient(reducer, i) ./ length(batch)
        weights .+= speed
    end
    loss
end

"One pass over the images, in a new order; the mean loss."
function train_epoch!(layers, velocity, reducer, digits, random)
    shuffle!(digits, random)
    loss = 0.0
    for start in 1:batch_size:length(digits)
        batch = digits[start:min(start + batch_size - 1, end)]
        loss += train_batch!(layers, velocity, reducer, batch)
    end
    allreduce(loss, +) / length(digits)
end

"How many per cent of the images the network gets right."
function accuracy(layers, digits)
    mine = digits[share(length(digits))]
    _, scores = forward(layers, matrix(mine))
    right = count(argmax(scores[:, i]) - 1 == digit.label for (i, digit) in enumerate(mine))
    100 * allreduce(right, +) / length(digits)
end

function train(digits, random)
    training = length(digits) * 4 ÷ 5
    layers, velocity = new_layers(), new_layers()
    get_rank() == 0 && initialise!(layers, Random(seed))
    # All ranks begin with the weights of rank 0; their parts of a batch differ in size, so sums.
    reducer = Reducer(layers; sum = true, first_bucket_cap_bytes = sizeof(layers.second))
    reached = 0.0
    shown = digits[1:training]
    for epoch in 1:epochs
        loss = train_epoch!(layers, velocity, reducer, shown, random)
        reached = accuracy(layers, digits[(training + 1):end])
        get_rank() == 0 &&
            println(@sprintf("epoch %2d: loss %.6f, test accuracy %.2f %%", epoch, loss, reached))
    end
    close(reducer)
    reached
end

init_process_group() do
    BLAS.set_num_threads(1)  # the ranks share the machine
    random = Random(seed)
    reached = train(shuffle!(read_digit.(readlines(data)), random), random)
    get_rank() == 0 && println(@sprintf("test accuracy: %.2f %%", reached))
end
