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

@testset "objects, stores and works on threads" begin
    results = on_threads(3) do group
        all = allgather_object(Dict("rank" => get_rank(group)); group = group)
        work = allreduce!([get_rank(group)], max; group = group, async = true)
        all, fetch(work)
    end
    @test all(==(([Dict("rank" => r) for r in 0:2], [2])), results)
end
