# Arrays in memory that ranks share.

@testset "they are arrays" begin
    on_ranks(2) do group
        x = alloc(Float64, (3, 4); group = group)
        @test size(x) == (3, 4) && sizeof(x) == 96 && x == zeros(3, 4) && x isa DenseArray
        @test strides(x) == (1, 3) && pointer(x) isa Ptr{Float64}
        x .= 1:3
        x[2, 3] = 7
        @test x[2, 3] == x[8] == 7 && sum(x) == 29 && x[:, 1] == [1, 2, 3]
        @test reshape(x, 12)[8] == 7 && x' isa AbstractMatrix && 2x == 2Array(x)
        @test_throws BoundsError x[13]
        @test_throws BoundsError x[0] = 1
        close(x)
        x = alloc(Complex{Float32}, 0; group = group)
        @test isempty(x)
        close(x)
        @test size(alloc(Int, (Int32(2), 0x03); group = group)) == (2, 3)
        @test (y = alloc(Int8; group = group); y[] = 3; y[] == 3)
    end
end

@testset "every kind of call takes them" begin
    on_ranks(3) do group
        r = get_rank(group)
        x = alloc(Int64, 5000; group = group)
        all = alloc(Int64, 5000, 3; group = group)
        x .= r .+ (1:5000)
        @test allgather!(all, x; group = group) === all
        @test all == [p + i for i in 1:5000, p in 0:2]
        @test allreduce!(x, +; group = group) === x
        @test x == [3i + 3 for i in 1:5000]
        bcast!(view(x, 11:20); src = r == 1 ? 1 : 1, group = group)
        work = allreduce!(view(all, :, 2), max; group = group, async = true)
        @test fetch(work) == 2:5001 .+ 0
        sent = send(x, (r + 1) % 3; group = group, async = true)
        recv!(view(all, :, 1), (r + 2) % 3; group = group)
        wait(sent)
        @test all[:, 1] == x
        close(x)
        close(all)
    end
end

@testset "lengths may differ" begin
    on_ranks(3) do group
        r = get_rank(group)
        x = alloc(Float32, r * 1000; group = group)
        @test length(x) == r * 1000
        y = r == 2 ? view(x, 1:1000) : zeros(Float32, 1000)
        y .= r
        allreduce!(y, +; group = group)
        @test y == fill(3, 1000)
        close(x)
    end
end

@testset "what was closed is not touched" begin
    on_ranks(2) do group
        x = alloc(Float64, 10; group = group)
        part = view(x, 2:3)
        close(x)
        close(x)
        for use in (() -> x[1], () -> x[1] = 2, () -> sum(part), () -> pointer(x),
                    () -> allreduce!(x, +; group = group),
                    () -> allreduce!(part, +; group = group, async = true))
            @test thrown(use) == InvalidHandleError(-1, 0, "the array was closed")
        end
        barrier(group = group)
    end
end

@testset "an operation keeps its memory" begin
    on_ranks(2) do group
        r = get_rank(group)
        # Dropped and closed while it runs: nothing but the operation knows of it any more.
        function begin_sum()
            x = alloc(Int32, 100_000; group = group)
            x .= r + 1
            work = allreduce!(x, +; group = group, async = true)
            close(x)
            work
        end
        works = [begin_sum() for _ in 1:20]
        GC.gc()
        foreach(wait, works)
        @test all(issuccess, works)
    end
end

"The mapped file that an array's memory is in, as the system numbers it."
function mapped_file(x)
    for line in eachline("/proc/self/maps")
        range, _, _, device, inode = split(line)
        first, last = parse.(UInt, split(range, '-'); base = 16)
        first <= UInt(x.data) < last && return device, inode
    end
    error("the array is not mapped")
end

"Whether a file is not mapped any more."
was_given_back(file) = !any(line -> split(line)[4:5] == [file...], eachline("/proc/self/maps"))

@testset "memory is given back when what uses it is done, and is not kept by anything else" begin
    on_ranks(2) do group
        idle, used = alloc(Int, 10; group = group), alloc(Int, 1000; group = group)
        memory = mapped_file(idle), mapped_file(used)
        if get_rank(group) == 0
            work = recv!(view(used, 1:500), 1; group = group, async = true)
            close(idle)
            @test was_given_back(memory[1])
            close(used)
            @test !was_given_back(memory[2])
            @test_throws InvalidHandleError used[1]
            barrier(; group = group)
            wait(work)
            @test was_given_back(memory[2])
        else
            barrier(; group = group)
            send(ones(Int, 500), 0; group = group)
        end
    end
end

@testset "an array that is finalized keeps its memory while an operation runs" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            x = alloc(Int, 100_000; group = group)
            memory = mapped_file(x)
            work = recv!(x, 1; group = group, async = true)
            finalize(x)
            @test !was_given_back(memory)
            barrier(; group = group)
            wait(work)
            @test was_given_back(memory)
        else
            alloc(Int, 0; group = group)
            barrier(; group = group)
            send(ones(Int, 100_000), 0; group = group)
        end
    end
end

@testset "the calls of a coalescing keep their memory until they are done" begin
    on_ranks(2) do group
        x = alloc(Int, 10; group = group)
        memory = mapped_file(x)
        work = coalescing(; group = group, async = true) do together
            allreduce!(x, +; group = together)
            close(x)
            @test !was_given_back(memory)
        end
        wait(work)
        @test was_given_back(memory)
        y = alloc(Int, 10; group = group)
        memory = mapped_file(y)
        @test_throws InvalidHandleError coalescing(; group = group) do together
            bcast!(y; group = together)
            close(y)
            close(together)
            barrier(; group = together)
        end
        while !was_given_back(memory)  # the coalescing is ended in the background
            yield()
        end
    end
end

@testset "a call that fails lets go of the memory" begin
    on_ranks(1) do group
        x = alloc(Int, 4; group = group)
        memory = mapped_file(x)
        @test_throws InvalidArgumentError bcast!(x; src = 5, group = group)
        @test_throws InvalidArgumentError blocking(() -> bcast!(x; src = 5, group = group))
        @test_throws InvalidArgumentError coalescing(; group = group) do together
            bcast!(x; src = 5, group = together)
        end
        ops = [P2POp(send, x, 0), P2POp(recv!, x, 7)]
        @test_throws InvalidArgumentError batch_isend_irecv(ops; group = group)
        closed = alloc(Int, 0; group = group)
        close(closed)
        close(x)
        @test was_given_back(memory)
    end
end

@testset "dropped arrays do not pile up" begin
    before = Tutti.bytes_held[]
    on_ranks(1) do group
        for _ in 1:40
            alloc(UInt8, 2^24; group = group)
        end
        @test Tutti.bytes_held[] - before < 20 * 2^24
    end
end

@testset "a deep copy is refused" begin
    on_ranks(1) do group
        x = alloc(Int, 3; group = group)
        @test_throws ArgumentError deepcopy(x)
        @test_throws ArgumentError deepcopy(Dict("x" => view(x, 1:2)))
        @test copy(x) isa Array
        close(x)
    end
end

@testset "the memory outlives the group, and the collector gives it back" begin
    arrays = on_ranks(2) do group
        x = alloc(Int, 100; group = group)
        x .= 1:100
        x
    end
    @test arrays[1] == arrays[2] == 1:100
    memory = mapped_file(arrays[1])
    finalize(arrays[1])
    @test was_given_back(memory)
end

@testset "wrong arguments are named" begin
    on_ranks(1) do group
        @test_throws ArgumentError alloc(String, 3; group = group)
        @test_throws ArgumentError alloc(Int, -1; group = group)
        @test_throws ArgumentError alloc(Int, typemax(Int), 2; group = group)
        @test_throws ArgumentError alloc(Int, 0, big(2)^70; group = group)
        @test_throws ArgumentError alloc(Nothing, 2^40, 2^40; group = group)
        @test thrown(() -> alloc(UInt8, typemax(Int); group = group)) isa ResourceError
    end
end
