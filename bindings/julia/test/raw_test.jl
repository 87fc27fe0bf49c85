# The raw layer against the headers, function by function, and against the library.

"The functions that the headers declare: how many parameters each has."
function declared_functions()
    found = Dict{String, Int}()
    folder = joinpath(Tutti.built_headers, "tutti")
    # ext.h is for authors of backends and stores in C: generator/headers.py.
    for file in filter(name -> endswith(name, ".h") && name != "ext.h", readdir(folder))
        text = replace(read(joinpath(folder, file), String), r"/\*.*?\*/"s => "")
        for match in eachmatch(r"TUTTI_API\s[^;]*?\b(tutti_\w+)\s*\(([^;]*)\)\s*;"s, text)
            parameters = strip(match.captures[2])
            found[match.captures[1]] =
                parameters == "void" ? 0 : count(==(','), parameters) + 1
        end
    end
    found
end

"What keeps a raw layer from being that of the headers."
function differences(declared, raw)
    vcat(["$name is missing" for name in keys(declared) if !haskey(raw, name)],
         ["$name is in no header" for name in keys(raw) if !haskey(declared, name)],
         ["$name has $(raw[name]) parameters, in the header $count"
          for (name, count) in declared if get(raw, name, count) != count])
end

raw_functions() = Dict(
    String(name) => length(Raw.signature(getfield(Raw, name))[2])
    for name in names(Raw, all = true)
    if startswith(String(name), "tutti_") && getfield(Raw, name) isa Function)

@testset "every function of the headers is there, with as many parameters" begin
    declared = declared_functions()
    @test length(declared) > 150
    @test differences(declared, raw_functions()) == []
end

@testset "what is missing, too much or different is named" begin
    there = Dict("tutti_a" => 1, "tutti_b" => 2)
    @test differences(Dict("tutti_a" => 1, "tutti_b" => 3, "tutti_c" => 0),
                      merge(there, Dict("tutti_d" => 0))) ==
          ["tutti_c is missing", "tutti_d is in no header",
           "tutti_b has 2 parameters, in the header 3"]
end

@testset "the library has every function, and structs have the sizes it asserts" begin
    for name in keys(raw_functions())
        @test Raw.address(getfield(Raw, Symbol(name))) != C_NULL
    end
    @test sizeof(Raw.tutti_error) == 512
    @test sizeof(Raw.tutti_buffer) == sizeof(Raw.tutti_object_item) == 64
    @test sizeof(Raw.tutti_p2p_op) == 96
end

@testset "the headers' comments are the documentation" begin
    text = string(Base.Docs.doc(Base.Docs.Binding(Raw, :tutti_store_wait)))
    @test occursin("Waits until all of several keys exist", text)
    @test occursin("TIMEOUT (names the keys)", text)
end
