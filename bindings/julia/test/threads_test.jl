# Ranks on several threads of Julia's (JULIA_NUM_THREADS), which collect garbage meanwhile.

function on_threads(f, count)
    HashStore() do store
        tasks = map(0:(count - 1)) do rank
            Threads.@spawn begin
                group = Group(store, rank, count; backend = "loopback", timeout = 60)
                result = f(group)
                close(group)
                result
            end
        end
        map(fetch_result, tasks)
    end
end

@testset "collectives on threads, with allocation" begin
    sums = on_threads(4) do group
        total = 0
        for i in 1:500
            total += sum(allreduce!(fill(i, 100), +; group = group))
        end
        total
    end
    @test sums == fill(4 * 100 * sum(1:500), 4)
end

@testset "direct calls on threads let the others collect garbage" begin
    Threads.nthreads() < 4 && return
    sums = on_threads(2) do group
        blocking() do
            sum(allreduce!(fill(i, 100), +; group = group)[1] for i in 1:500)
        end
    end
    @test sums == fill(2 * sum(1:500), 2)
end

@testset "an operation keeps the memory of an array that another thread closes" begin
    Threads.nthreads() < 4 && return
    store, arrays = HashStore(), Channel{Any}(1)
    "Rank 1 closes the array that the operation of rank 0 uses, and then makes the same call."
    function rank(number)
        group = Group(store, number, 2; backend = "loopback", timeout = 60)
        x = alloc(Int, 1000; group = group)
        x .= 1
        if number == 0
            work = allreduce!(x, +; group = group, async = true)
            put!(arrays, x)
            wait(work)
        else
            close(take!(arrays))
            allreduce!(x, +; group = group)
        end
        close(group)
        number == 0 ? x.data == C_NULL : all(==(2), x)
    end
    tasks = [Threads.@spawn(rank(number)) for number in 0:1]
    @test map(fetch_result, tasks) == [true, true]
end

@testset "what is used is not collected while a call goes on" begin
    meet() = blocking(() -> close(Group(HashStore(), 0, 1; backend = "loopback")))
    meet()
    collector = Threads.@spawn foreach(_ -> GC.gc(false), 1:500)
    while !istaskdone(collector)
        @test meet() === nothing
    end
    wait(collector)
end

@testset "an argument that cannot be converted leaves the thread as it was" begin
    group = Group(HashStore(), 0, 1; backend = "loopback")
    @test_throws InexactError Tutti.directly(Raw.tutti_get_global_rank, group, 2^40)
    @test ccall(:jl_gc_unsafe_enter, Int8, ()) == 0  # 0: it was in Julia's own code
    close(group)
end

"A barrier whose result counts."
function counting_barrier(group, made)
    pending = Tutti.Pending(nothing, handle -> Threads.atomic_add!(made, 1), false)
    Work(Tutti.start(Raw.tutti_barrier, pending, group, C_NULL))
end

@testset "several threads notice an end at once" begin
    Threads.nthreads() < 2 && return
    group, made = Group(HashStore(), 0, 1; backend = "loopback"), Threads.Atomic{Int}(0)
    for i in 1:500
        work = counting_barrier(group, made)
        i % 2 == 0 && then(failure -> nothing, work)  # and an event
        tasks = [Threads.@spawn(notice(work)) for notice in
                 (fetch, work -> blocking(() -> fetch(work)), work -> waitany([work]), isready,
                  work -> waitall([work]; timeout = 60))]
        foreach(wait, tasks)
        @test fetch(work) == i - 1 && made[] == i
    end
    close(group)
end

@testset "a work is closed while other threads begin to wait" begin
    Threads.nthreads() < 2 && return
    group, made = Group(HashStore(), 0, 1; backend = "loopback"), Threads.Atomic{Int}(0)
    for i in 1:500
        work = counting_barrier(group, made)
        tasks = [Threads.@spawn(wait_for(work)) for wait_for in
                 (fetch, work -> blocking(() -> fetch(work)), work -> (close(work); i - 1))]
        close(work)
        for task in tasks
            ended = try fetch_result(task) catch failure failure end
            @test ended == i - 1 || ended isa InvalidHandleError
        end
        while made[] < i
            yield()
        end
        @test made[] == i
    end
    close(group)
end

@testset "objects, stores and works on threads" begin
    results = on_threads(3) do group
        all = allgather_object(Dict("rank" => get_rank(group)); group = group)
        work = allreduce!([get_rank(group)], max; group = group, async = true)
        all, fetch(work)
    end
    @test all(==(([Dict("rank" => r) for r in 0:2], [2])), results)
end
