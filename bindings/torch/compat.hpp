// Differences between the versions of PyTorch that this compiles against, 2.6 and later. The other
// files ask here. A function of c10d::Backend that only newer versions have is defined for all of
// them, without `override`.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tutti_torch::compat {

// Whether the caller will wait for the Work by itself. Older versions do not tell.
template <typename Options>
bool is_async(const Options& options) {
    if constexpr (requires { options.asyncOp; }) {
        return options.asyncOp;
    } else {
        return true;
    }
}

// A handle of the same store that another thread can use while one waits. Older versions, and
// stores that are written in Python without it, give the same handle.
template <typename Store>
c10::intrusive_ptr<Store> clone(const c10::intrusive_ptr<Store>& store) {
    if constexpr (requires { store->clone(); }) {
        try {
            return store->clone();
        } catch (const std::exception&) {
            return store;
        }
    } else {
        return store;
    }
}

// The name of a group that is to be made by a split; older versions do not make such groups.
template <typename Options>
std::string group_name(const Options& options) {
    if constexpr (requires { options.group_name; }) {
        return options.group_name;
    } else {
        return "split";
    }
}

// The handle of a stream, as its device's driver has it. Older versions have none: then calls wait
// for the default stream.
template <typename Stream>
void* native_handle(const Stream& stream) {
    if constexpr (requires { stream.native_handle(); }) {
        return stream.native_handle();
    } else {
        return nullptr;
    }
}

}  // namespace tutti_torch::compat
