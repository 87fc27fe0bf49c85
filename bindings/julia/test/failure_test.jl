# Shrinking a group, making one of listed processes, agreeing, revoking, aborting, and the work of a failure.

"on_ranks, but all have made their group before f is called: what ends it then ends no making."
function on_ranks_there(f, count)
    there, everyone = Ref(0), Base.Event()
    on_ranks(count) do group
        (there[] += 1) == count ? notify(everyone) : wait(everyone)
        f(group)
    end
end

@testset "shrink_group refuses wrong arguments" begin
    on_ranks(2) do group
        rank, other = get_rank(group), 1 - get_rank(group)
        for wrong in ([rank], [other, other], [2], [-1])
            failure = thrown(() -> shrink_group(wrong; group = group))
            @test failure isa InvalidArgumentError && occursin("ranks_to_exclude", failure.message)
        end
        @test_throws InvalidArgumentError shrink_group([other]; group = group, min_size = 3)
        @test_throws ArgumentError shrink_group([other]; group = group, min_size = -1)
        @test_throws ArgumentError shrink_group([0.5]; group = group)
        @test_throws ArgumentError shrink_group([other]; group = group, timeout = 0)
        @test_throws ArgumentError agree(-1; group = group)
        # What all ranks see together.
        @test_throws InvalidArgumentError shrink_group(; group = group)
        @test allreduce(rank, +; group = group) == 1
    end
    @test_throws InvalidHandleError shrink_group(; group = NON_MEMBER)
    @test_throws InvalidHandleError Tutti.failure(NON_MEMBER)
    @test_throws InvalidHandleError abort(NON_MEMBER)
end

@testset "the others go on without an excluded rank" begin
    on_ranks_there(3) do group
        if get_rank(group) == 1
            @test_throws AbortedError barrier(; group = group)
            @test_throws AbortedError shrink_group(; group = group)
            return
        end
        pair = shrink_group([1]; group = group, description = "pair", min_size = 2, timeout = 60)
        @test get_world_size(pair) == 2 && get_rank(pair) == get_rank(group) ÷ 2
        @test get_process_group_ranks(pair) == [0, 2] && get_name(pair) == "pair"
        @test allreduce(get_rank(group), +; group = pair) == 2
        @test_throws AbortedError barrier(; group = group)
        destroy_process_group(pair)
    end
end

@testset "a revoked group is shrunk by all" begin
    on_ranks_there(3) do group
        work = Tutti.failure(group)
        if get_rank(group) == 2
            @test !isready(work)
            revoke(group, "the loss is no number")
        end
        told = thrown(() -> wait(work))
        @test told isa AbortedError && told.rank == 2
        @test occursin("the loss is no number", told.message)
        @test_throws AbortedError barrier(; group = group)
        @test isready(Tutti.failure(group))
        again = shrink_group(; group = group, abort = true)
        @test get_world_size(again) == 3 && get_rank(again) == get_rank(group)
        @test allreduce(1, +; group = again) == 3
        destroy_process_group(again)
    end
end

@testset "abort ends operations" begin
    on_ranks_there(2) do group
        work = Tutti.failure(group)
        if get_rank(group) == 0
            receive = recv!([0], 1; group = group, async = true)
            abort(group)
            @test_throws AbortedError wait(receive)
        end
        @test_throws AbortedError wait(work)
    end
end

@testset "ranks agree" begin
    on_ranks(3) do group
        rank = get_rank(group)
        top = UInt64(1) << 63
        @test agree(top | 7 & ~(1 << rank); group = group) === top
        @test agree(6 | rank; group = group, timeout = 60) === UInt64(6)
    end
    done = Base.Event()
    on_ranks(2) do group
        if get_rank(group) == 1
            wait(done)
            return
        end
        failure = thrown(() -> agree(1; group = group, timeout = 0.05))
        notify(done)
        @test failure isa TimeoutError && failure.rank == 1
    end
end

@testset "the default group is another one afterwards" begin
    store = HashStore()
    init_process_group(; store = store, rank = 0, world_size = 1) do
        before = copy(WORLD)
        @test_throws InvalidArgumentError shrink_group()
        revoke()
        @test_throws AbortedError barrier()
        @test shrink_group() === WORLD
        @test get_rank() == 0 && get_world_size() == 1 && get_pg_count() == 1
        @test allreduce(5, +) == 5
        @test_throws AbortedError barrier(; group = before)
        close(before)
    end
    @test !is_initialized()
    close(store)
end

@testset "a group is made by handles and replaced" begin
    handle = get_reconfigure_handle()
    @test get_reconfigure_handle() == handle
    first = reconfigure(1, [handle]; group = NON_MEMBER, backend = "tcp", description = "first")
    @test get_rank(first) == 0 && get_world_size(first) == 1
    @test get_name(first) == "first" && get_backend(first) == "tcp"
    second = reconfigure(2, (handle,); group = first, timeout = 60)
    @test allreduce(5, +; group = second) == 5 && Tutti.timeout(second) == 60
    @test_throws AbortedError barrier(; group = first)
    destroy_process_group(first)
    for (id, wrong, message) in ((3, ["nonsense"], "handles[1] is \"nonsense\""),
                                 (3, [handle, handle], "handles[2] is the same as handles[1]"),
                                 (3, String[], "count is 0"), (2, [handle], "used before"))
        failure = thrown(() -> reconfigure(id, wrong; group = second))
        @test failure isa InvalidArgumentError && occursin(message, failure.message)
    end
    @test_throws ArgumentError reconfigure(-1, [handle]; group = second)
    @test_throws ArgumentError reconfigure(3, [handle]; group = second, timeout = 0)
    barrier(; group = second)
    destroy_process_group(second)
    @test !is_initialized()
    close(second)
    @test_throws InvalidHandleError reconfigure(3, [handle]; group = second)
end

@testset "the default group is made by handles and replaced" begin
    handles = [get_reconfigure_handle()]
    @test reconfigure(11, handles) === WORLD && is_initialized()
    before = copy(WORLD)
    @test reconfigure(12, handles) === WORLD
    @test get_rank() == 0 && get_world_size() == 1 && get_pg_count() == 1
    @test allreduce(5, +) == 5
    @test_throws AbortedError barrier(; group = before)
    close(before)
    destroy_process_group()
    @test !is_initialized()
end
