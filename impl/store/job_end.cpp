#include "job_end.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"

namespace tutti {

namespace {

const std::string end_key = "tutti/ended";
constexpr int highest_rank = 1 << 20;

}  // namespace

void tell_end(Store& whole, int rank, const Deadline& deadline) {
    whole.compare_set(cat(default_group_prefix, "/", end_key), "", std::to_string(rank), deadline);
}

std::optional<int> read_end(Store& of_group, const Deadline& deadline) {
    if (!of_group.check(Store::Keys(&end_key, 1), deadline)) return std::nullopt;
    return static_cast<int>(
        parse_number(of_group.get(end_key, deadline), "the rank that has ended", 0, highest_rank));
}

}  // namespace tutti
