# What the library says of its work.
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
