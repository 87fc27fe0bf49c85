# Collectives whose results are a rank's own array.

const numbers = (Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float16, Tutti.BFloat16,
                 Float32, Float64)

@testset "allreduce! of $type" for type in (numbers..., ComplexF32, ComplexF64)
    results = on_ranks(3) do group
        x = type[type(get_rank(group) + 1), type(2)]
        @test allreduce!(x, +; group = group) === x
        x
    end
    @test all(==(type[type(6), type(6)]), results)
end

@testset "operators" begin
    on_ranks(3) do group
        r = get_rank(group)
        reduced(x, op) = allreduce(x, op; group = group)
        @test reduced(r + 1, *) == 6
        @test reduced(r + 1, min) == 1 && reduced(r + 1, max) == 3
        @test reduced(UInt8(1 << r), |) == 7 && reduced(UInt8(255 - (1 << r)), &) == 248
        @test reduced(r + 1, xor) == 0
        @test reduced(r == 1, |) && !reduced(r == 1, &)
        @test reduced(Float64(r), AVG) == 1.0
        @test reduced([r r; r r], +) == [3 3; 3 3]
        @test_throws ArgumentError reduced(r, "sum")
        @test_throws InvalidArgumentError reduced(1.0, xor)
    end
end

@testset "bcast!, reduce!, reducescatter!, barrier" begin
    on_ranks(3) do group
        r = get_rank(group)
        x = r == 2 ? [1.5, 2.5] : zeros(2)
        @test bcast!(x; src = 2, group = group) == [1.5, 2.5]

        y = [r, 10r]
        reduce!(y, +; dst = 1, group = group)
        @test y == (r == 1 ? [3, 30] : [r, 10r])
        out = r == 0 ? [0, 0] : nothing
        reduce!(out, [r, r], max; dst = 0, group = group)
        @test r != 0 || out == [2, 2]

        part = [0]
        reducescatter!(part, [1, 2, 3] .* (r + 1), +; group = group)
        @test part == [6 * (r + 1)]
        mine = zeros(Int, r + 1)
        reducescatter!(mine, [fill(i, i) for i in 1:3], +; group = group)
        @test mine == fill(3 * (r + 1), r + 1)

        input, output = [r], [0]
        @test allreduce!(output, input, +; group = group) == [3] && input == [r]
        barrier(; group = group)
        monitored_barrier(; group = group, wait_all_ranks = true)
        @test_throws InvalidArgumentError Tutti.breakpoint(3; group = group)
    end
end

@testset "the same bits from any number of ranks" begin
    addends = [1e16, 1.0, -1e16, 1.0]
    for count in (1, 2, 4)
        sums = on_ranks(count; reproducible = true) do group
            mine = [[addends[i]] for i in 1:4 if (i - 1) % count == get_rank(group)]
            allreduce_addends!([0.0], mine; group = group)[1]
        end
        @test all(==(2.0), sums)
    end
    on_ranks(1) do group
        @test_throws InvalidArgumentError allreduce_addends!([0.0], [[1.0]]; group = group)
    end
end

@testset "coalescing" begin
    on_ranks(2) do group
        r = get_rank(group)
        xs = [[r, i] for i in 1:3]
        coalescing(; group = group) do together
            @test get_world_size(together) == 2
            for x in xs
                allreduce!(x, +; group = together)
            end
            @test allreduce(1, +; group = group) == 2  # the group itself works as ever
        end
        @test xs == [[1, 2i] for i in 1:3]
        work = coalescing(; group = group, async = true) do together
            bcast!(xs[1]; src = 1, group = together)
            allreduce!(xs[2], (a, b) -> max(a, b); group = together)
        end
        wait(work)
        @test xs[2] == [1, 4]
        failure = thrown() do
            coalescing(; group = group) do together
                barrier(; group = together)
                @test_throws ArgumentError allgather_object(1; group = together)
                @test_throws ArgumentError send(xs[1], 0; group = together)
                @test_throws ArgumentError allreduce!(xs[1], +; group = together, async = true)
                @test_throws ArgumentError allreduce(1, +; group = together)
                error("mine")
            end
        end
        @test failure isa ErrorException
        @test_throws ArgumentError coalescing(_ -> 1; group = group, timeout = -1)
        kept = nothing
        coalescing(together -> (kept = together; barrier(; group = together)); group = group)
        @test_throws InvalidHandleError barrier(; group = kept)
        barrier(; group = group)
    end
end
