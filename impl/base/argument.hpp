// The name of an argument, which becomes text only where an error names it. std only, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "text.hpp"

namespace tutti {

// "output", "outputs[3]", "outputs[3].dtype", "ops[3].buffer.dtype".
struct Argument {
    const char* name;
    int64_t index = -1;  // within a list
    const char* field = nullptr;
    const char* of_field = nullptr;

    [[nodiscard]] Argument at(const char* its_field) const {
        if (field != nullptr) return {name, index, field, its_field};
        return {name, index, its_field};
    }
    [[nodiscard]] std::string text() const {
        std::string text = index < 0 ? std::string(name) : cat(name, "[", index, "]");
        if (field != nullptr) text.append(".").append(field);
        if (of_field != nullptr) text.append(".").append(of_field);
        return text;
    }
};

}  // namespace tutti
