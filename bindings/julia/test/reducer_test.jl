# Gradients that are added up in buckets.

"A reducer of a matrix, a bias and nothing, each in a bucket of its own; and the bias."
function model(group; options...)
    weights, bias = zeros(50, 60), [get_rank(group) + 7.0]
    reducer = Reducer((weights = weights, bias = bias, nothing_at_all = Float64[]); group = group,
                      bucket_cap_bytes = 1000, first_bucket_cap_bytes = 8, options...)
    barrier(group = group)  # a rank that fails now finds no other still making it
    reducer, bias
end

gradient_value(group, parameter) = (get_rank(group) + 1.0) * parameter
gradient_mean(group, parameter) = (get_world_size(group) + 1) / 2 * parameter

pass(reducer, group) = backward!(reducer) do
    for parameter in (3, 2, 1)
        fill!(get_gradient(reducer, parameter), gradient_value(group, parameter))
        mark_ready!(reducer, parameter)
    end
end

has_means(reducer, group) =
    all(all(==(gradient_mean(group, i)), get_gradient(reducer, i)) for i in 1:2)

@testset "gradients become means" begin
    for ranks in (1, 2, 4)
        on_ranks(ranks) do group
            reducer, bias = model(group)
            @test bias == [7.0]  # of rank 0
            for iteration in 1:3
                begin_forward!(reducer)
                pass(reducer, group)
                @test has_means(reducer, group)
                @test logging_data(reducer)["iteration"] == iteration
            end
            @test size(get_gradient(reducer, 1)) == (50, 60)
            @test isempty(get_gradient(reducer, 3))
            @test is_used(reducer, 1)
            @test generation(reducer) in 0:1
            kept = get_gradient(reducer, 1)
            close(reducer)
            @test_throws InvalidHandleError kept[1]
            @test_throws InvalidHandleError begin_backward!(reducer)
        end
    end
end

@testset "gradients of the program's own, from several tasks" begin
    on_ranks(4) do group
        reducer, _ = model(group)
        own = zeros(50, 60)
        for _ in 1:4
            fill!(own, gradient_value(group, 1))
            backward!(reducer) do
                @sync begin
                    @async mark_ready!(reducer, 1, own)
                    @async mark_ready!(reducer, 3)
                    get_gradient(reducer, 2)[1] = gradient_value(group, 2)
                    mark_ready!(reducer, 2)
                end
            end
            @test all(==(gradient_mean(group, 1)), own)
            @test has_means(reducer, group)
        end
    end
end

@testset "an optimizer takes bucket after bucket" begin
    on_ranks(2) do group
        reducer, _ = model(group)
        begin_backward!(reducer)
        for parameter in 1:3
            fill!(get_gradient(reducer, parameter), gradient_value(group, parameter))
            mark_ready!(reducer, parameter)
        end
        work = finish!(reducer; async = true)
        seen = Int[]
        buckets = 0
        while (bucket = next_bucket!(reducer)) !== nothing
            @test bucket.index == (buckets += 1)
            for (parameter, range) in zip(bucket.parameters, bucket.ranges)
                @test all(==(gradient_mean(group, parameter)), bucket.gradients[range])
                push!(seen, parameter)
            end
        end
        wait(work)
        @test sort(seen) == 1:3
        @test get_bucket(reducer, 1).count == buckets
        @test_throws InvalidArgumentError get_bucket(reducer, 99)
    end
end

@testset "passes that are not synchronised accumulate" begin
    on_ranks(2) do group
        reducer, _ = model(group; sum = true)
        for last in (false, false, true)
            backward!(reducer; synchronise = last) do
                get_gradient(reducer, 1) .+= get_rank(group) + 1
                foreach(i -> mark_ready!(reducer, i), 1:3)
            end
        end
        @test all(==(9.0), get_gradient(reducer, 1))
    end
    on_ranks(2; reproducible = true) do group
        reducer, _ = model(group; keep_micro_batches = 1)
        for x in (5.0, 1.0)
            own = [x]
            backward!(reducer; synchronise = x == 1) do
                mark_ready!(reducer, 2, own)
                mark_ready!(reducer, 1)
                mark_ready!(reducer, 3)
            end
        end
        @test get_gradient(reducer, 2) == [3.0]
    end
end

@testset "a part of the model may be unused" begin
    on_ranks(2) do group
        reducer, _ = model(group; find_unused_parameters = true)
        backward!(reducer) do
            mark_unused!(reducer, 3, 2)
            get_rank(group) == 1 && return
            fill!(get_gradient(reducer, 1), 8)
            mark_ready!(reducer, 1)
        end
        @test all(==(4.0), get_gradient(reducer, 1))
        @test [is_used(reducer, i) for i in 1:3] == [true, false, false]
    end
end

@testset "a function reduces the buckets" begin
    for ranks in (2, 4)
        on_ranks(ranks) do group
            reducer, _ = model(group)
            seen = Int[]
            set_hook!(reducer) do own, bucket
                push!(seen, bucket.index)
                allreduce!(bucket.gradients, max; group = own)
            end
            blocking(() -> pass(reducer, group))
            @test get_gradient(reducer, 2) == [2.0 * ranks]
            @test seen == 1:get_bucket(reducer, 1).count
            set_hook!(nothing, reducer)
            pass(reducer, group)
            @test has_means(reducer, group)
        end
    end
    failures = on_ranks(2) do group
        reducer, _ = model(group)
        set_hook!(reducer) do own, bucket
            get_rank(group) == 1 && error("no bucket today")
            allreduce!(bucket.gradients, +; group = own)
        end
        failure = thrown(() -> pass(reducer, group))
        @test_throws TuttiError begin_backward!(reducer)
        close(reducer)
        failure
    end
    @test all(failure -> occursin("no bucket today", failure.message), failures)
end

@testset "gradients travel in fewer bytes" begin
    on_ranks(4) do group
        reducer, _ = model(group)
        for way in (:float16, :bfloat16, :quantised, :none)
            set_compression!(reducer, way)
            pass(reducer, group)
            @test isapprox(get_gradient(reducer, 1)[1], gradient_mean(group, 1); atol = 0.01)
        end
        data = logging_data(reducer)
        @test data["communicated_bytes"] < data["gradient_bytes"]
        @test_throws ArgumentError set_compression!(reducer, :zip)
    end
end

"A pass whose weights are the outer product of two vectors that the pass chooses; and their means."
function pass_of_outer_products(reducer, group, chosen)
    product = [(i % 5 - 1.5) * (1 + (j + chosen) % 7) for i in 1:50, j in 1:60]
    backward!(reducer) do
        get_gradient(reducer, 1) .= gradient_value(group, 1) .* product
        fill!(get_gradient(reducer, 2), gradient_value(group, 2))
        foreach(i -> mark_ready!(reducer, i), 1:3)
    end
    gradient_mean(group, 1) .* product
end

@testset "matrices travel as products of factors" begin
    for ranks in (2, 4), rows in (nothing, [60, 0, 0])
        on_ranks(ranks) do group
            reducer, _ = model(group)
            set_hook!((own, bucket) -> error("the hook was replaced"), reducer)
            set_power_sgd!(reducer; rows = rows, start_iteration = 1)
            @test reducer.hook == 0  # the function is forgotten
            for i in 1:3
                means = pass_of_outer_products(reducer, group, i)
                @test maximum(abs, get_gradient(reducer, 1) .- means) < 1e-5
                @test get_gradient(reducer, 2) == [gradient_mean(group, 2)]
            end
            # A pass as it is, and two with factors of 50 and 60 numbers beside the bias.
            data = logging_data(reducer)
            @test data["gradient_bytes"] == 3 * 8 * 3001
            @test data["communicated_bytes"] == 8 * 3001 + 2 * 8 * 111
        end
    end
end

@testset "rows are the last dimensions of arrays" begin
    arrays = [zeros(3, 4), zeros(3), zeros(2, 3, 5), fill(0.0), Ref(0.0), zeros(4, 0)]
    failures = on_ranks(2) do group
        reducer = Reducer(arrays; group = group)
        thrown() do
            get_rank(group) == 0 ? set_power_sgd!(reducer) :
                set_power_sgd!(reducer; rows = ones(Int, 6))
        end
    end
    for (i, rows) in enumerate((4, 0, 5, 0, 0, 0))
        @test all(failure -> occursin("\"$i\" of $rows rows", failure.message), failures)
    end
end

@testset "rows and options that cannot be are refused on all ranks" begin
    wrong = [(rows = [7, 0, 0],) => "rows[1] is 7", (rows = [-1, 0, 0],) => "rows[1] is -1",
             (rows = [60, 0],) =>
                 "length(rows) is 2; rows has a number for each of the reducer's 3 parameters",
             (matrix_approximation_rank = -1,) => "options.matrix_approximation_rank is -1"]
    on_ranks(2) do group
        reducer, _ = model(group)
        for (keywords, told) in wrong
            is_mine = get_rank(group) == 1
            failure = thrown(() -> set_power_sgd!(reducer; (is_mine ? keywords : NamedTuple())...))
            @test failure isa (is_mine ? InvalidArgumentError : MismatchError)
            is_mine && @test occursin(told, failure.message)
        end
        @test_throws ArgumentError set_power_sgd!(reducer; rows = [1.5, 0, 0])
        pass(reducer, group)
        @test has_means(reducer, group)
    end
end

@testset "options that differ are shown on all ranks" begin
    different = [(matrix_approximation_rank = 3,) => "matrix_approximation_rank 3",
                 (start_iteration = 5,) => "start_iteration 5",
                 (error_feedback = false,) => "no_error_feedback 1",
                 (warm_start = false,) => "no_warm_start 1",
                 (min_compression_rate = 1.5,) => "min_compression_rate 1.5",
                 (orthogonalization_epsilon = 0.25,) => "orthogonalization_epsilon 0.25",
                 (random_seed = 4,) => "random_seed 4"]
    on_ranks(2) do group
        reducer, _ = model(group)
        for (keywords, told) in different
            mine = get_rank(group) == 1 ? keywords : NamedTuple()
            failure = thrown(() -> set_power_sgd!(reducer; mine...))
            @test failure isa MismatchError
            @test occursin("rank 1 called reducer_set_power_sgd with $told", failure.message)
        end
        set_power_sgd!(reducer)
        pass(reducer, group)
        @test has_means(reducer, group)
    end
end

@testset "buffers are copied from one rank" begin
    on_ranks(2) do group
        reducer, _ = model(group)
        means, count = fill(Float32(get_rank(group)), 3), Ref(get_rank(group))
        sync_buffers!(reducer, (means, count); src = 1)
        @test means == [1, 1, 1] && count[] == 1
    end
end

@testset "wrong arguments are named" begin
    on_ranks(1) do group
        @test_throws InvalidArgumentError Reducer([]; group = group)
        @test_throws ArgumentError Reducer([[1.0]]; group = group, order = [1, 1])
        @test_throws ArgumentError Reducer([[1.0]]; group = group, names = ["a", "b"])
        @test_throws ArgumentError Reducer([["text"]]; group = group)
        reducer = Reducer([[1.0]]; group = group)
        @test_throws InvalidArgumentError mark_ready!(reducer, 1)
        @test_throws ArgumentError get_gradient(reducer, 0)
        @test_throws ArgumentError get_gradient(reducer, 2)
        begin_backward!(reducer)
        @test_throws InvalidArgumentError mark_ready!(reducer, 1, [1.0, 2.0])
        @test_throws ArgumentError mark_ready!(reducer, 1, view(zeros(4), 1:2:3))
        @test_throws InvalidArgumentError mark_unused!(reducer, 1)
        mark_ready!(reducer, 1)
        @test_throws InvalidArgumentError mark_ready!(reducer, 1)
        finish!(reducer)
    end
    failures = on_ranks(2) do group
        reducer, _ = model(group)
        thrown(() -> backward!(() -> mark_ready!(reducer, 1), reducer))
    end
    @test all(failure -> failure isa MismatchError && occursin("bias", failure.message), failures)
end

@testset "a reducer goes on in a smaller group" begin
    on_ranks(3) do group
        reducer, _ = model(group)
        pass(reducer, group)
        barrier(group = group)
        if get_rank(group) == 1
            @test_throws AbortedError barrier(group = group)
            return
        end
        pair = shrink_group([1]; group = group)
        own = ones(50, 60)
        begin_backward!(reducer)  # a pass that is cut
        mark_ready!(reducer, 1, own)
        moved = generation(reducer)
        shrink!(reducer; group = pair)
        @test generation(reducer) > moved
        @test all(iszero, get_gradient(reducer, 1))
        pass(reducer, pair)
        @test has_means(reducer, pair)
        close(reducer)
        destroy_process_group(pair)
    end
end
