# The raw layer against the library; generator/coverage.py compares it with the headers.

@testset "the library has every function, and structs have the sizes it asserts" begin
    functions = [getfield(Raw, name) for name in names(Raw, all = true)
                 if startswith(String(name), "tutti_") && getfield(Raw, name) isa Function]
    @test length(functions) > 150
    @test all(one -> Raw.address(one) != C_NULL, functions)
    @test sizeof(Raw.tutti_error) == 512
    @test sizeof(Raw.tutti_buffer) == sizeof(Raw.tutti_object_item) == 64
    @test sizeof(Raw.tutti_p2p_op) == 96
end

@testset "the headers' comments are the documentation" begin
    text = string(Base.Docs.doc(Base.Docs.Binding(Raw, :tutti_store_wait)))
    @test occursin("Waits until all of several keys exist", text)
    @test occursin("TIMEOUT (names the keys)", text)
end
