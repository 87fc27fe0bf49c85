// Device meshes: ranks laid out in dimensions, with a group along each. A mesh is what one rank
// sees; it never changes, but for the flattened dimensions that all meshes of one origin know. Any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "group/group.hpp"
#include "layout.hpp"

namespace tutti {

struct MeshOptions {
    std::string function = "init_device_mesh";  // for messages
    tutti_device_type device_type = TUTTI_CPU;
    std::vector<int> shape;
    std::vector<int> ranks;              // of the group, row by row; empty: its first ones
    std::vector<std::string> names;      // empty: none
    int64_t timeout_ms = 0;              // 0: that of the group
    std::optional<bool> reproducible{};  // nothing: as the group
    Device bound{};                      // the CPU: as the group
};

class Mesh {
public:
    // Every rank of the group calls it; those that differ are MISMATCH on all.
    static std::shared_ptr<Mesh> create(const std::shared_ptr<Group>& group,
                                        const MeshOptions& options);
    // Instead of create(), where this rank has wrong arguments: fails the others' calls.
    static void decline(Group& group, const std::string& function, const Status& why) noexcept;
    // `ranks` global, row by row; empty: those of the only group. No communication.
    static std::shared_ptr<Mesh> from_groups(const std::vector<std::shared_ptr<Group>>& groups,
                                             const MeshOptions& options, std::vector<int> ranks);

    [[nodiscard]] size_t ndim() const { return dims_.size(); }
    [[nodiscard]] const std::vector<int>& shape() const { return layout_.shape(); }
    [[nodiscard]] const std::vector<int>& ranks() const { return layout_.ranks(); }
    [[nodiscard]] int rank() const { return rank_; }
    // Empty if this rank is not in the mesh.
    [[nodiscard]] const std::vector<int>& coordinate() const { return coordinate_; }
    [[nodiscard]] tutti_device_type device_type() const;

    // Dimensions by number: -1 is the only one, those from ndim() on are the flattened ones, in the
    // order in which they were made.
    // Throws INVALID_ARGUMENT.
    [[nodiscard]] int find_dim(const std::string& name) const;
    // Null if it has none, or there is no such dimension; lives as long as the mesh.
    [[nodiscard]] const std::string* name(int dim) const;
    // -1 if there is no such dimension.
    [[nodiscard]] int length(int dim) const;
    // Nothing on a rank that is not in the mesh. Throws INVALID_ARGUMENT.
    [[nodiscard]] std::shared_ptr<Group> group(int dim) const;
    // The device that a group made by flatten() would be bound to. Throws INVALID_ARGUMENT.
    [[nodiscard]] Device bound_device_for(const Device& wanted) const;

    [[nodiscard]] std::shared_ptr<Mesh> slice(const std::vector<std::string>& names) const;
    // `name` empty: made of the dimensions'. A timeout of 0, nothing, and the CPU: as the mesh was
    // made. Every rank of the origin's mesh calls it.
    [[nodiscard]] std::shared_ptr<Mesh> flatten(const std::string& name, int64_t timeout_ms,
                                                std::optional<bool> reproducible,
                                                const Device& bound) const;
    // Instead of flatten(), where this rank has wrong arguments: fails the others' calls, unless
    // there is such a dimension already, so that they wait for nobody.
    void decline_flatten(const std::string& name, const Status& why) const noexcept;

private:
    struct Origin;
    struct Dim {
        std::string name;
        std::shared_ptr<Group> group;     // nothing on a rank that is not in the mesh
        std::vector<size_t> origin_dims;  // what it is along, in the origin's mesh
    };

    Mesh(std::shared_ptr<Origin> origin, Layout layout, std::vector<Dim> dims);
    [[nodiscard]] Dim flat_dim(const std::string& name) const;
    [[nodiscard]] SplitOptions flat_step(const Dim& dim) const;
    [[nodiscard]] std::vector<std::string> own_names() const;
    [[nodiscard]] const Dim* own_dim(const std::string& name) const;
    [[nodiscard]] const Dim* find(int dim) const;
    [[nodiscard]] std::vector<size_t> find_dims(const std::vector<std::string>& names) const;
    [[nodiscard]] std::shared_ptr<Mesh> flattened(const Dim& dim) const;
    [[nodiscard]] std::vector<int> viewpoint() const;

    const std::shared_ptr<Origin> origin_;
    const Layout layout_;  // of global ranks
    const std::vector<Dim> dims_;
    const int rank_;
    const std::vector<int> coordinate_;
};

}  // namespace tutti
