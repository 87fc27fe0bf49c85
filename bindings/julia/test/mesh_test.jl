# Meshes.

@testset "rows and columns" begin
    on_ranks(6) do group
        r = get_rank(group)
        mesh = init_device_mesh((2, 3); dim_names = ("rows", :columns), group = group)
        @test size(mesh) == (2, 3) && ndims(mesh) == 2 && length(mesh) == 6 && size(mesh, 2) == 3
        @test ranks(mesh) == [0 1 2; 3 4 5]
        @test get_coordinate(mesh) == (r ÷ 3, r % 3) && get_rank(mesh) == r
        @test dim_names(mesh) == ("rows", "columns") && string(mesh) == "Mesh(2×3)"
        @test get_local_rank(mesh, 1) == r ÷ 3 && get_local_rank(mesh, "columns") == r % 3
        column = get_group(mesh, 1)
        @test get_process_group_ranks(column) == [r % 3, r % 3 + 3]
        @test allreduce(r, +; group = get_all_groups(mesh)[2]) == (r < 3 ? 3 : 12)
        row = mesh["columns"]
        @test size(row) == (3,) && get_process_group_ranks(get_group(row)) == 3 * (r ÷ 3) .+ (0:2)
        flat = flatten(mesh)
        @test size(flat) == (6,) && dim_names(flat) == ("rows_columns",)
        @test size(mesh["rows", "columns"]) == (2, 3)
        made = Mesh(get_all_groups(mesh), ranks(mesh); dim_names = ["a", "b"])
        @test get_coordinate(made) == get_coordinate(mesh) && dim_names(made) == ("a", "b")
        @test size(Mesh([column])) == (2,)
        @test find_dim(mesh, "columns") == 2 && Tutti.device_type(mesh) == :cpu
        backwards = Mesh(5:-1:0; group = group, dim_names = ["line"])
        @test get_coordinate(backwards) == (5 - r,) == (get_rank(get_group(backwards, "line")),)
        square = Mesh([3 1; 0 2]; group = group)
        @test ranks(square) == [3 1; 0 2] && get_coordinate(square) ==
            Dict(3 => (0, 0), 1 => (0, 1), 0 => (1, 0), 2 => (1, 1), 4 => nothing, 5 => nothing)[r]
        @test_throws ArgumentError init_device_mesh((6,); group = group, device_type = :tpu)
        @test_throws TuttiError init_device_mesh((6,); group = group, device_type = :xpu)
        @test_throws InvalidArgumentError get_group(mesh, "depth")
        @test_throws InvalidArgumentError get_group(mesh, 9)
        @test_throws ArgumentError get_group(mesh, 0)
        @test_throws DimensionMismatch init_device_mesh((6,); dim_names = ("a", "b"), group = group)
        close(flat)
        @test_throws InvalidHandleError size(flat)
        barrier(; group = group)
    end
end

@testset "a rank that the mesh has no place for" begin
    on_ranks(3) do group
        mesh = init_device_mesh([2]; group = group)
        @test dim_names(mesh) == (nothing,)
        @test get_coordinate(mesh) == (get_rank(group) < 2 ? (get_rank(group),) : nothing)
        @test (get_group(mesh) === NON_MEMBER) == (get_rank(group) == 2)
    end
end
