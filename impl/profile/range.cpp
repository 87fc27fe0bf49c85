#include "range.hpp"

namespace tutti::profile {

void Range::open(const std::string& text) noexcept {
    const Tool& at = *tool.load(std::memory_order_acquire);
    const nvtx::EventAttributes attributes{.message = text.c_str()};
    at.push(at.domain, &attributes);
    is_open_ = true;
}

void Range::close() noexcept {
    const Tool& at = *tool.load(std::memory_order_acquire);
    at.pop(at.domain);
}

}  // namespace tutti::profile
