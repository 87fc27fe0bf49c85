# Failures: their types and what they say; facts about the library.
using Dates: Minute, Second

@testset "errors say what, and show it" begin
    on_ranks(2) do group
        error = thrown(() -> bcast!([1]; src = 9, group = group))
        @test error isa InvalidArgumentError && error isa TuttiError
        @test occursin(": src is 9", error.message) && error.rank == -1 && error.errno == 0
        @test startswith(sprint(showerror, error), "InvalidArgumentError: ")
        @test startswith(repr(error), "InvalidArgumentError(-1, 0, \"tutti_broadcast: ")
        @test Tutti.status(error) == Raw.TUTTI_ERR_INVALID_ARGUMENT
    end
end

@testset "messages have the names of Julia" begin
    on_ranks(2) do group
        message(f) = thrown(f).message
        lists = message(() -> allgather!([[1]], [1]; group = group))
        @test occursin("length(output) is 1", lists)
        splits = message(() -> alltoall!([0, 0], [1, 2]; input_splits = [2], group = group))
        @test occursin("input_splits has 1", splits)
        addends = message(() -> allreduce_addends!([1.0], [[1.0, 2.0]]; group = group))
        @test !occursin("input_count", addends)
    end
    said = Tutti.in_julia("tutti_f: outputs[3].count is 0, \"group_src\" is NULL, timeout_ms is 1")
    @test said == "tutti_f: output[4].count is 0, \"group_src\" is nothing, timeout is 1"
    @test Tutti.in_julia("options.stream is given") == "stream is given"
    @test Tutti.in_julia("tutti_all_reduce_addends: inputs[0].dtype") ==
          "tutti_all_reduce_addends: inputs[1].dtype"
end

@testset "what the library cannot be asked is named" begin
    on_ranks(1) do group
        said(f) = sprint(showerror, thrown(f))
        @test occursin("src is $(2^40)", said(() -> bcast!([1]; src = 2^40, group = group)))
        @test occursin("tag is $(2^31)", said(() -> send([1], 0; tag = 2^31, group = group)))
        numbers = (
            "ranks[2] is" => n -> new_group([0, n]; group = group),
            "parts[1][1] is" => n -> split_group([[n]]; group = group),
            "global_rank is" => n -> get_group_rank(group, n),
            "group_rank is" => n -> get_global_rank(group, n),
            "rank is" => n -> Group(HashStore(), n, 1),
            "world_size is" => n -> Group(HashStore(), 0, n),
            "world_size is" => n -> Group(identity, 0, n),
            "rank is" => n -> init_process_group(; rank = n, world_size = 1),
            "shape[1] is" => n -> init_device_mesh((n, 1); group = group),
            "dim is" => n -> size(init_device_mesh((1,); group = group), n),
            "ranks[1] is" => n -> Mesh([group], [n]),
            "port is" => n -> TCPStore("localhost", n),
            "world_size is" => n -> FileStore("/dev/null/no", n),
            "world_size is" => n -> barrier(HashStore(), "key", n),
            "amount is" => n -> add!(HashStore(), "key", n),
            "input_splits[1] is" => n -> alltoall!([0], [0]; input_splits = [n], group = group),
            "max_bytes is" => n -> allgather_bytes(""; max_bytes = n, group = group),
            "max_bytes is" => n -> ObjectOptions(max_bytes = n),
            "count is" => n -> recv_object_list(n, 0; group = group),
            "indent is" => n -> to_json(1; indent = n))
        for (name, call) in numbers
            @test thrown(() -> call(big(2)^70)) isa ArgumentError
            @test startswith(thrown(() -> call(big(2)^70)).msg, name)
        end
        @test occursin("limit is -1", said(() -> to_json(1; limit = -1)))
        @test occursin("ranks[1] is 0.5, not", said(() -> new_group([0.5]; group = group)))
        @test_throws ArgumentError recv_object_list(-1, 0; group = group)
        HashStore() do store
            @test occursin("value is a Int64", said(() -> store["key"] = 5))
            @test occursin("value of \"b\"", said(() -> multi_set!(store, ["a" => "", "b" => 5])))
        end
        @test_throws MethodError allreduce(1, +; group = group, async = true)
    end
end

@testset "ranks that call different things are told so" begin
    failures = on_ranks(2) do group
        x = zeros(get_rank(group) + 1)
        thrown(() -> allreduce!(x, +; group = group))
    end
    @test all(failure -> failure isa MismatchError, failures)
end

@testset "timeouts" begin
    @test Tutti.milliseconds(nothing) == 0 && Tutti.milliseconds(Inf) == -1
    @test Tutti.milliseconds(1.5) == 1500 && Tutti.milliseconds(Second(2)) == 2000
    @test Tutti.milliseconds(Minute(1)) == 60_000 && Tutti.milliseconds(1e-9) == 1
    for wrong in (0, -1, NaN, -Inf)
        @test_throws ArgumentError Tutti.milliseconds(wrong)
    end
    ended = Base.Event()
    on_ranks(2) do group
        get_rank(group) == 1 && return wait(ended)
        @test_throws TimeoutError barrier(; group = group, timeout = 0.05)
        notify(ended)
    end
end

@testset "facts" begin
    @test Tutti.version() >= v"0.1.0"
    @test Tutti.version_string() == string(Tutti.version())
    @test Tutti.is_backend_available("gloo") && !Tutti.is_backend_available("none")
    @test Tutti.check_backend_available("gloo") === nothing
    @test_throws UnsupportedError Tutti.check_backend_available("none")
    @test Tutti.get_default_backend_for_device("cpu") == "gloo"
    @test Tutti.get_default_backend_for_device("toaster") === nothing
    @test Tutti.is_torchelastic_launched() == haskey(ENV, "TORCHELASTIC_RUN_ID")
    before = Tutti.get_debug_level()
    Tutti.set_debug_level(:detail)
    @test Tutti.get_debug_level() === :detail
    withenv(() -> Tutti.set_debug_level_from_env(), "TORCH_DISTRIBUTED_DEBUG" => "info")
    @test Tutti.get_debug_level() === :info
    @test_throws ArgumentError Tutti.set_debug_level(:much)
    settings = withenv(() -> Tutti.settings(), "TUTTI_PROGRESS" => "70", "TUTTI_LOG_LEVLE" => "info")
    @test settings["TUTTI_PROGRESS"]["value"] == "70"
    @test settings["TUTTI_PROGRESS"]["source"] == "environment"
    @test settings["TUTTI_LOG_LEVLE"]["nearest"] == "TUTTI_LOG_LEVEL"
    Tutti.set_debug_level(before)
end
