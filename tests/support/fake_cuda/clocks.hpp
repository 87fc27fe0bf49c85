// Vector clocks. Each stream counts its operations; a clock says of each stream up to which of them
// one has happened before. What the host's threads have observed is one clock: they tell each other
// by means that no driver sees. Needs the model's mutex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tutti::cuda {

struct Operation;
struct Allocation;

class Clock {
public:
    uint64_t of(size_t stream) const { return stream < counts_.size() ? counts_[stream] : 0; }
    void reach(size_t stream, uint64_t step) {
        if (counts_.size() <= stream) counts_.resize(stream + 1);
        if (counts_[stream] < step) counts_[stream] = step;
    }
    void join(const Clock& other) {
        for (size_t stream = 0; stream < other.counts_.size(); stream++)
            reach(stream, other.counts_[stream]);
    }
    // Keeps what both know.
    void meet(const Clock& other) {
        for (size_t stream = 0; stream < counts_.size(); stream++)
            counts_[stream] = std::min(counts_[stream], other.of(stream));
    }

private:
    std::vector<uint64_t> counts_;
};

// Bytes of an allocation that an operation touches. Those of a gate are an agreement between the
// ones who write and the ones who wait: they are in order by what they do.
struct Extent {
    size_t begin = 0;
    size_t end = 0;
    bool writes = false;
    bool gate = false;
};

// One that has been executed, as an allocation remembers it.
struct Access {
    Extent extent;
    size_t stream = 0;
    uint64_t step = 0;
    std::string text;  // what it was, for reports
};

bool conflict(const Extent& one, const Extent& other);

// The accesses of the operations to an allocation, and which must still be told apart.
class History {
public:
    // Reports the accesses that nothing orders before this one, then remembers it.
    void add(const Allocation& allocation, const Access& access, const Clock& clock);
    // The first access that this clock does not know of, or null.
    const Access* unknown_to(const Clock& clock) const;
    // Forgets what is in order before everything that comes.
    void forget(const Clock& floor);
    size_t size() const { return accesses_.size(); }

    std::map<size_t, Clock> gates;  // by offset: what the writers of a gate knew

private:
    std::vector<Access> accesses_;
};

}  // namespace tutti::cuda
