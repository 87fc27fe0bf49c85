# Values of Julia as objects, and back.
using Dates: DateTime

roundtrip(value) = decode(encode(value))
same(value) = isequal(roundtrip(value), value) && typeof(roundtrip(value)) == typeof(value)

@testset "values keep their kind" begin
    for value in (nothing, true, false, 0, -1, typemin(Int64), typemax(Int64), typemax(UInt64), 1.5,
                  NaN, -0.0, Inf, "", "text ü 😀", "nul\0inside", UInt8[], UInt8[0, 1, 255],
                  Any[], Any[1, "a", nothing, Any[2.5]], Dict{Any, Any}(),
                  Dict{Any, Any}("a" => 1, 2 => Any[], -1 => Dict{Any, Any}("b" => nothing)),
                  Tutti.Timestamp(-1, 999_999_999), Int32[1, 2, 3], [1.5 2.5; 3.5 4.5],
                  reshape(collect(Int16, 1:24), 2, 3, 4), ComplexF64[1 + 2im], [true, false],
                  Float32[], zeros(0, 3), fill(7), AsArray(UInt8[1, 2]), UInt8[1 2; 3 4],
                  Tutti.BFloat16[1, 2])
        @test same(value)
    end
end

@testset "values that become others" begin
    @test roundtrip(1:3) == [1, 2, 3]
    @test roundtrip((1, "a", [2])) == Any[1, "a", [2]]
    @test roundtrip((a = 1, b = "x")) == Dict("a" => 1, "b" => "x")
    @test roundtrip(Dict(:key => 2.5f0)) == Dict("key" => 2.5)
    @test roundtrip(["a", "b"]) == Any["a", "b"]
    @test roundtrip(UInt8(200)) === 200 && roundtrip(big(2)^63) === UInt64(2)^63
    time = DateTime(1969, 12, 31, 23, 59, 59, 250)
    @test roundtrip(time) == Tutti.Timestamp(-1, 250_000_000)
    @test DateTime(roundtrip(time)) == time
    @test roundtrip(SubString("abc", 2)) == "bc"
    @test roundtrip([1 2; 3 4]') == [1 3; 2 4]
end

@testset "rows come one after the other" begin
    bytes = encode(Int32[1 2 3; 4 5 6])
    @test reinterpret(Int32, bytes[(end - 23):end]) == 1:6
end

@testset "a large value" begin
    value = Any[Dict{Any, Any}("i" => i, "x" => Any[i, string(i)]) for i in 1:1000]
    @test same(value)
end

@testset "handles read a part" begin
    object = Tutti.Object(Dict("list" => Any[10, "b", nothing], 5 => 2.5, "a\0b" => 1))
    @test object["list"] == Any[10, "b", nothing] && object[5] == 2.5 && object["a\0b"] == 1
    @test haskey(object, "list") && !haskey(object, "other") && !haskey(object, 6)
    @test_throws KeyError object["other"]
    @test_throws BoundsError Tutti.Object([1, "a"])[big(2)^70]
    @test length(object) == 3
    list = Tutti.Object(Any["a", "b"])
    @test list[2] == "b" && length(list) == 2
    @test haskey(list, 1) && haskey(list, 2)
    for index in (0, 3, -1, big(2)^70, typemin(Int))
        @test !haskey(list, index)
        @test_throws BoundsError list[index]
    end
    @test list == Tutti.Object(["a", "b"]) && list != Tutti.Object(["a"])
    @test hash(list) == hash(copy(list)) && copy(list) == list
    @test Tutti.value(Tutti.Object(Any[list, 1])) == Any[Any["a", "b"], 1]
    @test Tutti.value(Tutti.decode_object(encode(list))) == Any["a", "b"]
    close(list)
    @test_throws InvalidHandleError list[1]
    @test_throws InvalidHandleError Tutti.value(list)
end

@testset "JSON, compression and limits" begin
    @test to_json(Any[1, nothing, "x", NaN]) == "[1,null,\"x\",\"NaN\"]" ||
          to_json(Any[1, nothing, "x", NaN]) == "[1, null, \"x\", \"NaN\"]"
    @test occursin('\n', to_json(Dict("a" => Any[1, 2]); indent = 2))
    long = repeat("tutti ", 10_000)
    small = encode(long; options = ObjectOptions(compress = :if_it_pays, compression_level = 3))
    @test length(small) < 1000 && decode(small) == long
    @test_throws InvalidArgumentError decode(small;
                                             options = ObjectOptions(max_decompressed_bytes = 100))
    @test_throws InvalidArgumentError decode(UInt8[0xc1])
    @test_throws ArgumentError ObjectOptions(compress = :always)
    @test_throws ArgumentError ObjectOptions(max_width = 1)
end

@testset "what is no value of an object" begin
    for value in (missing, sin, big(2)^64, -big(2)^63 - 1, Dict(1.5 => 1), Any[1 2; 3 4], 1 // 2)
        @test_throws ArgumentError encode(value)
    end
    @test_throws InvalidArgumentError encode("\xff")
end

@testset "a key beyond the integers of objects is in no map" begin
    Tutti.closing(Tutti.Object(Dict(1 => 2))) do object
        @test object[1] == 2 && !haskey(object, big(2)^64 + 1) && !haskey(object, -big(2)^64 + 1)
    end
end

@testset "a value that holds itself is refused" begin
    list, map = Any[], Dict{String, Any}()
    push!(list, list)
    map["map"] = map
    for value in (list, map)
        @test occursin("does it hold itself?", sprint(showerror, thrown(() -> encode(value))))
    end
end
