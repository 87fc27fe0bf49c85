// Memory that a communicator knows on all ranks. NCCL's registrations are collective, and so is
// their order among its calls. Where NCCL finds the memory of other ranks depends on the order of
// what is registered and deregistered. So memory that the program has given back stays registered
// until all ranks have given it back and share other memory, or until the communicator ends. The
// thread that allocates.
#pragma once

#include <memory>

#include "communicator.hpp"
#include "memory.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// Memory for share(). Throws Failure, also where it would be of no use.
[[nodiscard]] void* make_memory(const Communicator& communicator, int device, size_t bytes);
// On all ranks. Registers memory of all of them, of one size, if that is possible everywhere;
// deregisters what all of them have given back. Throws Failure.
void share(Communicator& communicator, const tutti_backend_place& place,
           const std::shared_ptr<Memory>& memory);

}  // namespace tutti::nccl
