# The log of the library.
using Sockets: connect

@testset "a function hears the log" begin
    heard = Channel{Tuple{Symbol, String}}(Inf)
    Tutti.set_log_callback((level, message) -> put!(heard, (level, message)), :warning)
    TCPStore("localhost", 0; is_master = true, wait_for_workers = false) do store
        stranger = connect("localhost", Tutti.port(store))
        write(stranger, fill(0xff, 100))
        level, message = take!(heard)
        @test level === :warning && !isempty(message) && !occursin('\n', message)
        close(stranger)
    end
    Tutti.set_log_callback(nothing)
    @test_throws ArgumentError Tutti.set_log_callback(println, :loud)
end

@testset "a function that throws hears the next line all the same" begin
    heard = Channel{Int}(Inf)
    _, messages = logged() do
        Tutti.set_log_callback(:trace) do level, message
            put!(heard, 1)
            error("mine")
        end
        listener = Tutti.look_up(Tutti.log_listener[])
        foreach(i -> put!(listener.lines, (:info, "line $i")), 1:2)
        take!(heard) + take!(heard)
    end
    Tutti.set_log_callback(nothing)
    @test "tutti: a function of the program failed" in messages
end
