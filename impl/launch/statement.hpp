// A node's account of an attempt, as it is told to the other nodes. Any thread, no side effects.
#pragma once

#include <string>
#include <vector>

#include "failure.hpp"

namespace tutti::launch {

struct Statement {
    bool final = false;                  // starting again is of no use, or not wanted
    int succeeded = 0;                   // ranks that ended with 0
    std::vector<Failure> failures = {};  // the first at the front
};

// The sum over all nodes: the first failure is at the front, the others follow as they happened.
Statement sum_of(const std::vector<Statement>& statements);

std::string encode(const Statement& statement);
// INVALID_ARGUMENT if `text` is none.
Statement decode_statement(const std::string& text);

}  // namespace tutti::launch
