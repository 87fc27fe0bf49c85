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
