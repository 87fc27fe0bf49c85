# Functions that hear of every operation, and names of operations.

@testset "hooks hear of every operation" begin
    heard = Channel{Any}(Inf)
    hooks = Tutti.add_hooks(before = operation -> put!(heard, ("before", operation, nothing)),
                            after = operation -> put!(heard, ("after", operation, nothing)),
                            aborted = (operation, why) -> put!(heard, ("aborted", operation, why)))
    on_ranks(2) do group
        rank = get_rank(group)
        tagged("loss") do
            allreduce!(Float32[rank, 2], max; group = group)
        end
        wait(allreduce!(Int32[1, 2, 3], +; group = group, async = true))
        rank == 0 ? send([0x05], 1; tag = 9, group = group) : recv!([0x00], 0; tag = 9, group = group)
        failure = thrown() do
            tagged("halo") do
                allreduce!(zeros(2 + rank), +; group = group)
            end
        end
        @test failure isa MismatchError && occursin("\"halo\"", failure.message)
    end
    all = [take!(heard) for _ in 1:16]
    close(hooks)
    close(hooks)
    @test !isready(heard)
    for rank in 0:1
        own = filter(one -> one[2].rank == rank, all)
        named = filter(one -> one[2].tag_name == "loss", own)
        @test first.(named) == ["before", "after"]
        first_one = named[1][2]
        @test first_one.id == named[2][2].id > 0
        @test (first_one.name, first_one.sequence_number, first_one.world_size) == ("all_reduce", 1, 2)
        @test first_one.op == Tutti.MAX && first_one.peer == -1 && !isempty(first_one.group_name)
        @test eltype(first_one.inputs[1]) == Float32 && length(first_one.outputs[1]) == 2
        @test Tutti.device(first_one.inputs[1]) == Tutti.CPU
        message = only(one[2] for one in own if one[2].name in ("send", "recv") && one[1] == "after")
        @test (message.peer, message.tag) == (1 - rank, 9)
        failed = only(filter(one -> one[1] == "aborted", own))
        @test failed[3] isa MismatchError && occursin("\"halo\"", failed[3].message)
    end
end

@testset "wrong hooks and names are refused" begin
    @test_throws InvalidArgumentError Tutti.add_hooks()
    @test_throws ArgumentError tagged(() -> nothing, "a\0b")
    on_ranks(1) do group
        tagged("step") do
            coalescing(together -> allreduce!([1], +; group = together); group = group)
        end
        @test tagged(() -> blocking(() -> barrier(group = group)), "step") === nothing
    end
end
