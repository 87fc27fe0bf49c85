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

@testset "objects, stores and works on threads" begin
    results = on_threads(3) do group
        all = allgather_object(Dict("rank" => get_rank(group)); group = group)
        work = allreduce!([get_rank(group)], max; group = group, async = true)
        all, fetch(work)
    end
    @test all(==(([Dict("rank" => r) for r in 0:2], [2])), results)
end
