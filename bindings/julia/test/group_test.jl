# Groups: starting, ending, and making groups of groups.

@testset "ranks meet at a store" begin
    ranks = on_ranks(3) do group
        @test get_world_size(group) == 3 && get_backend(group) == "loopback" && is_member(group)
        @test get_process_group_ranks(group) == [0, 1, 2]
        @test get_group_rank(group, 2) == 2 && get_global_rank(group, 5) == -1
        @test occursin("of 3, loopback", string(group))
        get_rank(group)
    end
    @test ranks == [0, 1, 2]
end

@testset "the default group" begin
    @test !is_initialized() && get_rank() == -1 && get_backend() === nothing
    mktempdir() do folder
        url = "file://" * joinpath(folder, "meet")
        result = init_process_group(; init_method = url, rank = 0, world_size = 1) do
            @test is_initialized() && get_pg_count() == 1
            @test get_rank() == 0 && get_world_size() == 1
            @test string(WORLD) == "WORLD(rank 0 of 1, $(get_backend()))"
            "result"
        end
        @test result == "result"
    end
    @test !is_initialized()
    store = HashStore()
    failure = thrown() do
        init_process_group(() -> error("mine"); store = store, rank = 0, world_size = 1)
    end
    @test failure isa ErrorException && failure.msg == "mine" && !is_initialized()
    @test_throws InvalidHandleError destroy_process_group()
    @test_throws ArgumentError init_process_group(; store = store, init_method = "env://")
    @test_throws InvalidArgumentError init_process_group(; init_method = "what://")
end

@testset "new_group and split_group" begin
    on_ranks(4) do group
        pair = new_group([3, 1]; group = group, description = "pair")
        if get_rank(group) in (1, 3)
            @test get_process_group_ranks(pair) == [1, 3]
            @test allreduce(get_rank(group), +; group = pair) == 4
        else
            @test pair === NON_MEMBER && get_rank(pair) == -1
            @test_throws InvalidHandleError barrier(; group = pair)
        end
        half = split_group([[0, 1], [2, 3]]; group = group, timeout = 30)
        @test get_process_group_ranks(half) == (get_rank(group) < 2 ? [0, 1] : [2, 3])
        all = new_group(; group = group, reproducible = true)
        @test is_reproducible(all) && !is_reproducible(group)
        if get_rank(group) < 2
            alone = new_group([0, 1]; group = group, use_local_synchronization = true)
            @test allreduce(1, +; group = alone) == 2
        end
        @test_throws MismatchError new_group([get_rank(group)]; group = group)
    end
end

@testset "ranks meet by an all-gather of their own" begin
    count, given = 3, Dict{Int, Vector{UInt8}}()
    everyone = Condition()
    tasks = map(0:(count - 1)) do rank
        @async begin
            group = Group(rank, count; backend = "loopback", timeout = 60) do bytes
                given[rank] = bytes
                length(given) == count ? notify(everyone) : wait(everyone)
                vcat((given[r] for r in 0:(count - 1))...)
            end
            sum = allreduce(rank, +; group = group)
            close(group)
            sum
        end
    end
    @test map(fetch_result, tasks) == [3, 3, 3]
end

@testset "an all-gather that throws fails the making of the group" begin
    failure = thrown(() -> Group(bytes -> error("the fabric is down"), 0, 1; backend = "loopback"))
    @test failure isa BackendError && occursin("the fabric is down", failure.message)
end

@testset "an all-gather that returns too much, too little or no bytes is refused" begin
    for wrong in (bytes -> repeat(bytes, 1000), bytes -> bytes[2:end], bytes -> 7)
        @test thrown(() -> Group(wrong, 0, 1; backend = "loopback")) isa BackendError
    end
end

@testset "a group that was closed is an error" begin
    on_ranks(1) do group
        other = new_group(; group = group)
        Tutti.set_timeout!(other, 5)
        @test Tutti.timeout(other) == 5 && isempty(get_failed_ranks(other))
        named = new_group(; group = group, description = "the named one")
        again = copy(named)
        close(named)
        @test occursin("the named one", get_name(again)) && get_rank(again) == 0
        @test get_backend(again, :cpu) == get_backend(again)
        @test get_backend(again, :xpu) === nothing
        @test startswith(get_backend_config(again), "cpu:$(get_backend(again))")
        close(again)
        @test_throws ArgumentError Tutti.set_timeout!(other, -1)
        close(other)
        close(other)
        @test get_rank(other) == -1 && get_backend(other) === nothing
        @test_throws InvalidHandleError barrier(; group = other)
        @test_throws InvalidHandleError allreduce!([1], +; group = other)
        @test_throws InvalidHandleError get_process_group_ranks(other)
    end
end
