// The reports on a job that tuttitrace prints, for people or for programs. Any thread.
#pragma once

#include <string>
#include <vector>

#include "diagnosis.hpp"
#include "job.hpp"

namespace tutti::trace {

// One line for each trouble; or that there is none, with what was looked at.
std::string troubles_text(const Job& job, const std::vector<Trouble>& troubles);
std::string troubles_json(const Job& job, const std::vector<Trouble>& troubles);
// The last calls of each rank.
std::string table_text(const Job& job, size_t last);
// The last calls of all ranks, in the order in which they began.
std::string timeline_text(const Job& job, size_t last);
// The ranks that come late to collectives, by group.
std::string stragglers_text(const Job& job);
// The Chrome trace-event format, which Perfetto opens: a process for each rank.
std::string perfetto_json(const Job& job);

}  // namespace tutti::trace
