// Calls that have ended, to be finished without the lock, and the memory that MPI still works on
// for some of them. With the library's lock.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "library.hpp"

namespace tutti::mpi {

struct Ended {
    const tutti_backend_call* call;
    Failure failure;
    int source = -1;
};

class Endings {
public:
    void add(const tutti_backend_call* call, Failure failure = {}, int source = -1) {
        ended_.push_back({call, std::move(failure), source});
    }
    [[nodiscard]] std::vector<Ended> take() { return std::exchange(ended_, {}); }
    // The library keeps it until MPI is done with it.
    void abandon(InFlight&& flight) const {
        flight.owner = owner_;
        Library::get().abandon(std::move(flight));
    }
    // Lives as long as something that is abandoned uses the group's communicators.
    [[nodiscard]] const std::shared_ptr<int>& owner() const { return owner_; }

private:
    std::vector<Ended> ended_;
    const std::shared_ptr<int> owner_ = std::make_shared<int>(0);
};

}  // namespace tutti::mpi
