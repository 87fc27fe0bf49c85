# Stores of every kind.
using Sockets: Sockets, TCPServer, bind, getsockname

"Calls f with a new store of each kind."
function each_store(f)
    f(HashStore())
    mktempdir() do folder
        f(FileStore(joinpath(folder, "store"), 1))
        f(LibraryStore("folder", joinpath(folder, "keys")))
    end
    f(TCPStore("localhost", 0; is_master = true, wait_for_workers = false))
    f(PrefixStore("prefix", HashStore()))
end

@testset "keys, values, counters and queues" begin
    each_store() do store
        store["key"] = "value"
        @test store["key"] == b"value"
        @test get(store, "key", String) == "value"
        store["bytes"] = UInt8[0, 1, 255]
        @test store["bytes"] == UInt8[0, 1, 255]
        @test add!(store, "counter", 5) == 5
        @test add!(store, "counter") == 6
        append!(store, "key", " and more")
        @test get(store, "key", String) == "value and more"
        @test haskey(store, "key") && haskey(store, ["key", "counter"])
        @test !haskey(store, ["key", "missing"])
        @test compare_set!(store, "once", "", "first") == b"first"
        @test compare_set!(store, "once", "other", "second") == b"first"
        @test delete_key!(store, "once") && !delete_key!(store, "once")
        multi_set!(store, ["a" => "1", "b" => UInt8[2], "c" => ""])
        @test multi_get(store, ["c", "b", "a"]) == [UInt8[], UInt8[2], b"1"]
        @test sort(list_keys(store)) == ["a", "b", "bytes", "c", "counter", "key"]
        @test num_keys(store) == 6
        queue_push!(store, "queue", "one")
        queue_push!(store, "queue", "two")
        @test queue_length(store, "queue") == 2
        @test queue_pop!(store, "queue") == b"one"
        @test queue_pop!(store, "queue"; block = false) == b"two"
        @test_throws QueueEmptyError queue_pop!(store, "queue"; block = false)
        wait(store, "a")
        wait(store, ("a", "b"); timeout = 10)
        barrier(store, "barrier", 1)
        @test Tutti.has_extended_api(store)
        @test_throws TimeoutError get(store, "never", String; timeout = 0.02)
        @test_throws TimeoutError queue_pop!(store, "never"; timeout = 0.02)
        @test_throws TimeoutError multi_get(store, ["never"]; timeout = 0.02)
        flush(store)
        Tutti.set_timeout!(store, 0.05)
        @test Tutti.timeout(store) == 0.05
        error = thrown(() -> store["never"])
        @test error isa TimeoutError && occursin("never", error.message)
        close(store)
    end
end

@testset "what the kinds know of themselves" begin
    TCPStore("localhost", 0; is_master = true, wait_for_workers = false) do server
        @test Tutti.host(server) == "localhost"
        client = TCPStore("localhost", Tutti.port(server); timeout = 10)
        client["from"] = "client"
        @test get(server, "from", String) == "client"
        other = copy(client)
        @test get(other, "from", String) == "client"
        prefixed = PrefixStore("p", client)
        prefixed["x"] = "y"
        @test get(server, "p/x", String) == "y"
        @test get(Tutti.underlying_store(prefixed), "p/x", String) == "y"
        foreach(close, (prefixed, other, client))
    end
    mktempdir() do folder
        FileStore(joinpath(folder, "store")) do store
            @test Tutti.path(store) == joinpath(folder, "store")
        end
    end
end

@testset "a server at a socket that is bound already, with limits" begin
    # Bound, but not listening: Julia would take the connections itself.
    socket = TCPServer()
    bind(socket, Sockets.localhost, 0)
    port = getsockname(socket)[2]
    fd = Ref{Cint}()
    ccall(:uv_fileno, Cint, (Ptr{Cvoid}, Ptr{Cint}), socket.handle, fd)
    store = TCPStore("localhost", 0; is_master = true, wait_for_workers = false,
                     master_listen_fd = fd[], max_value_bytes = 10)
    @test Tutti.port(store) == port
    store["short"] = "1234567890"
    @test_throws TuttiError (store["long"] = "12345678901"; store["short"])
    @test_throws ArgumentError TCPStore("localhost", 0; is_master = true, max_nothing = 1)
    close(store)
    close(socket)
end

@testset "a store that was closed is an error" begin
    store = HashStore()
    close(store)
    close(store)
    @test !isopen(store)
    @test_throws InvalidHandleError store["key"]
    @test_throws InvalidHandleError store["key"] = "value"
    @test_throws InvalidHandleError copy(store)
    @test_throws ArgumentError HashStore()["a\0b"]
end

@testset "a library that is not there, and a store that cannot be opened" begin
    @test_throws UnsupportedError LibraryStore("pigeon"; timeout = 1)
    @test_throws StoreError LibraryStore("folder", "/nowhere/at/all")
    @test_throws ArgumentError LibraryStore("folder", "a\0b")
end

"How many calls run on threads of their own."
calls_on_threads() = lock(Tutti.expected_lock) do
    count(waiting -> waiting isa Tutti.ThreadCall, values(Tutti.expected))
end

@testset "a wait at a store can be interrupted" begin
    HashStore() do store
        for end_it in (task -> Tutti.interrupt(store),
                       task -> schedule(task, InterruptException(); error = true))
            task = @async store["never"]
            before = calls_on_threads()
            yield()
            while calls_on_threads() == before
                yield()  # until its call is made
            end
            while !istaskdone(task)
                end_it(task)
                yield()
                end_it = _ -> Tutti.interrupt(store)
            end
            @test thrown(() -> fetch_result(task)) isa Union{AbortedError, InterruptException}
        end
        store["still"] = "there"
        @test get(store, "still", String) == "there"
    end
end

@testset "an interrupt ends the wait of its task alone, and its call" begin
    each_store() do store
        others = [@async(get(store, "key", String)), @async(queue_pop!(store, "queue")),
                  @async(wait(store, ["key"]; timeout = 60)), @async(barrier(store, "both", 2))]
        while calls_on_threads() < length(others)
            yield()
        end
        for _ in 1:10, wait_for in (() -> store["never"], () -> queue_pop!(store, "none"),
                                    () -> multi_get(store, ["never"]; timeout = Inf),
                                    () -> wait(store, "never"), () -> barrier(store, "none", 100))
            @test interrupted(wait_for) isa InterruptException
        end
        while calls_on_threads() > length(others)
            yield()  # until the library has returned from all the others
        end
        @test !any(istaskdone, others)
        store["key"] = "value"
        queue_push!(store, "queue", "last")
        barrier(store, "both", 2)
        @test map(fetch_result, others) == ["value", b"last", nothing, nothing]
        close(store)
    end
end

@testset "a wait that begins again has the rest of its time" begin
    HashStore() do store
        task = @async get(store, "never", String; timeout = 0.05)
        while !istaskdone(task)
            Raw.tutti_store_interrupt(store, C_NULL)
            yield()
        end
        @test thrown(() -> fetch_result(task)) isa TimeoutError
    end
end

@testset "Tutti.interrupt ends all waits at a handle, and barriers" begin
    HashStore() do under
        PrefixStore("p", under) do prefix
            same = Tutti.underlying_store(prefix)
            for (store, end_it) in ((under, under), (under, same), (prefix, prefix))
                tasks = [@async(store["never"]), @async(barrier(store, "none", 100))]
                while !all(istaskdone, tasks)
                    Tutti.interrupt(end_it)
                    yield()
                end
                @test all(task -> thrown(() -> fetch_result(task)) isa AbortedError, tasks)
            end
        end
    end
end
