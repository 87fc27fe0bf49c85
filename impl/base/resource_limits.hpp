// Errors for descriptors, memory, threads or file size that the system refuses this process:
// OUT_OF_MEMORY, with the limit by the name under which a person can raise it; and for calls that
// it refuses as such. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "error.hpp"

namespace tutti {

// Whether the errno of a system call says that this process, or the system, ran out of descriptors
// or memory: EMFILE, ENFILE, ENOBUFS, ENOMEM.
bool is_exhaustion(int number) noexcept;
// If the status is one of this process's exhaustion: with this rank as the one at fault, and the
// limit named, if it is not yet.
void blame_own_exhaustion(Status& status, int own_rank);

// "this process may have 64 open files (ulimit -n)" for EMFILE; of ENOMEM, and of EAGAIN, which a
// thread that cannot be started has, the limits that are set. Empty where no limit is known.
std::string limit_text(int number);

// For a system call that failed with that errno: "WHAT: Too many open files (EMFILE): this process
// may ...". OUT_OF_MEMORY after an exhaustion, else the status given.
Error system_error(tutti_status otherwise, std::string_view what, int number, int rank = -1);
// The same for a call, "eventfd", that only systems that lack or filter it refuse with ENOSYS or
// EPERM: then UNSUPPORTED, naming it. Any other errno is OUT_OF_MEMORY.
Error call_error(std::string_view call, std::string_view what, int number, int rank = -1);
// For a thread or a process that could not be started: OUT_OF_MEMORY with the limit that has been
// reached, if that can be seen, or UNSUPPORTED.
Error thread_error(std::string_view what, int number);
Error process_error(std::string_view what, int number, int rank = -1);

// Throws OUT_OF_MEMORY, saying `what`, if a file may not become so large: a file that did would
// raise SIGXFSZ, which ends a process that has not arranged for it.
void check_file_size(uint64_t bytes, std::string_view what);
// Whether this process can open so many descriptors now: 0, or the errno of the exhaustion.
int exhaustion_of_descriptors(int count) noexcept;
// Whether about so many more descriptors may be opened before the limit is reached.
bool has_spare_descriptors(int count) noexcept;
// The errno that the text of a foreign exception ends with in words, if it is an exhaustion; or 0.
int exhaustion_in(std::string_view text);

}  // namespace tutti
