// The hooks that come with the library, which TUTTI_HOOKS names: observers of all operations of the
// process. Any thread.
#pragma once

namespace tutti::hooks {

// Adds those that the environment names; once in a process. Throws INVALID_ARGUMENT, naming the
// variable, for a name that no hook has.
void add_by_environment();

}  // namespace tutti::hooks
