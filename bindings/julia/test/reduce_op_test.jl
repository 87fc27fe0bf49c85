# Reduce ops beside the operators: factors, and functions of the program.

@testset "PremulSum" begin
    on_ranks(3) do group
        op = PremulSum(get_rank(group) + 1)
        @test allreduce([1, 10], op; group = group) == [6, 60]
        half = PremulSum(0.5)
        @test allreduce(3.0f0, half; group = group) == 4.5f0
        close(op)
        close(op)
        @test_throws InvalidArgumentError allreduce(1, op; group = group)
        @test_throws ArgumentError PremulSum(1 // 2)
    end
end

@testset "functions of the program" begin
    results = on_ranks(3) do group
        r = get_rank(group)
        @test allreduce(3.0, hypot; group = group) ≈ sqrt(27)
        @test allreduce!([r, 5 - r], (a, b) -> a > b ? a : b; group = group) == [2, 5]
        # A matrix product of 2x2 integer matrices in one Int64 does not commute: here, "left".
        left = ReduceOp((a, b) -> a; name = "left", commutative = false)
        right = ReduceOp((a, b) -> b; name = "right", commutative = false)
        @test allreduce(r, left; group = group) == 0
        @test allreduce(r, right; group = group) == 2
        work = allreduce!([r], right; group = group, async = true)
        @test fetch(work) == [2]
        blocking(() -> @test allreduce(r, right; group = group) == 2)
        part = [0.0]
        reducescatter!(part, [1.0, 2.0, 3.0], (a, b) -> a + b; group = group)
        part[1]
    end
    @test results == [3.0, 6.0, 9.0]
end

@testset "ops that calls make are given back" begin
    on_ranks(1) do group
        GC.enable(false)  # nothing is given back by collecting
        @test all(allreduce(1.0, hypot; group = group) == 1.0 for _ in 1:33_000)
        GC.enable(true)
    end
end

@testset "a function that throws fails the operation" begin
    failures = on_ranks(2) do group
        thrown(() -> allreduce!([1.0], (a, b) -> error("cannot"); group = group))
    end
    @test all(failure -> failure isa TuttiError, failures)
    @test any(failure -> occursin("cannot", failure.message), failures)
end
