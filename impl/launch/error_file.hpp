// What a program wrote about its failure into the file that TORCHELASTIC_ERROR_FILE names: JSON as
// PyTorch writes it, {"message": {"message": "...", ...}} or {"message": "...", ...}. Any thread.
#pragma once

#include <string>

namespace tutti::launch {

// The message in such a text; the text itself if it is no JSON, or has no message there.
std::string message_of_json(const std::string& text);
// Of a file, and of a long one the start; empty if there is none, or it is no plain file. Waits for
// nobody.
std::string read_error_file(const std::string& path);

}  // namespace tutti::launch
