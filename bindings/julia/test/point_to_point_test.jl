# Messages between two ranks.

@testset "send and recv!" begin
    on_ranks(2) do group
        r = get_rank(group)
        if r == 0
            send([1.5, 2.5], 1; group = group)
            send([3], 1; tag = 7, group = group)
        else
            x, y = zeros(2), [0]
            @test recv!(x, 0; group = group) == 0 && x == [1.5, 2.5]
            @test recv!(y; tag = 7, group = group) == 0 && y == [3]
        end
        x = [0]
        work = recv!(x, 1 - r; group = group, async = true)
        wait(send([r + 10], 1 - r; group = group, async = true))
        @test fetch(work) === x && x == [11 - r] && source_rank(work) == 1 - r
        gaps = view(zeros(4), 1:2:3)
        r == 0 ? send([8.0, 9.0], 1; group = group) : recv!(gaps, 0; group = group)
        @test r == 0 || gaps == [8.0, 9.0]
    end
end

@testset "a message of another length is a mismatch" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            send([1, 2, 3], 1; group = group)
        else
            @test_throws MismatchError recv!([0], 0; group = group)
            @test_throws TimeoutError recv!([0], 0; group = group, timeout = 0.02)
            @test_throws InvalidArgumentError recv!([0], 5; group = group)
            @test_throws InvalidArgumentError send([0], 0; tag = -1, group = group)
        end
        barrier(; group = group)
    end
end

@testset "batches" begin
    on_ranks(3) do group
        r, n = get_rank(group), 3
        right, left = mod(r + 1, n), mod(r - 1, n)
        x, y = [r], [-1]
        works = batch_isend_irecv([P2POp(send, x, right), P2POp(recv!, y, left)]; group = group)
        waitall(works)
        @test y == [left] && fetch(works[2]) === y && source_rank(works[2]) == left
        @test batch_isend_irecv(P2POp[]; group = group) == []
        @test_throws InvalidArgumentError batch_isend_irecv([P2POp(send, x, 9)]; group = group)
    end
end
