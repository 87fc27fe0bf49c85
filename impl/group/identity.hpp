// Who a group is on this rank: known when the group is made, and the same until its end. Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/function_call.hpp"
#include "call/view.hpp"

namespace tutti {

struct GroupIdentity {
    int rank = 0;
    int size = 1;
    std::string name;
    bool reproducible = false;       // floating-point sums are exact and rounded once
    Device bound{};                  // the one device of this rank's calls; the CPU: any
    bool has_foreign_peers = false;  // ranks may be of another library
    bool compares_first = false;     // before each collective, as the debug level DETAIL asks for
    std::vector<int> global_ranks;   // of the members in the first group, by rank
    Operator as{};                   // the group in the notes of threads: see FunctionCall

    // "group \"world\" (rank 0 of 4)".
    [[nodiscard]] std::string label() const;

    // Of a group of those ranks of this one, this rank among them; all else is as here.
    [[nodiscard]] GroupIdentity of_members(const std::vector<int>& ranks) const;
    // The rank here of a member, by its rank in the first group.
    [[nodiscard]] int rank_of_global(int global) const;

    // Throws INVALID_ARGUMENT for another device; `what`: "the buffers are on".
    void check_bound(const Device& device, const char* what) const {
        if (device != bound) check_bound_to_one(device, what);
    }
    // The device of a group that is made from this one with such options. Throws INVALID_ARGUMENT.
    [[nodiscard]] Device bound_device_for(const Device& wanted) const;

    // Throws INVALID_ARGUMENT in a function of the program that a call of this group has called.
    void check_may_wait(const char* operation) const {
        if (const char* const function = FunctionCall::of(as.own)) refuse_wait(operation, function);
    }
    // The same in one that a call of this group, or of a group that ends with it, has called.
    void check_may_be_destroyed() const {
        if (const char* const function = FunctionCall::under(as.own)) {
            refuse_wait("destroy", function);
        }
    }

private:
    void check_bound_to_one(const Device& device, const char* what) const;
    [[noreturn]] void refuse_wait(const char* operation, const char* function) const;
};

}  // namespace tutti
