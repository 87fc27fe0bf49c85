// tutti/mesh.h. Any thread.
#include "tutti/mesh.h"

#include <optional>

#include "arguments.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "mesh/mesh.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

using MeshPin = capi::Pin<tutti_mesh>;

// Nothing if the handle is no mesh.
MeshPin find_mesh(tutti_mesh* mesh) noexcept {
    return MeshPin(capi::forked() ? nullptr : mesh);
}

void check_ndim(size_t ndim) {
    if (ndim < 1 || ndim > tutti::most_dims) {
        capi::refuse("ndim is ", ndim, "; it must be from 1 to ", tutti::most_dims);
    }
}

std::vector<std::string> read_names(const char* const* names, size_t count) {
    std::vector<std::string> read;
    for (size_t i = 0; names != nullptr && i < count; ++i) {
        read.push_back(capi::read_text(names[i], capi::indexed("dim_names", i)));
    }
    return read;
}

tutti::MeshOptions read_mesh(const char* device_type, const int32_t* shape, size_t ndim,
                             const char* const* dim_names) {
    check_ndim(ndim);
    tutti::MeshOptions options;
    options.device_type = capi::read_text(device_type, "device_type");
    if (shape != nullptr) options.shape.assign(shape, shape + ndim);
    options.names = read_names(dim_names, ndim);
    return options;
}

// The shape says how many are read, so it is checked first.
std::vector<int> read_ranks(const int32_t* ranks, const std::vector<int>& shape, int most) {
    tutti::check_shape(shape, static_cast<size_t>(most));
    return {ranks, ranks + tutti::places_in(shape)};
}

tutti_mesh* hand_out_mesh(std::shared_ptr<tutti::Mesh> mesh) {
    return capi::hand_out<tutti_mesh>(std::move(mesh));
}

std::shared_ptr<tutti::Group> find_group(const tutti::Mesh& mesh, int32_t dim,
                                         const char* dim_name) {
    if (dim_name == nullptr) return mesh.group(dim, nullptr);
    const std::string name = dim_name;
    return mesh.group(dim, &name);
}

}  // namespace

extern "C" {

tutti_status tutti_init_device_mesh(tutti_group* group, const char* device_type,
                                    const int32_t* shape, size_t ndim, const char* const* dim_names,
                                    const tutti_group_options* options, tutti_mesh** out_mesh,
                                    tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        if (group != TUTTI_GROUP_WORLD) capi::need_group(group);
        tutti::MeshOptions wanted = read_mesh(device_type, shape, ndim, dim_names);
        if (shape == nullptr) capi::refuse("shape is NULL");
        const tutti_group_options given = capi::read_group_options(options);
        wanted.timeout_ms = given.timeout_ms;
        if (given.reproducible != 0) wanted.reproducible = true;
        capi::need_output(out_mesh, "out_mesh");
        if (group == TUTTI_GROUP_WORLD && tutti_is_initialized() == 0) {
            tutti::check_device_type(wanted.device_type);
            capi::make_world(tutti_get_default_backend_for_device(device_type), options);
        }
        const capi::GroupPin pin = capi::need_group(group);
        *out_mesh = hand_out_mesh(tutti::Mesh::create(pin.share(), wanted));
    });
}

tutti_status tutti_mesh_from_group(tutti_group* const* groups, const char* device_type,
                                   const int32_t* ranks, const int32_t* shape, size_t ndim,
                                   const char* const* dim_names, tutti_mesh** out_mesh,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        check_ndim(ndim);
        if (groups == nullptr) capi::refuse("groups is NULL");
        std::vector<std::shared_ptr<tutti::Group>> members;
        for (size_t i = 0; i < ndim; ++i) {
            members.push_back(capi::need_group(groups[i], capi::indexed("groups", i)).share());
        }
        const tutti::MeshOptions wanted = read_mesh(device_type, shape, ndim, dim_names);
        if ((ranks == nullptr) != (shape == nullptr)) {
            capi::refuse("one of ranks and shape is NULL; give both or none");
        }
        if (ranks == nullptr && ndim > 1) {
            capi::refuse("ranks is NULL; a mesh of ", ndim, " dimensions needs it");
        }
        std::vector<int> places;
        if (ranks != nullptr) {
            places = read_ranks(ranks, wanted.shape, members.front()->first()->size());
        }
        capi::need_output(out_mesh, "out_mesh");
        *out_mesh = hand_out_mesh(tutti::Mesh::from_groups(members, wanted, std::move(places)));
    });
}

tutti_status tutti_mesh_get_group(tutti_mesh* mesh, int32_t dim, const char* dim_name,
                                  tutti_group** out_group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_group, "out_group");
        *out_group = capi::hand_out_group(find_group(*pin, dim, dim_name));
    });
}

tutti_status tutti_mesh_get_all_groups(tutti_mesh* mesh, tutti_group** out_groups, size_t count,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_groups, "out_groups");
        if (count < pin->ndim()) {
            capi::refuse("out_groups has room for ", count, "; it receives ", pin->ndim());
        }
        std::vector<capi::Reserved<tutti_group>> slots(pin->ndim());
        for (size_t dim = 0; dim < pin->ndim(); ++dim) {
            auto group = pin->group(dim);
            out_groups[dim] = group ? slots[dim].publish(std::move(group)) : TUTTI_GROUP_NON_MEMBER;
        }
    });
}

tutti_status tutti_mesh_get_local_rank(tutti_mesh* mesh, int32_t dim, const char* dim_name,
                                       int32_t* out_rank, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_rank, "out_rank");
        const auto group = find_group(*pin, dim, dim_name);
        *out_rank = group ? group->rank() : -1;
    });
}

tutti_status tutti_mesh_get_coordinate(tutti_mesh* mesh, int32_t* out_coordinate, size_t count,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        std::vector<int> coordinate = pin->coordinate();
        if (coordinate.empty()) coordinate.resize(pin->ndim(), -1);
        capi::write_numbers(coordinate, out_coordinate, count, "out_coordinate");
    });
}

int32_t tutti_mesh_get_rank(tutti_mesh* mesh) {
    const MeshPin pin = find_mesh(mesh);
    return pin ? pin->rank() : -1;
}

int32_t tutti_mesh_size(tutti_mesh* mesh, int32_t dim) {
    const MeshPin pin = find_mesh(mesh);
    if (!pin) return -1;
    if (dim == -1) return static_cast<int32_t>(pin->ranks().size());
    const auto at = static_cast<size_t>(dim);
    return dim < 0 || at >= pin->ndim() ? -1 : pin->shape()[at];
}

int32_t tutti_mesh_ndim(tutti_mesh* mesh) {
    const MeshPin pin = find_mesh(mesh);
    return pin ? static_cast<int32_t>(pin->ndim()) : -1;
}

tutti_status tutti_mesh_shape(tutti_mesh* mesh, int32_t* out_shape, size_t count,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::write_numbers(pin->shape(), out_shape, count, "out_shape");
    });
}

tutti_status tutti_mesh_ranks(tutti_mesh* mesh, int32_t* out_ranks, size_t count,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::write_numbers(pin->ranks(), out_ranks, count, "out_ranks");
    });
}

const char* tutti_mesh_dim_name(tutti_mesh* mesh, int32_t dim) {
    const MeshPin pin = find_mesh(mesh);
    if (!pin || dim < 0 || static_cast<size_t>(dim) >= pin->ndim()) return nullptr;
    const std::string& name = pin->name(static_cast<size_t>(dim));
    return name.empty() ? nullptr : name.c_str();
}

tutti_status tutti_mesh_slice(tutti_mesh* mesh, const char* const* dim_names, size_t count,
                              tutti_mesh** out_mesh, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        if (count == 0) capi::refuse("count is 0; a mesh has at least one dimension");
        if (dim_names == nullptr) capi::refuse("dim_names is NULL");
        capi::need_output(out_mesh, "out_mesh");
        *out_mesh = hand_out_mesh(pin->slice(read_names(dim_names, count)));
    });
}

tutti_status tutti_mesh_flatten(tutti_mesh* mesh, const char* dim_name,
                                const tutti_group_options* options, tutti_mesh** out_mesh,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        const tutti_group_options given = capi::read_group_options(options);
        std::optional<bool> reproducible;  // as the mesh's group
        if (given.reproducible != 0) reproducible = true;
        if (dim_name != nullptr && *dim_name == '\0') capi::refuse("dim_name is empty");
        capi::need_output(out_mesh, "out_mesh");
        *out_mesh = hand_out_mesh(
            pin->flatten(dim_name == nullptr ? "" : dim_name, given.timeout_ms, reproducible));
    });
}

void tutti_mesh_release(tutti_mesh* mesh) {
    if (!capi::forked()) capi::release(mesh);
}

}  // extern "C"
