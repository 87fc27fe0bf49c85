// A look at a job that another tuttirun has started: a debugger on one of its ranks,
// or the stacks of some. Main thread.
#pragma once

#include "options.hpp"

namespace tutti::launch {

// Becomes gdb, on the rank, with this terminal. Throws if it cannot.
[[noreturn]] void attach(const Inspection& what);

// Prints the stacks of the ranks. Throws if it cannot.
void show_stacks(const Inspection& what);

}  // namespace tutti::launch
