// Ways to meet from outside, by the schemes of their init methods: registered, or found as
// libraries (tutti/ext.h). Any thread.
#pragma once

#include "init_url.hpp"
#include "rendezvous.hpp"
#include "tutti/ext.h"

namespace tutti {

// "env", "tcp" or "file".
bool is_scheme_of_ours(const std::string& scheme);

// `table` as ext::read_table() returned it. INVALID_ARGUMENT if its scheme is taken.
void register_scheme(const tutti_rendezvous_table& table);

struct MetOutside {
    std::shared_ptr<Store> store;
    int rank;        // below 0: not known
    int world_size;  // below 1: not known
};

// Meets where the URL says; rank and world size are -1 if they are not known. INVALID_ARGUMENT for
// a scheme that is not known.
MetOutside meet_outside(const InitUrl& url, int rank, int world_size, int64_t timeout_ms,
                        const AdoptStore& adopt);

}  // namespace tutti
