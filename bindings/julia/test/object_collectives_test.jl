# Collectives and messages of values and of bytes.

@testset "values" begin
    on_ranks(3) do group
        r = get_rank(group)
        @test allgather_object(Dict("rank" => r, "x" => [r, 2r]); group = group) ==
              [Dict("rank" => s, "x" => [s, 2s]) for s in 0:2]
        values = r == 1 ? Any["hello", Dict(1 => -1), typemax(UInt64)] : Vector{Any}(undef, 3)
        @test bcast_object_list!(values; src = 1, group = group) === values
        @test values == Any["hello", Dict(1 => -1), typemax(UInt64)]
        @test gather_object((r, "x"); dst = 2, group = group) ==
              (r == 2 ? [Any[s, "x"] for s in 0:2] : nothing)
        @test scatter_object_list(r == 0 ? ["a", nothing, 2.5] : nothing; group = group) ===
              ("a", nothing, 2.5)[r + 1]
        work = allgather_object("x"^r; group = group, async = true)
        @test fetch(work) == ["", "x", "xx"]
        r == 0 && @test_throws InvalidArgumentError scatter_object_list([1]; group = group)
        barrier(; group = group)
    end
end

@testset "bytes" begin
    on_ranks(3) do group
        r = get_rank(group)
        @test bcast_bytes(r == 1 ? "from one" : nothing; src = 1, group = group) == b"from one"
        @test allgather_bytes(fill(UInt8(r), r); group = group) == [fill(UInt8(s), s) for s in 0:2]
        @test gather_bytes("rank $r"; group = group) ==
              (r == 0 ? [Vector{UInt8}("rank $s") for s in 0:2] : nothing)
        @test scatter_bytes(r == 2 ? ["a", "", "ccc"] : nothing; src = 2, group = group) ==
              Vector{UInt8}(("a", "", "ccc")[r + 1])
        @test fetch(allgather_bytes("x"; group = group, async = true)) == fill(UInt8['x'], 3)
        r == 0 && @test_throws ArgumentError bcast_bytes(; group = group)
        barrier(; group = group)
    end
end

@testset "messages" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            send_object_list(["a", Dict("b" => 2)], 1; group = group)
            send_bytes(UInt8[1, 2, 3], 1; tag = 4, group = group)
            wait(send_object_list([1], 1; group = group, async = true))
            send_bytes("too long", 1; group = group)
        else
            @test recv_object_list(2, 0; group = group) == ["a", Dict("b" => 2)]
            @test recv_bytes(; tag = 4, group = group) == UInt8[1, 2, 3]
            work = recv_object_list(1; group = group, async = true)
            @test fetch(work) == [1] && source_rank(work) == 0
            @test_throws MismatchError recv_bytes(0; group = group, max_bytes = 3)
        end
    end
end

@testset "limits of what comes in" begin
    on_ranks(2) do group
        r = get_rank(group)
        values = r == 0 ? Any[collect(Any, 1:100)] : Any[nothing]
        options = r == 0 ? nothing : ObjectOptions(max_values = 10)
        error = thrown(() -> bcast_object_list!(values; group = group, options = options))
        @test r == 0 || error isa MismatchError
    end
end
