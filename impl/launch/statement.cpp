// Statements as text. Any thread.
#include "statement.hpp"

#include <algorithm>
#include <cstddef>

#include "base/environment.hpp"
#include "fields.hpp"
#include "limits.hpp"

namespace tutti::launch {

// Each node knows which of its own was first: ranks found dead at one look have one time.
Statement sum_of(const std::vector<Statement>& statements) {
    Statement sum;
    std::vector<Failure> firsts;
    std::vector<Failure> later;
    for (const auto& one : statements) {
        sum.final = sum.final || one.final;
        sum.succeeded += one.succeeded;
        if (one.failures.empty()) continue;
        firsts.push_back(one.failures.front());
        later.insert(later.end(), one.failures.begin() + 1, one.failures.end());
    }
    if (const auto first = first_of(firsts)) {
        sum.failures.push_back(firsts[*first]);
        firsts.erase(firsts.begin() + static_cast<std::ptrdiff_t>(*first));
        later.insert(later.begin(), firsts.begin(), firsts.end());
        std::ranges::stable_sort(later, {}, &Failure::time_us);
        sum.failures.insert(sum.failures.end(), later.begin(), later.end());
    }
    return sum;
}

std::string encode(const Statement& statement) {
    std::vector<std::string> fields{statement.final ? "1" : "0",
                                    std::to_string(statement.succeeded)};
    for (const auto& failure : statement.failures) fields.push_back(encode(failure));
    return join_fields(fields);
}

Statement decode_statement(const std::string& text) {
    constexpr size_t fixed = 2;
    const auto fields = split_fields(text, fixed);
    const std::string what = "a number in the statement of another node";
    Statement statement;
    statement.final = fields[0] == "1";
    statement.succeeded = static_cast<int>(parse_number(fields[1], what, 0, limits::processes));
    for (size_t i = fixed; i < fields.size(); ++i) {
        statement.failures.push_back(decode_failure(fields[i]));
    }
    return statement;
}

}  // namespace tutti::launch
