# mesh.jl: the ranks of a group in rows and columns of any number of dimensions, with a group along
# each of them. Dimensions count from 1, as Julia's; ranks and coordinates from 0.

"""
A mesh of ranks, by `init_device_mesh`: `size(mesh)`, `ndims(mesh)`, `length(mesh)`,
`get_group(mesh, dim)`, `get_coordinate(mesh)`, `ranks(mesh)`, `mesh["rows"]`, `close(mesh)`.
"""
mutable struct Mesh <: Handle
    handle::Ptr{Raw.tutti_mesh}
    Mesh(handle::Ptr{Raw.tutti_mesh}) = finalizer(close, new(handle))
end

release(handle::Ptr{Raw.tutti_mesh}) = Raw.tutti_mesh_release(handle)

Base.show(io::IO, mesh::Mesh) =
    print(io, "Mesh(", ndims(mesh) < 0 ? "closed" : join(size(mesh), "×"), ")")

mesh_slot() = Ref(Ptr{Raw.tutti_mesh}(C_NULL))

names_or_null(::Nothing, count) = C_NULL
function names_or_null(names, count)
    length(names) == count ||
        throw(DimensionMismatch("dim_names has $(length(names)) names for $count dimensions"))
    strings(string(name) for name in names)
end

"""
    init_device_mesh(shape; dim_names = nothing, group = WORLD, device_type = :cpu,
                     timeout = nothing, reproducible = false, device = Tutti.CPU)

Lays the first ranks of a group out as a mesh, the last dimension varying fastest, and makes the
groups along its dimensions. Every rank of `group` calls it with the same arguments. The groups are
bound to this rank's `device` (see `get_bound_device`); without one, to that of `group`.

```julia
mesh = init_device_mesh((2, get_world_size() ÷ 2); dim_names = ("dp", "tp"))
allreduce!(x, +; group = get_group(mesh, "dp"))
```
"""
function init_device_mesh(shape; dim_names = nothing, group::Group = WORLD,
                          device_type::Symbol = :cpu, timeout = nothing,
                          reproducible::Bool = false, device::Device = CPU)
    lengths, slot = integers(Int64, shape, :shape), mesh_slot()
    call_waiting(Raw.tutti_init_device_mesh, group, lengths, length(lengths),
                 names_or_null(dim_names, length(lengths)), device_number(device_type),
                 group_options(timeout, reproducible, device), slot)
    Mesh(slot[])
end

const device_types =
    Dict(:cpu => Raw.TUTTI_CPU, :cuda => Raw.TUTTI_CUDA, :xpu => Raw.TUTTI_XPU)

device_number(name::Symbol) = get(device_types, name) do
    throw(ArgumentError("device_type is :$name, not one of $(sort!(collect(keys(device_types))))"))
end

"The device type that the mesh was made with: `:cpu`."
device_type(mesh::Mesh) =
    something(findfirst(==(Raw.tutti_mesh_device_type(mesh)), device_types), :none)

"An array's elements row by row, as the library has them, and its lengths."
by_rows(ranks) = (vec(permutedims(integers(Int32, ranks, :ranks), ndims(ranks):-1:1)),
                  Int64[length for length in size(ranks)])

"""
    Mesh(ranks; group = WORLD, dim_names = nothing, device_type = :cpu, timeout = nothing,
         reproducible = false, device = Tutti.CPU)

A mesh of any layout: `ranks` is an array of ranks of `group`, in any order. A rank's place along a
dimension is its rank in that dimension's group. Every rank of `group` calls it alike.
"""
function Mesh(ranks::AbstractArray{<:Integer}; group::Group = WORLD, dim_names = nothing,
              device_type::Symbol = :cpu, timeout = nothing, reproducible::Bool = false,
              device::Device = CPU)
    (rows, shape), slot = by_rows(ranks), mesh_slot()
    call_waiting(Raw.tutti_mesh_create, group, rows, length(rows), shape, length(shape),
                 names_or_null(dim_names, length(shape)), device_number(device_type),
                 group_options(timeout, reproducible, device), slot)
    Mesh(slot[])
end

"""
    Mesh(groups, ranks = nothing; dim_names = nothing, device_type = :cpu, timeout = nothing,
         device = Tutti.CPU)

A mesh of groups that are there already, one for each dimension; `ranks` is the array of the global
ranks in it, which one dimension can do without. Nothing is sent to other ranks.
"""
function Mesh(groups, ranks::Union{AbstractArray, Nothing} = nothing; dim_names = nothing,
              device_type::Symbol = :cpu, timeout = nothing, device::Device = CPU)
    handles = Ptr{Raw.tutti_group}[group.handle for group in groups]
    rows, shape = ranks === nothing ? (C_NULL, C_NULL) : by_rows(ranks)
    ranks === nothing || length(shape) == length(handles) || throw(DimensionMismatch(
        "ranks has $(length(shape)) dimensions for $(length(handles)) groups"))
    slot = mesh_slot()
    GC.@preserve groups call(Raw.tutti_mesh_from_group, handles, rows, shape, length(handles),
                             names_or_null(dim_names, length(handles)),
                             device_number(device_type),
                             group_options(timeout, false, device), slot)
    Mesh(slot[])
end

"The number from 0 that the library has for a dimension, by its number from 1 or its name."
dimension(mesh, ::Nothing) = Int32(-1)
dimension(mesh, name::Union{AbstractString, Symbol}) = Int32(find_dim(mesh, name) - 1)
function dimension(mesh, number::Integer)
    number >= 1 || throw(ArgumentError("dim is $number: dimensions count from 1"))
    int32(number, :dim) - Int32(1)
end

"The number of the dimension of a name, from 1; also of one that was flattened."
function find_dim(mesh::Mesh, name::Union{AbstractString, Symbol})
    slot = Ref(Int32(-1))
    call(Raw.tutti_mesh_find_dim, mesh, String(name), slot)
    Int(slot[]) + 1
end

"""
    get_group(mesh, dim = nothing)

The group along one dimension, by number from 1 or by name: the ranks that differ from this one in
that dimension alone.
"""
function get_group(mesh::Mesh, dim = nothing)
    slot = group_slot()
    call(Raw.tutti_mesh_get_group, mesh, dimension(mesh, dim), slot)
    owned_group(slot[])
end

"The groups along all dimensions."
function get_all_groups(mesh::Mesh)
    slots = fill(Ptr{Raw.tutti_group}(C_NULL), max(0, ndims(mesh)))
    call(Raw.tutti_mesh_get_all_groups, mesh, slots, length(slots))
    map(owned_group, slots)
end

"This rank's place along one dimension, from 0; -1 on a rank that is not in the mesh."
function get_local_rank(mesh::Mesh, dim = nothing)
    slot = Ref(Int32(-1))
    call(Raw.tutti_mesh_get_local_rank, mesh, dimension(mesh, dim), slot)
    Int(slot[])
end

function numbers(f, mesh::Mesh, count, type = Int32)
    all = Vector{type}(undef, max(0, count))
    call(f, mesh, all, length(all))
    Int.(all)
end

"This rank's place along all dimensions, from 0 each; `nothing` on a rank not in the mesh."
function get_coordinate(mesh::Mesh)
    place = numbers(Raw.tutti_mesh_get_coordinate, mesh, ndims(mesh))
    any(<(0), place) ? nothing : Tuple(place)
end

"The global rank of this process, in the mesh or not; -1 if the mesh was closed."
get_rank(mesh::Mesh) = Int(Raw.tutti_mesh_get_rank(mesh))

Base.ndims(mesh::Mesh) = Int(Raw.tutti_mesh_ndim(mesh))
Base.size(mesh::Mesh) = Tuple(numbers(Raw.tutti_mesh_shape, mesh, ndims(mesh), Int64))
Base.size(mesh::Mesh, dim) = Int(Raw.tutti_mesh_size(mesh, dimension(mesh, dim)))
Base.length(mesh::Mesh) = Int(Raw.tutti_mesh_size(mesh, -1))

"The global ranks of the mesh: `ranks(mesh)[i, j]` is at the coordinate (i - 1, j - 1)."
function ranks(mesh::Mesh)
    rows, shape = numbers(Raw.tutti_mesh_ranks, mesh, length(mesh)), size(mesh)
    permutedims(reshape(rows, reverse(shape)), length(shape):-1:1)
end

"The names of the dimensions; `nothing` where there is none."
dim_names(mesh::Mesh) =
    Tuple(text_or_nothing(Raw.tutti_mesh_dim_name(mesh, dim - 1)) for dim in 1:ndims(mesh))

"""
    mesh["rows"], mesh["rows", "columns"]

The part of a mesh that this rank sees along some of its dimensions, in their order there.
"""
function Base.getindex(mesh::Mesh, names::Union{AbstractString, Symbol}...)
    slot, wanted = mesh_slot(), strings(names)
    call(Raw.tutti_mesh_slice, mesh, wanted, length(wanted), slot)
    Mesh(slot[])
end

"""
    flatten(mesh; name = nothing, timeout = nothing, reproducible = false, device = Tutti.CPU)

The mesh in one dimension, with a group of all its ranks; its name is the dimensions', joined by
"_", if none is given. All ranks of the mesh call it.
"""
function flatten(mesh::Mesh; name = nothing, timeout = nothing, reproducible::Bool = false,
                 device::Device = CPU)
    slot = mesh_slot()
    call_waiting(Raw.tutti_mesh_flatten, mesh, optional(name),
                 group_options(timeout, reproducible, device), slot)
    Mesh(slot[])
end
