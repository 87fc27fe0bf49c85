# Operations that run while the caller goes on.

@noinline function drop_a_send(group)
    x = collect(1:1000)
    send(x, 1; group = group, async = true)
    x
end

@testset "wait, fetch and what a work knows" begin
    on_ranks(2) do group
        r = get_rank(group)
        x = [r, 1]
        work = allreduce!(x, +; group = group, async = true)
        @test work isa Work && op_type(work) == "all_reduce"
        @test fetch(work) === x && x == [1, 2]
        wait(work)
        @test isready(work) && iscompleted(work) && issuccess(work)
        @test Tutti.exception(work) === nothing
        @test sequence_number(work) == 1 && duration(work) >= 0
        @test source_rank(work) == -1
        works = [allreduce!([i], max; group = group, async = true) for i in 1:5]
        waitall(works)
        @test [fetch(work)[1] for work in works] == 1:5
        waitall(works; timeout = 10)
        @test waitany(works) == 1
    end
end

@testset "lists of works are gone through once, and checked" begin
    on_ranks(2) do group
        x = [1]
        waitall(allreduce!(x, +; group = group, async = true) for _ in 1:2)
        @test x == [4]
        @test waitany(allreduce!(x, +; group = group, async = true) for _ in 1:1) == 1
        @test x == [8]
        for f in (waitall, waitany)
            @test thrown(() -> f([1, 2])) == ArgumentError("works[1] is a Int64, not a Work")
        end
        some = [nothing, allreduce!(x, +; group = group, async = true), nothing]
        @test waitany(some) == 2
        waitall(some)
        waitall([nothing])
        for none in ([], [nothing, nothing])
            @test_throws InvalidArgumentError waitany(none)
        end
        waitall([])
    end
end

borrows(lent::Tutti.Lent, x) = lent.original === x
borrows(roots::Tuple, x) = any(root -> borrows(root, x), roots)
borrows(pending::Tutti.Pending, x) = borrows(pending.roots, x)
borrows(other, x) = false

"Whether an operation holds an array."
is_held(x) =
    lock(() -> any(waiting -> borrows(waiting, x), values(Tutti.expected)), Tutti.expected_lock)

function await_release(x)
    while is_held(x)
        yield()
    end
end

"Returns when all tasks wait."
function await_wait(tasks)
    waits(task) = istaskdone(task) || istaskstarted(task) && task.queue !== nothing
    while !all(waits, tasks)
        yield()
    end
end

@testset "what is waited for in C, or asked for, needs no event" begin
    on_ranks(1) do group
        until(f, work) =
            while !f(work)
                yield()
            end
        for notice in (work -> blocking(() -> wait(work)),
                       work -> blocking(() -> wait(work; timeout = 60)),
                       work -> blocking(() -> waitany([nothing, work])),
                       work -> blocking(() -> waitall([work])),
                       work -> blocking(() -> waitall([work, nothing]; timeout = 60)),
                       work -> until(isready, work), work -> until(issuccess, work))
            x = [1]
            work = allreduce!(x, +; group = group, async = true)
            @test is_held(x) && !work.pending.announced
            notice(work)
            @test !is_held(x) && !work.pending.announced && work.pending.roots === nothing
            @test fetch(work) === x
        end
    end
end

@testset "a task that waits for long has one event, beside what waits in C" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            x, heard = [0], Channel{Any}(2)
            work = recv!(x, 1; group = group, async = true)
            tasks = [@async(fetch(work)) for _ in 1:3]
            await_wait(tasks)
            @test work.pending.announced
            then(failure -> put!(heard, failure), work)
            barrier(; group = group)
            wait(work; timeout = 60)
            @test all(task -> fetch(task) === x, tasks)
            @test take!(heard) === nothing && !is_held(x)
            # The events of later operations come after those of this one.
            later = barrier(; group = group, async = true)
            then(failure -> put!(heard, :later), later)
            @test take!(heard) === :later && !isready(heard)
        else
            barrier(; group = group)
            send([7], 0; group = group)
            barrier(; group = group)
        end
    end
end

@testset "an interrupted wait leaves the operation as it is" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            work = recv!([0], 1; group = group, async = true)
            for wait_for in (wait, work -> waitall([work]), fetch)
                @test interrupted(() -> wait_for(work)) isa InterruptException
            end
            @test interrupted(() -> send([6], 1; tag = 2, group = group)) isa InterruptException
            # A receive that waits itself is cancelled, and takes no message any more.
            x, y = [0], [0]
            @test interrupted(() -> recv!(x, 1; tag = 1, group = group)) isa InterruptException
            await_release(x)
            barrier(; group = group)
            @test fetch(work) == [7]
            recv!(y, 1; tag = 1, group = group)
            barrier(; group = group)
            @test x == [0] && y == [8]
        else
            barrier(; group = group)
            send([7], 0; group = group)
            send([8], 0; tag = 1, group = group)
            @test fetch(recv!([0], 0; tag = 2, group = group, async = true)) == [6]
            barrier(; group = group)
        end
    end
end

@testset "a receive is cancelled, unless it is done" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            work, late = (recv!([0], 1; tag = tag, group = group, async = true) for tag in (1, 2))
            @test cancel(work)
            @test_throws AbortedError wait(work)
            barrier(; group = group)
            @test fetch(late) == [7] && !cancel(late)
        else
            barrier(; group = group)
            send([7], 0; tag = 2, group = group)
        end
        barrier(; group = group)
    end
end

@testset "an interrupt that hits the task of events is not the end of all waits" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            work = recv!([0], 1; group = group, async = true)
            hit = Tutti.listener[]
            schedule(hit, InterruptException(); error = true)
            @test thrown(() -> fetch_result(hit)) isa InterruptException
            barrier(; group = group)
            @test fetch(work) == [7]
        else
            barrier(; group = group)
            send([7], 0; group = group)
        end
    end
    @test !istaskdone(Tutti.listener[])
end

@testset "a wait may time out and be repeated" begin
    on_ranks(2) do group
        if get_rank(group) == 1
            x = [0]
            work = recv!(x, 0; group = group, async = true)
            @test_throws PendingError wait(work; timeout = 0.01)
            @test_throws PendingError waitany([work]; timeout = 0.01)
            @test_throws PendingError waitall([work]; timeout = 0.01)
            @test !isready(work) && duration(work) === nothing
            barrier(; group = group)
            @test fetch(work) == [7] && source_rank(work) == 0
        else
            barrier(; group = group)
            send([7], 1; group = group)
        end
    end
end

@testset "then" begin
    on_ranks(1) do group
        heard = Channel{Any}(3)
        work = barrier(; group = group, async = true)
        then(failure -> put!(heard, (1, failure)), work)
        wait(work)
        then(failure -> put!(heard, (2, failure)), work)
        @test sort([take!(heard), take!(heard)]; by = first) == [(1, nothing), (2, nothing)]
        late = recv!([0]; group = group, async = true, timeout = 0.01)
        then(failure -> put!(heard, failure), late)
        @test take!(heard) isa TimeoutError
        @test_throws TimeoutError wait(late)
        @test Tutti.exception(late) isa TimeoutError && !issuccess(late) && isready(late)
        @test_throws TimeoutError waitall([work, late])
    end
end

@testset "what `then` calls may throw" begin
    on_ranks(1) do group
        work = recv!([0]; group = group, async = true, timeout = 0.01)
        _, messages = logged() do
            heard = Channel{Bool}(1)
            then(failure -> error("mine"), work)
            then(failure -> put!(heard, true), work)
            take!(heard)
        end
        @test messages == ["tutti: a function of the program failed"]
    end
end

@testset "closing a work takes nothing from those that wait for it" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            x = [0]
            works = (recv!(x, 1; group = group, async = true),
                     recv_object_list(1, 1; tag = 1, group = group, async = true))
            tasks = [@async(fetch(work)) for work in works for _ in 1:2]
            await_wait(tasks)
            foreach(close, works)
            @test is_held(x)
            barrier(; group = group)
            @test map(fetch_result, tasks) == [[5], [5], ["five"], ["five"]]
            @test !is_held(x)
        else
            barrier(; group = group)
            send([5], 0; group = group)
            send_object_list(["five"], 0; tag = 1, group = group)
        end
    end
end

@noinline hear_and_drop(heard, group) =
    then(failure -> put!(heard, failure),
         recv_object_list(1, 1; group = group, async = true))

@testset "what `then` calls hears of an operation whose work was dropped" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            heard = Channel{Any}(1)
            hear_and_drop(heard, group)
            GC.gc()
            barrier(; group = group)
            @test take!(heard) === nothing
        else
            barrier(; group = group)
            send_object_list(["five"], 0; group = group)
        end
    end
end

@testset "a work that is closed after its end releases what it borrowed at once" begin
    on_ranks(1) do group
        x = [1]
        work = allreduce!(x, +; group = group, async = true)
        while !Tutti.ended(work.handle)
            yield()
        end
        @test is_held(x)
        close(work)
        @test !is_held(x) && !work.pending.announced
    end
end

no_memory(work, id, error) = Raw.TUTTI_ERR_OUT_OF_MEMORY

"Runs f while no event can be asked for."
function without_events(f)
    entry = Tutti.helper_expect
    before, entry.address = entry.address, @cfunction(
        no_memory, Int32, (Ptr{Raw.tutti_work}, UInt64, Ptr{Raw.tutti_error}))
    try
        f()
    finally
        entry.address = before
    end
end

@testset "without memory for an event, tasks ask, and what was closed is held for good" begin
    without_events() do
        on_ranks(2) do group
            if get_rank(group) == 0
                x, y = [0], [0]
                work = recv!(x, 1; group = group, async = true)
                waiting = @async fetch(work)
                @test_throws ResourceError then(identity, work)
                closed = recv!(y, 1; tag = 1, group = group, async = true)
                close(closed)
                barrier(; group = group)
                @test fetch(waiting) === x && x == [7] && !is_held(x)
                barrier(; group = group)
                while !Tutti.ended(closed.pending.handle)
                    yield()
                end
                @test is_held(y) && y == [8]
                @test Tutti.settle_ended(closed.pending) && !is_held(y)
            else
                barrier(; group = group)
                send([7], 0; group = group)
                send([8], 0; tag = 1, group = group)
                barrier(; group = group)
            end
        end
    end
end

@testset "a work that was closed is an error, and its operation goes on" begin
    on_ranks(2) do group
        x = [get_rank(group)]
        work = allreduce!(x, +; group = group, async = true)
        close(work)
        close(work)
        @test_throws InvalidHandleError wait(work)
        @test_throws InvalidHandleError isready(work)
        @test_throws InvalidHandleError then(identity, work)
        @test thrown(() -> isready(work)).message == "the work was closed"
        @test op_type(work) === nothing && string(work) == "Work(closed)"
        barrier(; group = group)
        @test x == [1]
    end
end

@testset "arrays are held until the operation is done, also if the work is dropped" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            sent = WeakRef(drop_a_send(group))
            GC.gc()
            @test sent.value !== nothing
            barrier(; group = group)
            barrier(; group = group)
        else
            barrier(; group = group)
            x = zeros(Int, 1000)
            recv!(x, 0; group = group)
            @test x == 1:1000
            barrier(; group = group)
        end
    end
end

@noinline drop_a_receive(x, group) = WeakRef(recv!(x, 1; group = group, async = true))

@testset "a work that is dropped while its operation runs" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            x = [0]
            work = drop_a_receive(x, group)
            GC.gc()  # has it closed
            GC.gc()
            @test work.value === nothing && is_held(x)
            barrier(; group = group)
            await_release(x)
            @test x == [7]
        else
            barrier(; group = group)
            send([7], 0; group = group)
        end
    end
end

@noinline function receive_and_drop(group)
    part = new_group(; group = group)
    recv!([0], 1; group = part, async = true), WeakRef(part)
end

@testset "a group is held until its operations are done, also if it is dropped" begin
    on_ranks(2) do group
        if get_rank(group) == 0
            work, part = receive_and_drop(group)
            GC.gc()
            @test part.value !== nothing
            barrier(; group = group)
            @test fetch(work) == [7]
        else
            part = new_group(; group = group)
            barrier(; group = group)
            send([7], 0; group = part)
        end
    end
end

@testset "aborted by the end of the group" begin
    on_ranks(1) do group
        other = new_group(; group = group)
        work = recv!([0]; group = other, async = true)
        destroy_process_group(other)
        @test_throws AbortedError wait(work)
        @test_throws InvalidHandleError barrier(; group = other)
    end
end
