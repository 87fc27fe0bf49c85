# Every rank gives one number, every rank gets the sum. Start it with
#     tuttirun --nproc-per-node 4 julia all_reduce.jl
using Tutti

init_process_group() do
    sum = allreduce(get_rank() + 1.0, +)
    println("rank $(get_rank()) of $(get_world_size()): sum = $sum")
end
