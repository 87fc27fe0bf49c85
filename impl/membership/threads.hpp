// A world of threads of one process: the arbiter is called as a function. Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "store/store.hpp"
#include "world.hpp"

namespace tutti {

// As meet_processes(); UNSUPPORTED if rank 0 is in another process.
std::shared_ptr<World> meet_threads(const std::shared_ptr<Store>& store, int rank, int size,
                                    const std::string& options, const Deadline& deadline);

// Of one rank, who meets nobody.
std::shared_ptr<World> world_of_one();

}  // namespace tutti
