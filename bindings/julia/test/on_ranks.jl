# on_ranks.jl: groups whose ranks are tasks of this process.

using Logging: global_logger

"Runs f(group) in a task for each of `count` ranks of a new group; what each returned, in order."
function on_ranks(f, count; backend = "loopback", options...)
    testset = get(task_local_storage(), :__BASETESTNEXT__, nothing)
    HashStore() do store
        tasks = map(0:(count - 1)) do rank
            @async begin
                # The tests of a rank count where the ranks were called.
                testset === nothing || task_local_storage(:__BASETESTNEXT__, testset)
                group = Group(store, rank, count; backend = backend, timeout = 60, options...)
                try
                    f(group)
                finally
                    destroy_process_group(group)
                    close(group)
                end
            end
        end
        map(fetch_result, tasks)
    end
end

"What a task returned, or the exception that it ended with."
function fetch_result(task)
    try
        fetch(task)
    catch exception
        exception isa TaskFailedException ? throw(exception.task.exception) : rethrow()
    end
end

"What f returns, and what was logged meanwhile, by any task."
function logged(f)
    logger = Test.TestLogger()
    before = global_logger(logger)
    try
        f(), [record.message for record in logger.logs]
    finally
        global_logger(before)
    end
end

"The exception that f throws; nothing if it throws none."
function thrown(f)
    try
        f()
        nothing
    catch exception
        exception
    end
end

"Interrupts a task, as the user does, once it waits; what it ended with."
function interrupted(f)
    task = @async f()
    yield()
    while !istaskdone(task) && task.queue === nothing
        yield()
    end
    schedule(task, InterruptException(); error = true)
    thrown(() -> fetch_result(task))
end
