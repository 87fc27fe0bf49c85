// Failures as text. Any thread.
#include "failure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "fields.hpp"

namespace tutti::launch {

namespace {

// Longer than clocks of machines usually differ, shorter than a program needs to give up.
constexpr int64_t signal_lead_us = 100'000;

bool is_cause(const Failure& failure) {
    return failure.ending.by_signal && failure.ending.number != SIGABRT;
}

std::string time_text(int64_t time_us) {
    const auto seconds = static_cast<time_t>(time_us / 1'000'000);
    std::tm parts = {};
    ::localtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
    const auto milliseconds = std::to_string(1'000 + time_us / 1'000 % 1'000);
    return cat(text.data(), ".", milliseconds.substr(1));
}

void add_lines(std::vector<std::string>& lines, const std::string& text) {
    for (size_t start = 0; start < text.size();) {
        const auto end = std::min(text.find('\n', start), text.size());
        lines.push_back(cat("    ", text.substr(start, end - start)));
        start = end + 1;
    }
}

}  // namespace

int64_t now_us() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string encode(const Failure& failure) {
    std::vector<std::string> fields{std::to_string(failure.rank),
                                    std::to_string(failure.local_rank),
                                    std::to_string(failure.node),
                                    failure.host,
                                    std::to_string(failure.pid),
                                    failure.program,
                                    std::to_string(failure.ending.by_signal ? 1 : 0),
                                    std::to_string(failure.ending.number),
                                    std::to_string(failure.ending.core_dumped ? 1 : 0),
                                    std::to_string(failure.time_us),
                                    failure.message};
    fields.insert(fields.end(), failure.last_lines.begin(), failure.last_lines.end());
    return join_fields(fields);
}

Failure decode_failure(const std::string& text) {
    constexpr size_t fixed = 11;
    const auto fields = split_fields(text, fixed);
    const auto number = [&](size_t index, int64_t lowest, int64_t highest) {
        return parse_number(fields[index], "a number in the report of another node", lowest,
                            highest);
    };
    const auto small = [&](size_t index) { return static_cast<int>(number(index, -1, INT_MAX)); };
    Failure failure;
    failure.rank = small(0);
    failure.local_rank = small(1);
    failure.node = small(2);
    failure.host = fields[3];
    failure.pid = small(4);
    failure.program = fields[5];
    failure.ending = {number(6, 0, 1) == 1, small(7), number(8, 0, 1) == 1};
    failure.time_us = number(9, 0, INT64_MAX);
    failure.message = fields[10];
    failure.last_lines.assign(fields.begin() + fixed, fields.end());
    return failure;
}

std::optional<size_t> first_of(const std::vector<Failure>& failures) {
    const auto time = [](const Failure& failure) {
        return failure.time_us - (is_cause(failure) ? signal_lead_us : 0);
    };
    const auto first = std::min_element(
        failures.begin(), failures.end(),
        [&](const Failure& one, const Failure& other) { return time(one) < time(other); });
    if (first == failures.end()) return std::nullopt;
    return static_cast<size_t>(first - failures.begin());
}

std::vector<std::string> report(bool is_first, const Failure& failure, int node_count) {
    const auto* const title = is_first ? "first failure" : "later failure";
    const auto node = cat("node ", failure.node, " (", failure.host, ")");
    const auto place = node_count > 1 ? node : failure.host;
    std::vector<std::string> lines;
    if (failure.rank < 0) {
        lines.push_back(
            cat(title, ": ", place, " at ", time_text(failure.time_us), ": ", failure.message));
        return lines;
    }
    const auto program = failure.program.empty() ? "" : cat(" of ", failure.program);
    lines.push_back(cat(title, ": rank ", failure.rank, " (local rank ", failure.local_rank,
                        ", pid ", static_cast<int>(failure.pid), ")", program, " on ", place, " ",
                        describe(failure.ending), " at ", time_text(failure.time_us)));
    if (!failure.message.empty()) {
        lines.emplace_back("  what it said of it:");
        add_lines(lines, failure.message);
    }
    if (!failure.last_lines.empty()) {
        lines.emplace_back("  its last lines on standard error:");
        for (const auto& line : failure.last_lines) add_lines(lines, line + "\n");
    }
    return lines;
}

}  // namespace tutti::launch
