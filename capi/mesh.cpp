// tutti/mesh.h. Any thread.
#include "tutti/mesh.h"

#include <optional>

#include "arguments.hpp"
#include "device/driver.hpp"
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

void check_ndim(int32_t ndim) {
    if (ndim < 1 || static_cast<size_t>(ndim) > tutti::max_dims) {
        capi::refuse("ndim is ", ndim, "; it must be from 1 to ", tutti::max_dims);
    }
}

std::vector<std::string> read_names(const char* const* names, size_t count) {
    std::vector<std::string> read;
    for (size_t i = 0; names != nullptr && i < count; ++i) {
        read.push_back(capi::read_text(names[i], capi::indexed("dim_names", i)));
    }
    return read;
}

// A length that no int holds is longer than any group.
int read_length(int64_t length, size_t dim) {
    if (length >= 1 && length <= INT32_MAX) return static_cast<int>(length);
    capi::refuse(capi::indexed("shape", dim), " is ", length, "; it must be from 1 to ", INT32_MAX);
}

tutti::MeshOptions read_mesh(const int64_t* shape, int32_t ndim, const char* const* dim_names,
                             tutti_device_type device_type) {
    check_ndim(ndim);
    tutti::device::Driver::check_here(device_type, {"device_type"});
    tutti::MeshOptions options;
    options.device_type = device_type;
    const auto dims = static_cast<size_t>(ndim);
    for (size_t dim = 0; shape != nullptr && dim < dims; ++dim) {
        options.shape.push_back(read_length(shape[dim], dim));
    }
    options.names = read_names(dim_names, dims);
    return options;
}

void read_group_defaults(const tutti_group_options* given, tutti::MeshOptions& options) {
    const tutti_group_options read = capi::read_group_options(given);
    options.timeout_ms = read.timeout_ms;
    options.bound = {read.device_type, read.device_index};
    if (read.reproducible != 0) options.reproducible = true;
}

// The shape says how many are read, so it is checked first.
std::vector<int> read_ranks(const int32_t* ranks, const std::vector<int>& shape, int most) {
    tutti::check_shape(shape, static_cast<size_t>(most));
    return {ranks, ranks + tutti::places_in(shape)};
}

tutti_mesh* hand_out_mesh(std::shared_ptr<tutti::Mesh> mesh) {
    return capi::hand_out<tutti_mesh>(std::move(mesh));
}

// Makes the groups along a mesh, and first the default group if there is none. A fault of this
// rank's arguments, which `read` finds, fails the others' calls, which would wait for it.
template <typename Read>
void lay_out(const char* function, tutti_group* group, const tutti_group_options* options,
             tutti_mesh** out_mesh, Read&& read) {
    const bool begins = group == TUTTI_GROUP_WORLD && tutti_is_initialized() == 0;
    const capi::GroupPin pin = begins ? capi::GroupPin(nullptr) : capi::need_group(group);
    tutti::MeshOptions wanted;
    try {
        wanted = read(pin ? pin->size() : INT32_MAX);
        read_group_defaults(options, wanted);
        capi::need_output(out_mesh, "out_mesh");
    } catch (const tutti::Error& error) {
        if (pin) tutti::Mesh::decline(*pin, function, error.status());
        throw;
    }
    wanted.function = function;
    if (begins) capi::make_world(options);
    const auto members = pin ? pin.share() : capi::need_group(group).share();
    *out_mesh = hand_out_mesh(tutti::Mesh::create(members, wanted));
}

}  // namespace

extern "C" {

tutti_status tutti_init_device_mesh(tutti_group* group, const int64_t* shape, int32_t ndim,
                                    const char* const* dim_names, tutti_device_type device_type,
                                    const tutti_group_options* options, tutti_mesh** out_mesh,
                                    tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        lay_out("init_device_mesh", group, options, out_mesh, [&](int /*most*/) {
            if (shape == nullptr) capi::refuse("shape is NULL");
            return read_mesh(shape, ndim, dim_names, device_type);
        });
    });
}

tutti_status tutti_mesh_create(tutti_group* group, const int32_t* ranks, int64_t rank_count,
                               const int64_t* shape, int32_t ndim, const char* const* dim_names,
                               tutti_device_type device_type, const tutti_group_options* options,
                               tutti_mesh** out_mesh, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        lay_out("mesh_create", group, options, out_mesh, [&](int most) {
            if (ranks == nullptr) capi::refuse("ranks is NULL");
            if (shape == nullptr) capi::refuse("shape is NULL");
            tutti::MeshOptions wanted = read_mesh(shape, ndim, dim_names, device_type);
            tutti::check_shape(wanted.shape, static_cast<size_t>(most));
            const int places = tutti::places_in(wanted.shape);
            if (rank_count != places) {
                capi::refuse("rank_count is ", rank_count, ", and the shape ",
                             tutti::shape_text(wanted.shape), " has ", places, " places");
            }
            wanted.ranks.assign(ranks, ranks + places);
            return wanted;
        });
    });
}

tutti_status tutti_mesh_from_group(tutti_group* const* groups, const int32_t* ranks,
                                   const int64_t* shape, int32_t ndim, const char* const* dim_names,
                                   tutti_device_type device_type,
                                   const tutti_group_options* options, tutti_mesh** out_mesh,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        check_ndim(ndim);
        if (groups == nullptr) capi::refuse("groups is NULL");
        std::vector<std::shared_ptr<tutti::Group>> members;
        for (size_t i = 0; i < static_cast<size_t>(ndim); ++i) {
            members.push_back(
                capi::need_group(groups[i], {"groups", static_cast<int64_t>(i)}).share());
        }
        tutti::MeshOptions wanted = read_mesh(shape, ndim, dim_names, device_type);
        read_group_defaults(options, wanted);
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

tutti_status tutti_mesh_find_dim(tutti_mesh* mesh, const char* name, int32_t* out_dim,
                                 tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        const std::string wanted = capi::read_text(name, "name");
        capi::need_output(out_dim, "out_dim");
        *out_dim = pin->find_dim(wanted);
    });
}

tutti_status tutti_mesh_get_group(tutti_mesh* mesh, int32_t dim, tutti_group** out_group,
                                  tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_group, "out_group");
        *out_group = capi::hand_out_group(pin->group(dim));
    });
}

tutti_status tutti_mesh_get_all_groups(tutti_mesh* mesh, tutti_group** out_groups, int64_t count,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_groups, "out_groups");
        if (capi::read_count(count, "count") < pin->ndim()) {
            capi::refuse("out_groups has room for ", count, "; it receives ", pin->ndim());
        }
        std::vector<capi::Reserved<tutti_group>> slots(pin->ndim());
        for (size_t dim = 0; dim < pin->ndim(); ++dim) {
            auto group = pin->group(static_cast<int>(dim));
            out_groups[dim] = group ? slots[dim].publish(std::move(group)) : TUTTI_GROUP_NON_MEMBER;
        }
    });
}

tutti_status tutti_mesh_get_local_rank(tutti_mesh* mesh, int32_t dim, int32_t* out_rank,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::need_output(out_rank, "out_rank");
        const auto group = pin->group(dim);
        *out_rank = group ? group->rank() : -1;
    });
}

tutti_device_type tutti_mesh_device_type(tutti_mesh* mesh) {
    const MeshPin pin = find_mesh(mesh);
    return pin ? pin->device_type() : -1;
}

tutti_status tutti_mesh_get_coordinate(tutti_mesh* mesh, int32_t* out_coordinate, int64_t count,
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

int64_t tutti_mesh_size(tutti_mesh* mesh, int32_t dim) {
    const MeshPin pin = find_mesh(mesh);
    if (!pin) return -1;
    return dim == -1 ? static_cast<int64_t>(pin->ranks().size()) : pin->length(dim);
}

int32_t tutti_mesh_ndim(tutti_mesh* mesh) {
    const MeshPin pin = find_mesh(mesh);
    return pin ? static_cast<int32_t>(pin->ndim()) : -1;
}

tutti_status tutti_mesh_shape(tutti_mesh* mesh, int64_t* out_shape, int64_t count,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::write_numbers(pin->shape(), out_shape, count, "out_shape");
    });
}

tutti_status tutti_mesh_ranks(tutti_mesh* mesh, int32_t* out_ranks, int64_t count,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        capi::write_numbers(pin->ranks(), out_ranks, count, "out_ranks");
    });
}

const char* tutti_mesh_dim_name(tutti_mesh* mesh, int32_t dim) {
    const MeshPin pin = find_mesh(mesh);
    const std::string* const name = pin ? pin->name(dim) : nullptr;
    return name == nullptr ? nullptr : name->c_str();
}

tutti_status tutti_mesh_slice(tutti_mesh* mesh, const char* const* dim_names, int64_t count,
                              tutti_mesh** out_mesh, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        if (count == 0) capi::refuse("count is 0; a mesh has at least one dimension");
        if (dim_names == nullptr) capi::refuse("dim_names is NULL");
        capi::need_output(out_mesh, "out_mesh");
        *out_mesh =
            hand_out_mesh(pin->slice(read_names(dim_names, capi::read_count(count, "count"))));
    });
}

tutti_status tutti_mesh_flatten(tutti_mesh* mesh, const char* dim_name,
                                const tutti_group_options* options, tutti_mesh** out_mesh,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const MeshPin pin(mesh, "mesh");
        if (dim_name != nullptr && *dim_name == '\0') capi::refuse("dim_name is empty");
        const std::string name = dim_name == nullptr ? "" : dim_name;
        tutti::MeshOptions wanted;
        try {
            read_group_defaults(options, wanted);
            wanted.bound = pin->bound_device_for(wanted.bound);
            capi::need_output(out_mesh, "out_mesh");
        } catch (const tutti::Error& fault) {
            pin->decline_flatten(name, fault.status());
            throw;
        }
        *out_mesh =
            hand_out_mesh(pin->flatten(name, wanted.timeout_ms, wanted.reproducible, wanted.bound));
    });
}

void tutti_mesh_release(tutti_mesh* mesh) {
    if (!capi::forked()) capi::release(mesh);
}

}  // extern "C"
