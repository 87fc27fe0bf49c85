#include "file_ranks.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace tutti {
namespace {

// "RANK WORLD_SIZE who".
std::string line_of(int rank, int world_size) {
    utsname names{};
    (void)::uname(&names);
    return cat(rank, ' ', world_size, " process ", ::getpid(), " of host ", names.nodename, '\n');
}

}  // namespace

void take_file_rank(Table& table, int rank, int world_size, const std::string& where) {
    const std::string* taken = table.find(file_ranks_key);
    std::string lines = taken == nullptr ? "" : *taken;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) {
        std::istringstream fields(line);
        int other = -1;
        int its_size = -1;
        std::string who;
        fields >> other >> its_size >> std::ws;
        std::getline(fields, who);
        if (other != rank && its_size == world_size) continue;
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(where, ": ", who, " has come as rank ", other, " of ", its_size,
                        ", and this process comes as rank ", rank, " of ", world_size,
                        "; if that one has ended, the file was left behind by an earlier run and "
                        "must be removed"),
                    rank);
    }
    table.set(file_ranks_key, lines + line_of(rank, world_size));
}

void give_file_rank_back(Table& table, int rank, int world_size) {
    const std::string* taken = table.find(file_ranks_key);
    if (taken == nullptr) return;  // somebody replaced the file
    std::string lines = *taken;
    const std::string own = line_of(rank, world_size);
    const size_t at = lines.find(own);
    if (at != std::string::npos) lines.erase(at, own.size());
    if (lines.empty()) {
        table.erase(file_ranks_key);
    } else {
        table.set(file_ranks_key, lines);
    }
}

}  // namespace tutti
