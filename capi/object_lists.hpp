// Lists of objects as calls take them and give them. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/block.hpp"
#include "object.hpp"
#include "object/list.hpp"
#include "tutti/types.h"

namespace tutti::capi {

// Throws INVALID_ARGUMENT or INVALID_HANDLE, naming the element of "objects".
std::vector<ObjectPointer> read_objects(tutti_object* const* objects, size_t count);

// How to read what ranks send in one call.
struct Reading {
    std::string call;  // "recv_object_list on group ..."
    ObjectSettings settings;
};

// Opens the list that rank `source` sent. Throws MISMATCH naming that rank unless it has `count`
// values.
std::vector<std::shared_ptr<Draft>> open_list(OwnedBytes message, size_t count, int source,
                                              const Reading& reading);

}  // namespace tutti::capi
