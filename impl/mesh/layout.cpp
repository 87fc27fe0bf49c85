#include "layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace tutti {

int places_in(const std::vector<int>& shape) {
    return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

std::string shape_text(const std::vector<int>& shape) {
    std::string text;
    for (const int length : shape) text += cat(text.empty() ? "" : " x ", length);
    return text;
}

std::string names_text(const std::vector<std::string>& names) {
    if (names.empty()) return "no names";
    std::string text;
    for (const std::string& name : names) {
        text += cat(text.empty() ? "names " : ", ", "\"", name, "\"");
    }
    return text;
}

void check_shape(const std::vector<int>& shape, size_t places) {
    if (shape.empty() || shape.size() > max_dims) {
        refuse("ndim is ", shape.size(), "; it must be from 1 to ", max_dims);
    }
    size_t needed = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
        if (shape[dim] < 1) refuse("shape[", dim, "] is ", shape[dim], "; it must be 1 or more");
        needed *= static_cast<size_t>(shape[dim]);
        if (needed > places) {
            refuse("shape is ", shape_text(shape), ", which needs more than the ", places,
                   " ranks that there are");
        }
    }
}

void check_names(const std::vector<std::string>& names, size_t dims) {
    if (names.empty()) return;
    if (names.size() != dims) {
        refuse("dim_names has ", names.size(), " names for ", dims, " dimensions");
    }
    std::set<std::string> seen;
    for (size_t dim = 0; dim < names.size(); ++dim) {
        if (names[dim].empty()) refuse("dim_names[", dim, "] is empty");
        if (!seen.insert(names[dim]).second) {
            refuse("dim_names[", dim, "] is \"", names[dim], "\", a name that came before");
        }
    }
}

Layout::Layout(std::vector<int> shape, std::vector<int> ranks)
    : shape_(std::move(shape)), ranks_(std::move(ranks)) {}

size_t Layout::place(const std::vector<int>& coordinate) const {
    size_t place = 0;
    for (size_t dim = 0; dim < shape_.size(); ++dim) {
        place = place * static_cast<size_t>(shape_[dim]) + static_cast<size_t>(coordinate[dim]);
    }
    return place;
}

std::vector<int> Layout::coordinate_of(size_t place) const {
    std::vector<int> coordinate(shape_.size());
    for (size_t dim = shape_.size(); dim-- > 0;) {
        const auto length = static_cast<size_t>(shape_[dim]);
        coordinate[dim] = static_cast<int>(place % length);
        place /= length;
    }
    return coordinate;
}

std::vector<int> Layout::coordinate(int rank) const {
    const auto found = std::ranges::find(ranks_, rank);
    if (found == ranks_.end()) return {};
    return coordinate_of(static_cast<size_t>(found - ranks_.begin()));
}

std::vector<int> Layout::along(const std::vector<size_t>& dims, std::vector<int> coordinate) const {
    TUTTI_ASSERT(coordinate.size() == shape_.size());
    for (const size_t dim : dims) coordinate[dim] = 0;
    std::vector<int> ranks;
    for (;;) {
        ranks.push_back(ranks_[place(coordinate)]);
        size_t at = dims.size();  // counts up, the last dimension fastest
        while (at > 0 && ++coordinate[dims[at - 1]] == shape_[dims[at - 1]]) {
            coordinate[dims[--at]] = 0;
        }
        if (at == 0) return ranks;
    }
}

std::vector<std::vector<int>> Layout::parts(const std::vector<size_t>& dims) const {
    std::vector<std::vector<int>> all;
    for (size_t place = 0; place < ranks_.size(); ++place) {
        const std::vector<int> coordinate = coordinate_of(place);
        const bool first =
            std::ranges::all_of(dims, [&](size_t dim) { return coordinate[dim] == 0; });
        if (first) all.push_back(along(dims, coordinate));
    }
    return all;
}

Layout Layout::slice(const std::vector<size_t>& dims, const std::vector<int>& coordinate) const {
    std::vector<int> shape;
    for (const size_t dim : dims) shape.push_back(shape_[dim]);
    return {std::move(shape), along(dims, coordinate)};
}

}  // namespace tutti
