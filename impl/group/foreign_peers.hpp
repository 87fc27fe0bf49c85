// Groups in which ranks may be of another library, PyTorch's processes say: they have no membership
// with the others. The names of their groups are PyTorch's, as are the places in the store where
// their ranks meet. Any thread.
#pragma once

#include <memory>
#include <string>

#include "backends/backend_map.hpp"
#include "identity.hpp"
#include "store/store.hpp"

namespace tutti {

struct GroupOptions;

// Where the ranks of a group meet: the first has the number 0, and others follow below it, in the
// order in which they are made.
std::shared_ptr<Store> store_of_pytorch(uint64_t number, std::shared_ptr<Store> parent);

// Throws INVALID_ARGUMENT for options that such a group cannot have.
void check_foreign_peers(const GroupOptions& options, const GroupIdentity& identity,
                         const BackendMap& map);

// Throws UNSUPPORTED in such a group: `what` takes a membership.
void check_has_membership(const GroupIdentity& identity, const std::string& what);

}  // namespace tutti
