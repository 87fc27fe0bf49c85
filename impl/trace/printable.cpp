#include "printable.hpp"

#include "base/json.hpp"

namespace tutti::trace {

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t size = character_size(text);
        const auto lead = static_cast<unsigned char>(text[0]);
        const auto second = static_cast<unsigned char>(size == 2 ? text[1] : 0xff);
        const bool is_control = lead < 0x20 || lead == 0x7f || (lead == 0xc2 && second < 0xa0);
        out += size == 0 || is_control ? "?" : text.substr(0, size);
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return out;
}

}  // namespace tutti::trace
