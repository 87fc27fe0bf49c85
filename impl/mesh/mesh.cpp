#include "mesh.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "group/ranks.hpp"

namespace tutti {

namespace {

std::vector<int> global_ranks(const Group& group, const std::vector<int>& ranks) {
    std::vector<int> global;
    for (const int rank : ranks) {
        global.push_back(group.global_ranks()[static_cast<size_t>(rank)]);
    }
    return global;
}

int global_rank(const Group& group) {
    return group.global_ranks()[static_cast<size_t>(group.rank())];
}

std::string dim_text(const std::vector<std::string>& names, size_t dim) {
    return names.empty() ? cat(dim) : names[dim];
}

}  // namespace

// Where a mesh, its slices and their flattened dimensions come from.
struct Mesh::Origin {
    Origin(std::shared_ptr<Group> group, Layout grid, std::vector<std::string> dim_names)
        : parent(std::move(group)), layout(std::move(grid)), names(std::move(dim_names)) {
        for (int rank = 0; rank < parent->size(); ++rank) {
            place_of[parent->global_ranks()[static_cast<size_t>(rank)]] = rank;
        }
    }

    // The new groups' ranks, in the parent.
    [[nodiscard]] std::vector<int> in_parent(const std::vector<int>& global) const {
        std::vector<int> ranks;
        for (const int one : global) ranks.push_back(place_of.at(one));
        return ranks;
    }
    [[nodiscard]] std::vector<std::vector<int>> parts(const std::vector<size_t>& dims) const {
        std::vector<std::vector<int>> all;
        for (const auto& part : layout.parts(dims)) all.push_back(in_parent(part));
        return all;
    }

    const std::shared_ptr<Group> parent;
    const Layout layout;  // of global ranks
    const std::vector<std::string> names;
    std::map<int, int> place_of;  // in the parent, of a global rank; never changes
    Mutex mutex;
    std::map<std::string, Dim> flattened TUTTI_GUARDED_BY(mutex);
};

Mesh::Mesh(std::shared_ptr<Origin> origin, Layout layout, std::vector<Dim> dims)
    : origin_(std::move(origin)),
      layout_(std::move(layout)),
      dims_(std::move(dims)),
      rank_(global_rank(*origin_->parent)),
      coordinate_(layout_.coordinate(rank_)) {}

std::shared_ptr<Mesh> Mesh::create(const std::shared_ptr<Group>& group,
                                   const MeshOptions& options) {
    SplitOptions step;
    step.function = "init_device_mesh";
    step.timeout_ms = options.timeout_ms;
    step.reproducible = options.reproducible;
    step.arguments = {cat("shape ", shape_text(options.shape)), names_text(options.names),
                      cat("device_type \"", options.device_type, "\"")};
    try {
        check_shape(options.shape, static_cast<size_t>(group->size()));
        check_names(options.names, options.shape.size());
        check_device_type(options.device_type);
    } catch (const Error& error) {
        group->decline(step, error.status());
        throw;
    }
    group->compare(step);

    Layout layout(options.shape, global_ranks(*group, all_ranks(places_in(options.shape))));
    auto origin = std::make_shared<Origin>(group, std::move(layout), options.names);
    std::vector<Dim> dims;
    step.arguments.clear();
    for (size_t dim = 0; dim < options.shape.size(); ++dim) {
        step.parts = origin->parts({dim});
        step.description = cat(group->name(), "/mesh:", dim_text(options.names, dim));
        dims.push_back(
            {options.names.empty() ? "" : options.names[dim], group->split(step), {dim}});
    }
    Layout all = origin->layout;
    return std::shared_ptr<Mesh>(new Mesh(std::move(origin), std::move(all), std::move(dims)));
}

std::shared_ptr<Mesh> Mesh::from_groups(const std::vector<std::shared_ptr<Group>>& groups,
                                        const MeshOptions& options, std::vector<int> ranks) {
    check_device_type(options.device_type);
    const std::shared_ptr<Group> first = groups.front()->first();
    std::vector<int> shape = options.shape;
    if (ranks.empty()) {
        ranks = groups.front()->global_ranks();
        shape = {groups.front()->size()};
    }
    check_shape(shape, static_cast<size_t>(first->size()));
    check_names(options.names, shape.size());
    checked_ranks(ranks, first->size());
    Layout layout(shape, std::move(ranks));
    const std::vector<int> here = layout.coordinate(global_rank(*first));
    if (here.empty()) refuse("ranks has not this rank, ", global_rank(*first));
    std::vector<Dim> dims;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
        const auto& group = groups[dim];
        if (group->first() != first) {
            refuse("groups[", dim, "] and groups[0] do not come from the same group");
        }
        const std::vector<int> wanted = layout.along({dim}, here);
        if (group->global_ranks() != wanted) {
            refuse("groups[", dim, "] has ranks ", ranks_text(group->global_ranks()),
                   ", and along that dimension the mesh has ", ranks_text(wanted));
        }
        dims.push_back({options.names.empty() ? "" : options.names[dim], group, {dim}});
    }
    auto origin = std::make_shared<Origin>(first, layout, options.names);
    return std::shared_ptr<Mesh>(new Mesh(std::move(origin), std::move(layout), std::move(dims)));
}

size_t Mesh::find_dim(int dim) const {
    if (dim == -1 && ndim() == 1) return 0;
    if (dim == -1) {
        refuse("dim is -1 and dim_name NULL, and the mesh has ", ndim(),
               " dimensions; say which one");
    }
    if (dim < 0 || static_cast<size_t>(dim) >= ndim()) {
        refuse("dim is ", dim, "; the mesh has ", ndim(), " dimensions");
    }
    return static_cast<size_t>(dim);
}

const Mesh::Dim* Mesh::find_dim(const std::string& name) const {
    const auto found = std::ranges::find(dims_, name, &Dim::name);
    return name.empty() || found == dims_.end() ? nullptr : &*found;
}

std::shared_ptr<Group> Mesh::group(int dim, const std::string* name) const {
    if (name == nullptr) return dims_[find_dim(dim)].group;
    if (dim != -1) refuse("dim is ", dim, " and dim_name \"", *name, "\"; give one of them, or -1");
    if (const Dim* found = find_dim(*name)) return found->group;
    const Lock lock(origin_->mutex);
    const auto flat = origin_->flattened.find(*name);
    if (flat != origin_->flattened.end()) return flat->second.group;
    refuse("dim_name is \"", *name, "\"; the mesh has ", names_text(origin_->names));
}

// Where this rank, or in its stead the first, stands in the origin's mesh.
std::vector<int> Mesh::viewpoint() const {
    std::vector<int> coordinate = origin_->layout.coordinate(rank_);
    if (coordinate.empty()) coordinate.resize(origin_->layout.shape().size(), 0);
    return coordinate;
}

std::shared_ptr<Mesh> Mesh::flattened(const Dim& dim) const {
    std::vector<int> ranks = origin_->layout.along(dim.origin_dims, viewpoint());
    std::vector<int> shape{static_cast<int>(ranks.size())};
    return std::shared_ptr<Mesh>(
        new Mesh(origin_, Layout(std::move(shape), std::move(ranks)), {dim}));
}

std::vector<size_t> Mesh::find_dims(const std::vector<std::string>& names) const {
    std::vector<size_t> found;
    for (size_t at = 0; at < names.size(); ++at) {
        const Dim* const dim = find_dim(names[at]);
        if (dim == nullptr) {
            std::vector<std::string> mine;
            for (const Dim& one : dims_) {
                if (!one.name.empty()) mine.push_back(one.name);
            }
            refuse("dim_names[", at, "] is \"", names[at], "\"; the mesh has ", names_text(mine));
        }
        const auto place = static_cast<size_t>(dim - dims_.data());
        if (!found.empty() && place <= found.back()) {
            refuse("dim_names[", at, "] is \"", names[at],
                   place == found.back()
                       ? "\", which came before"
                       : "\", which comes earlier in the mesh than the name before");
        }
        found.push_back(place);
    }
    return found;
}

std::shared_ptr<Mesh> Mesh::slice(const std::vector<std::string>& names) const {
    if (names.size() == 1 && find_dim(names.front()) == nullptr) {
        const Lock lock(origin_->mutex);
        const auto flat = origin_->flattened.find(names.front());
        if (flat != origin_->flattened.end()) return flattened(flat->second);
    }
    const std::vector<size_t> chosen = find_dims(names);
    std::vector<Dim> dims;
    for (const size_t dim : chosen) dims.push_back(dims_[dim]);
    std::vector<int> here = coordinate_;
    if (here.empty()) here.resize(ndim(), 0);
    return std::shared_ptr<Mesh>(new Mesh(origin_, layout_.slice(chosen, here), std::move(dims)));
}

std::shared_ptr<Mesh> Mesh::flatten(std::string name, int64_t timeout_ms,
                                    std::optional<bool> reproducible) const {
    if (coordinate_.empty()) refuse("this rank, ", rank_, ", is not in the mesh");
    Dim dim;
    for (const Dim& one : dims_) {
        if (name.empty() && one.name.empty()) {
            refuse("dim_name is NULL, and the dimensions have no names to make one of");
        }
        dim.name += cat(dim.name.empty() ? "" : "_", one.name);
        dim.origin_dims.insert(dim.origin_dims.end(), one.origin_dims.begin(),
                               one.origin_dims.end());
    }
    if (!name.empty()) dim.name = std::move(name);
    if (std::ranges::find(origin_->names, dim.name) != origin_->names.end()) {
        refuse("dim_name is \"", dim.name, "\", which a dimension of the mesh has already");
    }
    {
        const Lock lock(origin_->mutex);
        const auto known = origin_->flattened.find(dim.name);
        if (known != origin_->flattened.end()) {
            if (known->second.origin_dims == dim.origin_dims) return flattened(known->second);
            refuse("dim_name is \"", dim.name, "\", which other flattened dimensions have already");
        }
    }
    SplitOptions step;
    step.function = "mesh_flatten";
    step.timeout_ms = timeout_ms;
    step.reproducible = reproducible;
    step.description = cat(origin_->parent->name(), "/mesh:", dim.name);
    step.arguments = {cat("dim_name \"", dim.name, "\"")};
    step.parts = origin_->parts(dim.origin_dims);
    step.callers = origin_->in_parent(origin_->layout.ranks());
    std::ranges::sort(*step.callers);
    dim.group = origin_->parent->split(step);
    const Lock lock(origin_->mutex);
    return flattened(origin_->flattened.emplace(dim.name, dim).first->second);
}

}  // namespace tutti
