#include "builder.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

void check_nanoseconds(int64_t nanoseconds) {
    if (nanoseconds < 0 || nanoseconds > 999'999'999) {
        refuse("nanoseconds is ", nanoseconds, "; it must be from 0 to 999999999");
    }
}

}  // namespace

uint64_t count_elements(const Array& array) {
    const size_t element = element_size(array.dtype);
    if (element == 0) refuse("dtype is ", array.dtype, ", no known dtype");
    if (array.dimensions < 0 || array.dimensions > object_limits::dimensions) {
        refuse("dimensions is ", array.dimensions, "; it must be from 0 to ",
               object_limits::dimensions);
    }
    // Without the zeros, so that what overflows does so in every order.
    uint64_t bytes = element;
    bool empty = false;
    for (int32_t i = 0; i < array.dimensions; ++i) {
        const int64_t extent = array.shape[i];
        if (extent < 0) refuse("shape[", i, "] is ", extent);
        if (extent == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
                   bytes > static_cast<uint64_t>(INT64_MAX)) {
            refuse("shape has more elements than memory can hold");
        }
    }
    return empty ? 0 : bytes / element;
}

Builder::Builder(const Most& most) : most_(most), object_(new Object) {}

bool Builder::key_is_due() const {
    if (open_.empty()) return false;
    const Open& last = open_.back();
    return object_->nodes_[last.node].kind() == TUTTI_OBJECT_MAP && last.count % 2 == 0;
}

bool Builder::list_is_open() const {
    return !open_.empty() && object_->nodes_[open_.back().node].kind() == TUTTI_OBJECT_LIST;
}

// Whether a value of this kind may come now.
void Builder::check_place(tutti_object_kind kind) const {
    if (complete()) refuse("the object is finished: it has its one value");
    if (object_->size() >= most_.nodes) refuse("there are more than ", most_.nodes, " values");
    const bool can_be_key =
        kind == TUTTI_OBJECT_INT64 || kind == TUTTI_OBJECT_UINT64 || kind == TUTTI_OBJECT_STRING;
    if (!can_be_key && key_is_due()) {
        refuse("a key of a map is due here, a string or an integer, not ", kind_name(kind));
    }
}

void Builder::scalar(const Node& node) {
    check_place(node.kind());
    object_->nodes_.push_back(node);
    value_is_there();
}

// The last value is complete: so are those that end with it.
void Builder::value_is_there() {
    while (!open_.empty()) {
        Open& last = open_.back();
        ++last.count;
        if (last.left == open_ended || --last.left > 0) return;
        close_last();
    }
}

void Builder::nil() {
    scalar({TUTTI_OBJECT_NIL, 0, uint64_t{0}});
}

void Builder::boolean(bool value) {
    scalar({TUTTI_OBJECT_BOOL, 0, uint64_t{value}});
}

void Builder::signed_integer(int64_t value) {
    scalar({TUTTI_OBJECT_INT64, 0, static_cast<uint64_t>(value)});
}

void Builder::unsigned_integer(uint64_t value) {
    scalar({value > INT64_MAX ? TUTTI_OBJECT_UINT64 : TUTTI_OBJECT_INT64, 0, value});
}

void Builder::real(double value) {
    scalar({TUTTI_OBJECT_FLOAT64, 0, std::bit_cast<uint64_t>(value)});
}

void Builder::string(std::string_view text) {
    check_place(TUTTI_OBJECT_STRING);
    if (const auto fault = utf8_fault(text)) refuse("text is not UTF-8 at byte ", *fault);
    copied_string(text);
}

void Builder::copied_string(std::string_view text) {
    check_place(TUTTI_OBJECT_STRING);
    kept_string({object_->arena_.copy_text(text), text.size()});
}

void Builder::kept_string(std::string_view text) {
    scalar({TUTTI_OBJECT_STRING, text.size(), text.data()});
}

void Builder::bytes(const void* data, size_t size, Memory memory) {
    check_place(TUTTI_OBJECT_BYTES);
    if (memory == Memory::Copied) data = object_->arena_.copy_bytes(data, size);
    object_->borrows_ |= memory == Memory::Kept;
    scalar({TUTTI_OBJECT_BYTES, size, data});
}

void Builder::timestamp(int64_t seconds, int64_t nanoseconds) {
    check_nanoseconds(nanoseconds);
    scalar({TUTTI_OBJECT_TIMESTAMP, static_cast<uint64_t>(nanoseconds),
            static_cast<uint64_t>(seconds)});
}

void Builder::array(const Array& array, Memory memory) {
    check_place(TUTTI_OBJECT_ARRAY);
    const uint64_t count = count_elements(array);
    const auto dimensions = static_cast<size_t>(array.dimensions);
    Arena& arena = object_->arena_;
    auto* shape = reinterpret_cast<int64_t*>(arena.take(dimensions * sizeof(int64_t)));
    std::copy_n(array.shape, dimensions, shape);
    const void* data = array.data;
    if (memory == Memory::Copied) {
        data = arena.copy_bytes(data, count * element_size(array.dtype));
    }
    object_->borrows_ |= memory == Memory::Kept;
    scalar({TUTTI_OBJECT_ARRAY, count,
            new (arena.take(sizeof(Array))) Array{data, shape, array.dtype, array.dimensions}});
}

void Builder::list(uint64_t count) {
    container(TUTTI_OBJECT_LIST, count);
}

void Builder::map(uint64_t count) {
    if (count != open_ended && count > most_.nodes) refuse("the map has ", count, " pairs");
    container(TUTTI_OBJECT_MAP, count == open_ended ? count : 2 * count);
}

void Builder::container(tutti_object_kind kind, uint64_t children) {
    check_place(kind);
    if (children != open_ended && children > most_.nodes - object_->size() - 1) {
        refuse("there are more than ", most_.nodes, " values");
    }
    if (open_.size() >= most_.depth) {
        refuse("lists and maps are more than ", most_.depth, " deep inside each other");
    }
    open_.push_back({static_cast<uint32_t>(object_->size()), 0, children});
    object_->nodes_.emplace_back(kind, 0, uint64_t{1});
    object_->depth_ = std::max(object_->depth_, open_.size());
    if (children != 0) return;
    close_last();
    value_is_there();
}

void Builder::close() {
    if (open_.empty()) refuse("no list or map is open");
    const Open& last = open_.back();
    if (last.left != open_ended) {
        refuse("the list or map that is open ends by itself, with ", last.left, " more values");
    }
    if (!list_is_open() && last.count % 2 == 1) refuse("the last key of the map has no value");
    close_last();
    value_is_there();
}

void Builder::close_last() {
    const Open last = open_.back();
    Node& node = object_->nodes_[last.node];
    const bool is_map = node.kind() == TUTTI_OBJECT_MAP;
    node.close(is_map ? last.count / 2 : last.count, object_->size() - last.node);
    open_.pop_back();
    const bool large = node.size() > object_limits::unindexed;
    if (!is_map) {
        if (large && node.extent() != node.size() + 1) index_list(last.node);
    } else if (large) {
        index_map(last.node);
    } else {
        check_keys(last.node);
    }
}

void Builder::index_list(size_t list) {
    std::vector<uint32_t> places;
    places.reserve(object_->nodes_[list].size());
    for (size_t node = list + 1; node < object_->end(list); node = object_->end(node)) {
        places.push_back(static_cast<uint32_t>(node - list));
    }
    object_->indexes_.push_back({static_cast<uint32_t>(list), std::move(places)});
}

void Builder::check_keys(size_t map) {
    const Object& object = *object_;
    const size_t end = object.end(map);
    for (size_t later = map + 1; later < end; later = object.end(later + 1)) {
        const Key key(object[later]);
        for (size_t node = map + 1; node < later; node = object.end(node + 1)) {
            if (Key(object[node]) == key) refuse_twice(later);
        }
    }
}

void Builder::index_map(size_t map) {
    const Object& object = *object_;
    const size_t end = object.end(map);
    std::vector<uint32_t> table(std::bit_ceil(2 * static_cast<size_t>(object[map].size())));
    const size_t mask = table.size() - 1;
    for (size_t node = map + 1; node < end; node = object.end(node + 1)) {
        const Key key(object[node]);
        size_t place = hash(key) & mask;
        for (; table[place] != 0; place = (place + 1) & mask) {
            if (Key(object[map + table[place]]) == key) refuse_twice(node);
        }
        table[place] = static_cast<uint32_t>(node - map);
    }
    object_->indexes_.push_back({static_cast<uint32_t>(map), std::move(table)});
}

void Builder::refuse_twice(size_t key) const {
    refuse("the key ", describe(Key((*object_)[key])), " is in the map twice");
}

std::string Builder::what_is_missing() const {
    if (open_.empty()) return "it has no value yet";
    return cat(open_.size(), " of its lists and maps are open");
}

std::shared_ptr<const Object> Builder::finish() {
    TUTTI_ASSERT(complete());
    std::ranges::sort(object_->indexes_, {}, &Object::Index::node);
    return std::move(object_);
}

}  // namespace tutti
