# Arguments that may be a buffer: arrays of bits, dense or not.
using LinearAlgebra: Diagonal, Hermitian, Symmetric, Tridiagonal, UnitLowerTriangular,
    UpperTriangular

struct Particle
    position::NTuple{3, Float32}
    kind::Int8
end

@testset "views, matrices and other arrays" begin
    on_ranks(2) do group
        r = get_rank(group)
        x = collect(1.0:6.0) .+ r
        allreduce!(view(x, 2:4), +; group = group)
        @test x == [1 + r, 5, 7, 9, 5 + r, 6 + r]
        matrix = fill(r + 1, 3, 4)
        allreduce!(view(matrix, :, 2:3), +; group = group)
        @test matrix[:, 1] == fill(r + 1, 3) && matrix[:, 2:3] == fill(3, 3, 2)

        # An array that is not dense is copied, there and back.
        allreduce!(view(matrix, 2, :), +; group = group)
        @test matrix[2, :] == [3, 6, 6, 3]
        allreduce!(view(matrix, 1:2:3, 1)', *; group = group)
        @test matrix[[1, 3], 1] == [2, 2]
        bits = BitVector([r == 0, true, false])
        allreduce!(bits, &; group = group)
        @test bits == [false, true, false]
        @test allreduce(1:3, +; group = group) == [2, 4, 6]
        number = Ref(r + 1)
        allreduce!(number, +; group = group)
        @test number[] == 3
        empty = Float32[]
        @test allreduce!(empty, +; group = group) === empty
    end
end

@testset "elements of any bits are moved" begin
    on_ranks(2) do group
        r = get_rank(group)
        particles = [Particle((r, 2, 3), r) for _ in 1:4]
        bcast!(particles; src = 1, group = group)
        @test particles == fill(Particle((1, 2, 3), 1), 4)
        @test allgather([(r, 1.5)]; group = group) == [(0, 1.5) (1, 1.5)]
    end
end

@testset "what cannot be a buffer is named" begin
    on_ranks(1) do group
        message(f) = (error = thrown(f); @test error isa ArgumentError; error.msg)
        strings = message(() -> bcast!(["a"]; group = group))
        @test occursin("x has elements of type String", strings)
        tuples = message(() -> allreduce!([(1, 2)], +; group = group))
        @test occursin("cannot be reduced", tuples)
        gaps = view(zeros(4), 1:2:3)
        going_on = message(() -> allreduce!(gaps, +; group = group, async = true))
        @test occursin("x is not dense in memory", going_on)
        ranges = message(() -> allreduce!(1:3, +; group = group))
        @test occursin("x is a range", ranges)
        @test_throws MethodError bcast!("text"; group = group)
    end
end

"An array that cannot be written to, and one that can."
struct Fixed <: AbstractVector{Int} end
Base.size(::Fixed) = (2,)
Base.getindex(::Fixed, i::Int) = i
struct Wrapped <: AbstractVector{Int}
    values::Vector{Int}
end
Base.size(x::Wrapped) = size(x.values)
Base.getindex(x::Wrapped, i::Int) = x.values[i]
Base.setindex!(x::Wrapped, value, i::Int) = x.values[i] = value

@testset "an output that cannot take every value is refused before anything is sent" begin
    square = [1 2; 3 4]
    fixed = (Symmetric(square), Hermitian(square), UpperTriangular(square),
             UnitLowerTriangular(square), Diagonal([1, 2]), Tridiagonal(square),
             transpose(Diagonal([1, 2])), view(Symmetric(square), 1:2, 1), codeunits("abcd"),
             view(codeunits("abcd"), 1:2), reshape(1:4, 2, 2), Fixed(), Tutti.AsArray([1, 2]))
    on_ranks(2) do group
        for output in fixed
            input = collect(output)
            refused(f) = (error = thrown(f); error isa ArgumentError ? error.msg : error)
            @test startswith(refused(() -> bcast!(output; group = group)), "x is a ")
            @test startswith(refused(() -> recv!(output; group = group)), "x is a ")
            for call in (() -> allgather!([input, output], input; group = group),
                         () -> gather!([input, output], input; group = group),
                         () -> alltoall!([input, output], [input, input]; group = group))
                @test startswith(refused(call), "output[2] is a ")
            end
            @test startswith(refused(() -> gather!(output, input; group = group)), "output is a ")
            @test startswith(refused(() -> scatter!(output, input; group = group)), "output is a ")
        end
        # Nothing of these was sent: the ranks agree on what comes next.
        @test allreduce(Symmetric(square), +; group = group) == 2 .* [1 2; 2 4]
        get_rank(group) == 1 && @test_throws ArgumentError bcast_object_list!(1:3; group = group)
        barrier(; group = group)
    end
end

@testset "outputs of any kind that can be written" begin
    on_ranks(2) do group
        r = get_rank(group)
        for output in (Wrapped([9, 9]), PermutedDimsArray([9 9], (2, 1)), transpose([9 9]),
                       view([9, 9, 9], [3, 1]), reinterpret(Int, [9.0, 9.0]), view([9, 9], 2:-1:1))
            @test allgather!(output, [r]; group = group) === output
            @test vec(collect(output)) == [0, 1]
        end
        lists = [Wrapped([9]), view([9, 9], 1:2:1)]
        @test allgather!(lists, [r]; group = group) == [[0], [1]]
    end
end

@testset "bfloat16" begin
    @test Float32(Tutti.BFloat16(1.5)) == 1.5f0
    @test Tutti.BFloat16(1.0f0 + 2.0f0^-9) == Tutti.BFloat16(1)  # ties to even
    @test isnan(Tutti.BFloat16(NaN)) && -Tutti.BFloat16(2) < Tutti.BFloat16(1)
    @test Tutti.dtype_size(Tutti.BFloat16) == 2 && Tutti.dtype_size(String) == 0
end
