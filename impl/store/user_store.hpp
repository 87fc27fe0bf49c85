// Stores whose functions come from outside, by the table of tutti/ext.h; and a store of ours as
// such a table, for those outside. Any thread.
#pragma once

#include <memory>
#include <string>

#include "ext/tables.hpp"
#include "store.hpp"

namespace tutti {

// `table` as ext::read_table() returned it. `store` is closed with the last handle.
std::shared_ptr<Store> make_user_store(const tutti_store_table& table, void* store);
// The store of a library.
std::shared_ptr<Store> open_store_of_library(const std::string& name, const std::string& address,
                                             int64_t timeout_ms);

// For its functions, a Store* that lives longer. Calls of it take as long as that store's timeout,
// at most.
const tutti_store_table& table_of_stores();

}  // namespace tutti
