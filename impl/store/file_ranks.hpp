// The ranks of tutti at a file: a line for each in one record, which PyTorch passes over. One
// thread; the file is locked meanwhile.
#pragma once

#include <string>

#include "table.hpp"

namespace tutti {

constexpr const char* file_ranks_key = "tutti/ranks";

// Throws INVALID_ARGUMENT, saying who and `where`, if somebody has the rank already, or has come as
// a rank of another world size.
void take_file_rank(Table& table, int rank, int world_size, const std::string& where);
void give_file_rank_back(Table& table, int rank, int world_size);

}  // namespace tutti
