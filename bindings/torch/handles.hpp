// Handles that calls of tutti's give out, or take.
#pragma once

#include <tutti/bytes.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti_torch {

// A list of them, released in the end. Places that no call has filled are NULL.
template <typename Handle, void (*release)(Handle*)>
class Handles {
public:
    explicit Handles(size_t places) : handles_(places) {}
    ~Handles() {
        for (Handle* handle : handles_) release(handle);
    }
    Handles(Handles&&) = default;
    Handles& operator=(const Handles&) = delete;

    Handle** data() { return handles_.empty() ? nullptr : handles_.data(); }
    int64_t count() const { return static_cast<int64_t>(handles_.size()); }
    auto begin() const { return handles_.begin(); }
    auto end() const { return handles_.end(); }

private:
    std::vector<Handle*> handles_;
};

using ByteStrings = Handles<tutti_bytes, tutti_bytes_release>;

}  // namespace tutti_torch
