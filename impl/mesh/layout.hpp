// The places of ranks in a mesh: arithmetic on row-major grids, no communication. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti {

constexpr size_t max_dims = 64;

// How many ranks it takes; the shape is a checked one.
int places_in(const std::vector<int>& shape);

// "2 x 3".
std::string shape_text(const std::vector<int>& shape);
// "names "dp", "tp"", or "no names".
std::string names_text(const std::vector<std::string>& names);

// Throw INVALID_ARGUMENT that names the argument. `places`: how many ranks there are for the mesh.
void check_shape(const std::vector<int>& shape, size_t places);
void check_names(const std::vector<std::string>& names, size_t dims);

class Layout {
public:
    // `ranks` row by row, as many as the shape has places.
    Layout(std::vector<int> shape, std::vector<int> ranks);

    [[nodiscard]] const std::vector<int>& shape() const { return shape_; }
    [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

    // Where a rank stands; empty if it is not in the mesh.
    [[nodiscard]] std::vector<int> coordinate(int rank) const;
    // The ranks that differ from the one at `coordinate` in these dimensions alone, row by row.
    [[nodiscard]] std::vector<int> along(const std::vector<size_t>& dims,
                                         std::vector<int> coordinate) const;
    // All of these: the mesh, cut into parts.
    [[nodiscard]] std::vector<std::vector<int>> parts(const std::vector<size_t>& dims) const;
    // The part that the rank at `coordinate` sees along these dimensions.
    [[nodiscard]] Layout slice(const std::vector<size_t>& dims,
                               const std::vector<int>& coordinate) const;

private:
    [[nodiscard]] size_t place(const std::vector<int>& coordinate) const;
    [[nodiscard]] std::vector<int> coordinate_of(size_t place) const;

    std::vector<int> shape_;
    std::vector<int> ranks_;
};

}  // namespace tutti
