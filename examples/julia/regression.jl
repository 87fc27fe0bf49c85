# Data-parallel logistic regression on real data: the ranks share 1,500 images of handwritten digits
# (../data), each works out the gradient of its own, and allreduce! adds the gradients. 1, 2 or 4
# ranks reach the same model, to rounding. Start it with
#     tuttirun --nproc-per-node 4 julia regression.jl
using LinearAlgebra: BLAS
using Tutti

const data = joinpath(@__DIR__, "..", "data", "digits.csv")
const training = 1500  # images to learn from; the others are for the test
const steps, rate = 200, 1.0f0

"All images, one in a column, with a 1 below; and their digits."
function read_digits()
    lines = [parse.(Float32, split(line, ',')) for line in eachline(data)]
    images = hcat([vcat(line[1:64] ./ 16, 1) for line in lines]...)
    images, [Int(line[65]) for line in lines]
end

"What the model holds the digits of images to be: a column of probabilities for each."
function predict(weights, images)
    scores = exp.(weights * images)
    scores ./ sum(scores; dims = 1)
end

"The gradient of the loss, and below it the loss itself: sums over these images."
function gradient_and_loss!(sums, weights, images, digits)
    probabilities = predict(weights, images)
    loss = 0.0
    for (i, digit) in enumerate(digits)
        loss -= log(probabilities[digit + 1, i])
        probabilities[digit + 1, i] -= 1
    end
    sums[1:(end - 1)] .= vec(probabilities * images')
    sums[end] = loss
end

"Ranks work on every so many-th image."
function train(images, digits)
    mine = (get_rank() + 1):get_world_size():training
    my_images, my_digits = images[:, mine], digits[mine]
    weights = zeros(Float32, 10, size(images, 1))
    sums = zeros(Float32, length(weights) + 1)
    for step in 1:steps
        gradient_and_loss!(sums, weights, my_images, my_digits)
        allreduce!(sums, +)
        sums ./= training
        weights .-= rate .* reshape(view(sums, 1:length(weights)), size(weights))
        if get_rank() == 0 && step % 50 == 0
            println("step $step: loss ", round(sums[end]; digits = 3))
        end
    end
    weights
end

"The part of the test's images that the model reads rightly; each rank looks at some of them."
function accuracy(weights, images, digits)
    mine = (training + get_rank() + 1):get_world_size():length(digits)
    guesses = [findmax(column)[2] - 1 for column in eachcol(weights * images[:, mine])]
    right = allreduce(count(guesses .== digits[mine]), +)
    right, length(digits) - training
end

init_process_group() do
    BLAS.set_num_threads(1)  # the ranks share the machine
    images, digits = read_digits()
    right, total = accuracy(train(images, digits), images, digits)
    get_rank() == 0 && println("reads $right of $total digits rightly")
end
