#include "divisions.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "mailbox.hpp"

namespace tutti::tcp {

Divided& Divisions::add(uint32_t id, Request& request) {
    Divided& added = divided_.emplace_back(Divided{id, {request.data, request.bytes}, &request});
    added.place = std::prev(divided_.end());
    request.divided = &added;
    return added;
}

std::optional<Part> Divisions::next(size_t max_bytes) {
    const auto next = std::ranges::find_if(divided_, &Divided::has_rest);
    if (next == divided_.end()) return std::nullopt;
    return next_of(*next, max_bytes);
}

Part Divisions::next_of(Divided& of, size_t max_bytes) {
    const std::span<const std::byte> data = of.rest.first(std::min(max_bytes, of.rest.size()));
    const std::byte* const begin = of.copy ? of.copy.get() : of.request->data;
    Part part;
    part.head.kind = Kind::Part;
    part.head.id = of.id;
    part.head.slot = static_cast<uint64_t>(data.data() - begin);
    part.head.length = data.size();
    part.data = data;
    part.of = &of;
    of.rest = of.rest.subspan(data.size());
    ++of.parts_under_way;
    return part;
}

void Divisions::sent(Divided& of) {
    if (--of.parts_under_way > 0 || !of.rest.empty()) return;
    Request* const request = of.request;
    divided_.erase(of.place);
    if (request == nullptr) return;
    request->link = nullptr;
    request->divided = nullptr;
    request->mailbox.finish(*request, {}, request->bytes);
}

bool Divisions::release_request(Divided& of) noexcept {
    Request& request = *std::exchange(of.request, nullptr);
    request.divided = nullptr;
    of.copy.reset(new (std::nothrow) std::byte[request.bytes]);
    if (!of.copy) return false;
    std::copy_n(request.data, request.bytes, of.copy.get());
    of.rest = {of.copy.get() + (of.rest.data() - request.data), of.rest.size()};
    return true;
}

void Divisions::clear() noexcept {
    for (const Divided& one : divided_) {
        if (one.request != nullptr) one.request->lose_link();
    }
    divided_.clear();
}

}  // namespace tutti::tcp
