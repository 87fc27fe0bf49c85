// The name of an argument, which becomes text only where an error names it. std only, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "text.hpp"

namespace tutti {

// "output", "outputs[3]", "outputs[3].dtype".
struct Argument {
    const char* name;
    int64_t index = -1;  // within a list
    const char* field = nullptr;

    [[nodiscard]] Argument at(const char* its_field) const { return {name, index, its_field}; }
    [[nodiscard]] std::string text() const {
        std::string text = index < 0 ? std::string(name) : cat(name, "[", index, "]");
        if (field != nullptr) text.append(".").append(field);
        return text;
    }
};

}  // namespace tutti
