#include "mesh.hpp"

#include <algorithm>
#include <deque>
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
    Origin(std::shared_ptr<Group> group, Layout grid, const MeshOptions& options)
        : parent(std::move(group)),
          layout(std::move(grid)),
          names(options.names),
          device_type(options.device_type),
          timeout_ms(options.timeout_ms),
          reproducible(options.reproducible),
          bound(parent->identity().bound_device_for(options.bound)) {
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
    const tutti_device_type device_type;
    const int64_t timeout_ms;                // 0: that of the parent
    const std::optional<bool> reproducible;  // nothing: as the parent
    const Device bound;                      // of this rank
    std::map<int, int> place_of;             // in the parent, of a global rank; never changes
    mutable Mutex mutex;
    std::deque<Dim> flattened TUTTI_GUARDED_BY(mutex);  // none ever changes or goes

    [[nodiscard]] const Dim* find_flattened(const std::string& name) const TUTTI_REQUIRES(mutex) {
        const auto found = std::ranges::find(flattened, name, &Dim::name);
        return found == flattened.end() ? nullptr : &*found;
    }
};

Mesh::Mesh(std::shared_ptr<Origin> origin, Layout layout, std::vector<Dim> dims)
    : origin_(std::move(origin)),
      layout_(std::move(layout)),
      dims_(std::move(dims)),
      rank_(global_rank(*origin_->parent)),
      coordinate_(layout_.coordinate(rank_)) {}

void Mesh::decline(Group& group, const std::string& function, const Status& why) noexcept {
    SplitOptions step;
    step.function = function;
    group.decline(step, why);
}

std::shared_ptr<Mesh> Mesh::create(const std::shared_ptr<Group>& group,
                                   const MeshOptions& options) {
    SplitOptions step;
    step.function = options.function;
    step.timeout_ms = options.timeout_ms;
    step.reproducible = options.reproducible;
    step.arguments = {cat("shape ", shape_text(options.shape)), names_text(options.names),
                      cat("device_type ", options.device_type)};
    if (!options.ranks.empty()) {
        step.arguments.push_back(cat("ranks ", ranks_text(options.ranks)));
    }
    try {
        check_shape(options.shape, static_cast<size_t>(group->size()));
        check_names(options.names, options.shape.size());
        checked_ranks(options.ranks, group->size());
        (void)group->identity().bound_device_for(options.bound);
    } catch (const Error& error) {
        group->decline(step, error.status());
        throw;
    }
    step.bound = options.bound;
    group->compare(step);

    const std::vector<int> places =
        options.ranks.empty() ? all_ranks(places_in(options.shape)) : options.ranks;
    Layout layout(options.shape, global_ranks(*group, places));
    auto origin = std::make_shared<Origin>(group, std::move(layout), options);
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
    if (here.empty()) refuse("this rank, ", global_rank(*first), ", is not in ranks");
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
    MeshOptions of_origin = options;
    for (const auto& group : groups)
        of_origin.bound = group->identity().bound_device_for(of_origin.bound);
    auto origin = std::make_shared<Origin>(first, layout, of_origin);
    return std::shared_ptr<Mesh>(new Mesh(std::move(origin), std::move(layout), std::move(dims)));
}

Device Mesh::bound_device_for(const Device& wanted) const {
    const Device& asked = wanted.type == TUTTI_CPU ? origin_->bound : wanted;
    return origin_->parent->identity().bound_device_for(asked);
}

tutti_device_type Mesh::device_type() const {
    return origin_->device_type;
}

const Mesh::Dim* Mesh::own_dim(const std::string& name) const {
    const auto found = std::ranges::find(dims_, name, &Dim::name);
    return name.empty() || found == dims_.end() ? nullptr : &*found;
}

const Mesh::Dim* Mesh::find(int dim) const {
    const auto at = static_cast<size_t>(dim == -1 && ndim() == 1 ? 0 : dim);
    if (dim < -1 || (dim == -1 && ndim() > 1)) return nullptr;
    if (at < ndim()) return &dims_[at];
    const Lock lock(origin_->mutex);
    return at - ndim() < origin_->flattened.size() ? &origin_->flattened[at - ndim()] : nullptr;
}

std::vector<std::string> Mesh::own_names() const {
    std::vector<std::string> names;
    for (const Dim& one : dims_) {
        if (!one.name.empty()) names.push_back(one.name);
    }
    return names;
}

int Mesh::find_dim(const std::string& name) const {
    if (const Dim* const found = own_dim(name)) return static_cast<int>(found - dims_.data());
    const Lock lock(origin_->mutex);
    for (size_t at = 0; at < origin_->flattened.size(); ++at) {
        if (origin_->flattened[at].name == name) return static_cast<int>(ndim() + at);
    }
    std::vector<std::string> names = own_names();
    for (const Dim& one : origin_->flattened) names.push_back(one.name);
    refuse("name is \"", name, "\"; the mesh has ", names_text(names));
}

const std::string* Mesh::name(int dim) const {
    const Dim* const found = dim == -1 ? nullptr : find(dim);
    return found == nullptr || found->name.empty() ? nullptr : &found->name;
}

int Mesh::length(int dim) const {
    const Dim* const found = dim == -1 ? nullptr : find(dim);
    if (found == nullptr) return -1;
    int length = 1;
    for (const size_t one : found->origin_dims) length *= origin_->layout.shape()[one];
    return length;
}

std::shared_ptr<Group> Mesh::group(int dim) const {
    if (const Dim* const found = find(dim)) return found->group;
    if (dim == -1) refuse("dim is -1, and the mesh has ", ndim(), " dimensions; say which one");
    const Lock lock(origin_->mutex);
    const size_t more = origin_->flattened.size();
    refuse(
        "dim is ", dim, "; the mesh has ", ndim(), " dimensions",
        more == 0 ? "" : cat(", and ", more, " flattened with the numbers from ", ndim(), " on"));
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
        const Dim* const dim = own_dim(names[at]);
        if (dim == nullptr) {
            refuse("dim_names[", at, "] is \"", names[at], "\"; the mesh has ",
                   names_text(own_names()));
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
    if (names.size() == 1 && own_dim(names.front()) == nullptr) {
        const Lock lock(origin_->mutex);
        if (const Dim* const flat = origin_->find_flattened(names.front())) return flattened(*flat);
    }
    const std::vector<size_t> chosen = find_dims(names);
    std::vector<Dim> dims;
    for (const size_t dim : chosen) dims.push_back(dims_[dim]);
    std::vector<int> here = coordinate_;
    if (here.empty()) here.resize(ndim(), 0);
    return std::shared_ptr<Mesh>(new Mesh(origin_, layout_.slice(chosen, here), std::move(dims)));
}

// All dimensions of this mesh as one, which has no group yet.
Mesh::Dim Mesh::flat_dim(const std::string& name) const {
    Dim dim;
    for (const Dim& one : dims_) {
        if (name.empty() && one.name.empty()) {
            refuse("dim_name is NULL, and the dimensions have no names to make one of");
        }
        dim.name += cat(dim.name.empty() ? "" : "_", one.name);
        dim.origin_dims.insert(dim.origin_dims.end(), one.origin_dims.begin(),
                               one.origin_dims.end());
    }
    if (!name.empty()) dim.name = name;
    return dim;
}

SplitOptions Mesh::flat_step(const Dim& dim) const {
    SplitOptions step;
    step.function = "mesh_flatten";
    step.description = cat(origin_->parent->name(), "/mesh:", dim.name);
    step.arguments = {cat("dim_name \"", dim.name, "\"")};
    step.parts = origin_->parts(dim.origin_dims);
    step.callers = origin_->in_parent(origin_->layout.ranks());
    std::ranges::sort(*step.callers);
    return step;
}

void Mesh::decline_flatten(const std::string& name, const Status& why) const noexcept {
    try {
        if (coordinate_.empty()) return;
        const Dim dim = flat_dim(name);
        {
            const Lock lock(origin_->mutex);
            if (origin_->find_flattened(dim.name) != nullptr) return;
        }
        origin_->parent->decline(flat_step(dim), why);
    } catch (const std::exception&) {  // the others' calls fail for the same reason
    }
}

std::shared_ptr<Mesh> Mesh::flatten(const std::string& name, int64_t timeout_ms,
                                    std::optional<bool> reproducible, const Device& bound) const {
    if (coordinate_.empty()) refuse("this rank, ", rank_, ", is not in the mesh");
    Dim dim = flat_dim(name);
    if (std::ranges::find(origin_->names, dim.name) != origin_->names.end()) {
        refuse("dim_name is \"", dim.name, "\", which a dimension of the mesh has already");
    }
    {
        const Lock lock(origin_->mutex);
        if (const Dim* const known = origin_->find_flattened(dim.name)) {
            if (known->origin_dims == dim.origin_dims) return flattened(*known);
            refuse("dim_name is \"", dim.name, "\", which other flattened dimensions have already");
        }
    }
    SplitOptions step = flat_step(dim);
    step.timeout_ms = timeout_ms == 0 ? origin_->timeout_ms : timeout_ms;
    step.reproducible = reproducible ? reproducible : origin_->reproducible;
    step.bound = bound_device_for(bound);
    dim.group = origin_->parent->split(step);
    const Lock lock(origin_->mutex);
    return flattened(origin_->flattened.emplace_back(std::move(dim)));
}

}  // namespace tutti
