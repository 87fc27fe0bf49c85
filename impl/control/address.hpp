// Which address a rank gives to the others: the one by which it reaches the store, or rank 0. Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace tutti::control {

bool is_loopback(const std::string& address);
// The plain loopback address, which means that all ranks are on this host; 127.0.1.1 does not, it
// is what some systems give their own name.
bool is_plain_loopback(const std::string& address);

// Where rank 0 can be reached, best first, for the others to try.
std::vector<std::string> candidates(const Store& store);

// The address another rank gave, as seen from here: its loopback is the host of rank 0, which we
// reach by `way_to_rank_0`.
std::string seen_from_here(const std::string& address, const std::string& way_to_rank_0);

}  // namespace tutti::control
