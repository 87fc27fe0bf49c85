# All tests of the package: `julia --project=Tutti test/runtests.jl [FILE...]`. Ranks are tasks of
# this process, in groups by the loopback backend; tests of several processes are in ctest.
using Test
using Tutti
using Tutti: Raw

include("on_ranks.jl")

files = isempty(ARGS) ?
    ["raw", "store", "group", "failure", "collectives", "pieces", "buffer", "reduce_op", "work",
     "tasks", "point_to_point", "object", "object_collectives", "mesh", "memory", "reducer", "device",
     "errors", "log", "hooks"] : ARGS

@testset "Tutti" begin
    for file in files
        @testset "$file" begin
            include(file * "_test.jl")
        end
    end
end
