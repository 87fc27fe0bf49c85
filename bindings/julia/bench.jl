# bench.jl: what a call costs. Prints "julia,get_rank_ns,8B_us,1MiB_us" from rank 0: nanoseconds of
# a raw call, and microseconds of an all_reduce of 8 bytes and of 1 MiB of Float64. All ranks are
# processes with nothing else to do, so the calls are made directly (`blocking`); with "tasks" as
# argument they let other tasks run, as they do without it.
#     tuttirun --nproc-per-node 2 julia --project=Tutti bench.jl
using Tutti

function get_rank_ns(count)
    world, sum = WORLD.handle, 0
    started = time_ns()
    for _ in 1:count
        sum += Tutti.Raw.tutti_get_rank(world)
    end
    elapsed = time_ns() - started
    sum == count * get_rank() || error("a rank that changes")
    elapsed / count
end

function allreduce_us(elements, count)
    x = zeros(elements)
    barrier()
    started = time_ns()
    for _ in 1:count
        allreduce!(x, +)
    end
    (time_ns() - started) / count / 1000
end

function measure()
    get_rank_ns(1000), allreduce_us(1, 100), allreduce_us(131_072, 10)  # compiled before
    get_rank_ns(10_000_000), allreduce_us(1, 2_000), allreduce_us(131_072, 200)
end

init_process_group() do
    numbers = "tasks" in ARGS ? measure() : blocking(measure)
    get_rank() == 0 && println(join(("julia", round.(numbers; digits = 2)...), ","))
end
