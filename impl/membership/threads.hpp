// A world of threads of one process: the arbiter is a function call away. Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "store/store.hpp"
#include "world.hpp"

namespace tutti {

// As bootstrap_processes(); UNSUPPORTED if rank 0 is in another process.
std::shared_ptr<World> bootstrap_threads(const std::shared_ptr<Store>& store, int rank, int size,
                                         const std::string& options, const Deadline& deadline);

// The world of a single rank.
std::shared_ptr<World> world_of_one();

// One rank's view of a world whose other ranks are of another library: nobody reports that they
// have come, left or died, and no step with them can be taken.
std::shared_ptr<World> unwatched_world(int rank, int size);

}  // namespace tutti
