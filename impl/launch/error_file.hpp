// Reads the file that TORCHELASTIC_ERROR_FILE names, in which a program describes its failure: JSON
// as PyTorch writes it, {"message": {"message": "...", ...}} or {"message": "...", ...}. Any
// thread.
#pragma once

#include <string>

namespace tutti::launch {

// The message in such a text; the text itself if it is no JSON, or has no message there.
std::string message_of_json(const std::string& text);
// The message in a file, or the start of a long one; empty if there is none, or it is no plain
// file. Does not block.
std::string read_error_file(const std::string& path);

}  // namespace tutti::launch
