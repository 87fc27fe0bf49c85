#include "reasons.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "limits.hpp"
#include "trace/diagnosis.hpp"

namespace tutti::launch {

std::vector<std::string> Reasons::say_once(const std::vector<Worker>& workers) {
    const std::string folder = std::exchange(folder_, {});
    if (folder.empty()) return {};
    std::vector<trace::Ending> endings;
    for (const Worker& worker : workers) {
        if (!worker.alive) endings.push_back({worker.rank, *worker.ending});
    }
    try {
        auto sentences = trace::sentences_of(folder, endings);
        sentences.resize(std::min(sentences.size(), limits::reasons));
        return sentences;
    } catch (...) {
        return {cat("the ranks' records cannot be read: ", current_status().message)};
    }
}

}  // namespace tutti::launch
