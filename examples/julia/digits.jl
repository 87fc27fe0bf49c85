# Images of handwritten digits, and a small neural network that reads them: 64 pixels, 64 hidden units
# (tanh), 10 classes (softmax).
const data = joinpath(@__DIR__, "..", "data", "digits.csv")
const pixels, hidden_units, classes = 64, 64, 10

"A generator of random numbers, the same on every machine: splitmix64, by Sebastiano Vigna."
mutable struct Random
    state::UInt64
end

function next!(random)
    random.state += 0x9e3779b97f4a7c15
    z = random.state
    z = xor(z, z >> 30) * 0xbf58476d1ce4e5b9
    z = xor(z, z >> 27) * 0x94d049bb133111eb
    xor(z, z >> 31)
end

function shuffle!(list, random)
    for i in length(list):-1:2
        other = next!(random) % i + 1
        list[i], list[other] = list[other], list[i]
    end
    list
end

"An image with a 1 below, and the digit that it shows."
struct Digit
    image::Vector{Float64}
    label::Int
end

function read_digit(line)
    numbers = parse.(Int, split(line, ','))
    Digit(vcat(numbers[1:pixels] ./ 16, 1.0), numbers[end])
end

"Weights and bias of each unit in a column, the bias last."
new_layers() = (first = zeros(pixels + 1, hidden_units), second = zeros(hidden_units + 1, classes))

function initialise!(layers, random)
    for layer in layers, i in eachindex(layer)
        uniform = (next!(random) >> 11) / 2.0^53
        layer[i] = (2uniform - 1) / 8  # 8: the square root of a unit's inputs
    end
end

matrix(digits) = reduce(hcat, [one.image for one in digits]; init = zeros(pixels + 1, 0))

"What the units say to images, one in a column: the hidden ones with a 1 below, and the scores."
function forward(layers, images)
    hidden = vcat(tanh.(layers.first' * images), ones(1, size(images, 2)))
    hidden, layers.second' * hidden
end

"The loss (cross entropy) of images, and its gradient by their scores."
function loss_and_gradient(scores, digits)
    shifted = scores .- maximum(scores; dims = 1)  # so that exp does not overflow
    gradient = exp.(shifted) ./ sum(exp.(shifted); dims = 1)
    loss = 0.0
    for (i, digit) in enumerate(digits)
        loss -= log(gradient[digit.label + 1, i])
        gradient[digit.label + 1, i] -= 1
    end
    loss, gradient
end
