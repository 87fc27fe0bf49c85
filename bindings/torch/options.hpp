// The pg_options of a group: which backend of tutti's runs it, and how it sums.
#pragma once

#include <string>

#include "compat.hpp"

namespace tutti_torch {

struct GroupOptions final : c10d::Backend::Options {
    explicit GroupOptions(std::chrono::milliseconds timeout_of_calls = kBackendDefaultTimeout)
        : c10d::Backend::Options("tutti", timeout_of_calls) {}

    c10::intrusive_ptr<c10d::Backend::Options> clone() const {
        return c10::make_intrusive<GroupOptions>(*this);
    }

    std::string tutti_backend;  // as in tutti_init_process_group; empty: tutti chooses
    bool reproducible = false;  // see tutti_group_is_reproducible
};

}  // namespace tutti_torch
