#include "signatures.hpp"

#include <string>

#include "base/log.hpp"
#include "reduce/dtypes.hpp"

namespace tutti::hooks {

namespace {

// "float32 × 10 + 20": the elements of each buffer.
std::string elements_of(const std::vector<record::Buffer>& buffers) {
    constexpr size_t most = 8;
    if (buffers.empty()) return "nothing";
    std::string text = cat(dtype_name(buffers.front().dtype), " × ");
    for (size_t i = 0; i < buffers.size() && i < most; ++i) {
        const size_t elements = buffers[i].bytes / element_size(buffers[i].dtype);
        text += cat(i == 0 ? "" : " + ", elements);
    }
    if (buffers.size() > most) text += cat(" and ", buffers.size() - most, " more");
    return text;
}

}  // namespace

void Signatures::before(const record::Operation& operation) {
    if (!log_enabled(LogLevel::Info)) return;
    std::string text = operation.name;
    if (operation.sequence != 0) text += cat(" #", operation.sequence);
    text +=
        cat(" on group \"", operation.group, "\" (rank ", operation.rank, " of ", operation.size,
            "): ", elements_of(operation.inputs), " in, ", elements_of(operation.outputs), " out");
    if (operation.facts.peer >= 0) text += cat(", root or peer ", operation.facts.peer);
    if (!operation.tag.empty()) text += cat(", \"", operation.tag, "\"");
    log_line(LogLevel::Info, text);
}

}  // namespace tutti::hooks
