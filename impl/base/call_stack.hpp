// The program's functions on the way to a call of tutti, as one line. Any thread.
#pragma once

#include <string>

namespace tutti {

// Whether TORCH_SHOW_CPP_STACKTRACES is 1, which is read once.
bool shows_call_stacks() noexcept;

// "train <- main <- libc.so.6+0x2724a": the caller of the library first; a function without a
// symbol is a place in its file, which addr2line reads.
std::string call_stack();

}  // namespace tutti
