// The reasons why the ranks of this node do not go on, in sentences, by their flight recorders;
// said once, while the ranks are as they were. Main thread of the launcher.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker.hpp"

namespace tutti::launch {

class Reasons {
public:
    // `folder`: of the records; empty: there are none.
    explicit Reasons(std::string folder) : folder_(std::move(folder)) {}

    // Nothing the second time, or if nobody is in trouble.
    std::vector<std::string> say_once(const std::vector<Worker>& workers);

private:
    std::string folder_;
};

}  // namespace tutti::launch
