# Collectives in which pieces come together or part.

@testset "arrays with gaps in equal pieces" begin
    on_ranks(2) do group
        r = get_rank(group)
        rows = [1 2 3 4; 5 6 7 8]
        mine = scatter!(zeros(Int, 2), r == 0 ? view(rows, 2, :) : nothing; group = group)
        @test mine == (r == 0 ? [5, 6] : [7, 8])
        gather!(r == 0 ? view(rows, 1, :) : nothing, [r, -r]; group = group)
        @test rows[1, :] == (r == 0 ? [0, 0, 1, -1] : [1, 2, 3, 4]) && rows[2, :] == 5:8
        @test_throws ArgumentError scatter!([0], view(rows, 1, :); group = group, async = true)
    end
end

@testset "allgather" begin
    on_ranks(3) do group
        r = get_rank(group)
        @test allgather(r; group = group) == [0, 1, 2]
        @test allgather([r, 10r]; group = group) == [0 1 2; 0 10 20]
        output = zeros(Int, 6)
        @test allgather!(output, [r, r]; group = group) == [0, 0, 1, 1, 2, 2]
        lists = [zeros(Int, n) for n in 1:3]
        allgather!(lists, fill(r, r + 1); group = group)
        @test lists == [[0], [1, 1], [2, 2, 2]]
        lists[r + 1] .= r + 5
        allgather!(lists; group = group)
        @test lists == [[5], [6, 6], [7, 7, 7]]
    end
end

@testset "gather and scatter" begin
    on_ranks(3) do group
        r = get_rank(group)
        all = gather([r, -r]; dst = 1, group = group)
        @test all == (r == 1 ? [0 1 2; 0 -1 -2] : nothing)
        @test gather(2.5r; group = group) == (r == 0 ? [0.0, 2.5, 5.0] : nothing)
        lists = r == 0 ? [zeros(Int, 1) for _ in 1:3] : nothing
        gather!(lists, [r]; group = group)
        @test r != 0 || lists == [[0], [1], [2]]

        x = [0, 0]
        scatter!(x, r == 2 ? [1, 2, 3, 4, 5, 6] : nothing; src = 2, group = group)
        @test x == [2r + 1, 2r + 2]
        scatter!(x, r == 0 ? [[i, i] for i in 1:3] : nothing; group = group)
        @test x == [r + 1, r + 1]
        r == 0 && @test_throws DimensionMismatch scatter!(x, [1, 2, 3, 4]; group = group)
    end
end

@testset "alltoall!" begin
    on_ranks(3) do group
        r = get_rank(group)
        output = zeros(Int, 3)
        @test alltoall!(output, 10r .+ [0, 1, 2]; group = group) == [r, 10 + r, 20 + r]
        # Rank r gives rank i as many as i + 1.
        output = zeros(Int, 3 * (r + 1))
        alltoall!(output, fill(r, 6); input_splits = [1, 2, 3],
                  output_splits = fill(r + 1, 3), group = group)
        @test output == repeat([0, 1, 2], inner = r + 1)
        lists = [zeros(Int, r + 1) for _ in 1:3]
        alltoall!(lists, [fill(r, i) for i in 1:3]; group = group)
        @test lists == [fill(s, r + 1) for s in 0:2]
        @test_throws ArgumentError alltoall!(lists, lists; input_splits = [1, 1, 1], group = group)
    end
end
