# Tasks wait without holding up each other.

@testset "other tasks run while one waits" begin
    store = HashStore()
    waiting = @async get(store, "key", String)
    yield()
    steps = 0
    for _ in 1:10
        steps += 1
        yield()
    end
    @test !istaskdone(waiting)
    store["key"] = "value"
    @test fetch(waiting) == "value" && steps == 10
end

@testset "100 tasks wait at once" begin
    store = HashStore()
    tasks = [@async get(store, "key $i", String) for i in 1:100]
    for i in 100:-1:1
        store["key $i"] = "value $i"
    end
    @test map(fetch, tasks) == ["value $i" for i in 1:100]
end

@testset "tasks wait for one work together" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            x = [0]
            work = recv!(x, 1; group = group, async = true)
            tasks = [@async (wait(work); x[1]) for _ in 1:20]
            barrier(; group = group)
            @test all(==(5), map(fetch, tasks))
        else
            barrier(; group = group)
            send([5], 0; group = group)
        end
    end
end

@testset "direct calls in blocking" begin
    HashStore() do store
        blocking() do
            store["key"] = "value"
            @test get(store, "key", String) == "value"
            group = Group(store, 0, 1; backend = "loopback")
            @test allreduce([1, 2], +; group = group) == [1, 2]
            work = allreduce!([3], +; group = group, async = true)
            @test fetch(work) == [3]
            @test allgather_object("x"; group = group) == ["x"]
            close(group)
        end
        @test !Tutti.is_blocking()
    end
end

@testset "works of values that are dropped" begin
    on_ranks(2) do group
        for i in 1:300
            work = allgather_object(("x"^i, [i]); group = group, async = true)
            i % 100 == 0 && GC.gc()
            i % 50 == 0 && @test fetch(work) == fill(Any["x"^i, [i]], 2)
        end
        barrier(; group = group)
    end
end

@testset "a storm of asynchronous operations, with the collector running" begin
    count = parse(Int, get(ENV, "TUTTI_STORM", "2000"))
    sums = on_ranks(2) do group
        total = 0
        works = Work[]
        for i in 1:count
            work = allreduce!(fill(i + get_rank(group), 1 + i % 50), +; group = group, async = true)
            i % 3 == 0 && push!(works, work)  # the others are dropped
            i % 500 == 0 && GC.gc(false)
            if i % 1000 == 0
                total += sum(fetch(work)[1] for work in works)
                empty!(works)
            end
        end
        barrier(; group = group)
        total
    end
    @test sums == fill(sum(2i + 1 for i in 3:3:count), 2)
end
