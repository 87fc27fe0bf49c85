#include "json.hpp"

#include <limits>
#include <vector>

#include "json_array.hpp"
#include "json_text.hpp"

namespace tutti {

namespace {

class Printer {
public:
    Printer(const Object& object, const JsonStyle& style)
        : object_(object),
          indent_(style.indent),
          limit_(style.limit == 0 ? std::numeric_limits<size_t>::max() : style.limit) {}

    std::string print(size_t node) {
        const size_t end = object_.end(node);
        while (node < end) {
            if (!open_.empty()) node = separate(node);
            if (!open_.empty() && node == open_.back().end) {
                close();
                continue;
            }
            value(node);
            node = object_[node].is_container() ? node + 1 : object_.end(node);
        }
        while (!open_.empty()) close();
        return std::move(out_);
    }

private:
    struct Open {
        size_t end;
        bool map;
        size_t count = 0;  // values so far, keys too
    };

    // Writes the separator before a value or key; returns the end of the list or map when it is
    // cut.
    size_t separate(size_t node) {
        Open& last = open_.back();
        if (node == last.end) return node;
        if (last.map && last.count % 2 == 1) {
            out_ += ": ";
        } else {
            if (last.count > 0) out_ += indent_ > 0 ? "," : ", ";
            new_line(open_.size());
            if (out_.size() >= limit_) {
                out_ += last.map ? "\"...\": \"...\"" : "\"...\"";
                ++last.count;
                return last.end;
            }
        }
        ++last.count;
        return node;
    }

    void value(size_t node) {
        const Node& value = object_[node];
        const bool key = !open_.empty() && open_.back().map && open_.back().count % 2 == 1;
        if (key && value.is_integer()) out_ += '"';
        switch (value.kind()) {
            case TUTTI_OBJECT_NIL:
                out_ += "null";
                break;
            case TUTTI_OBJECT_BOOL:
                out_ += value.bits() != 0 ? "true" : "false";
                break;
            case TUTTI_OBJECT_INT64:
                out_ += std::to_string(static_cast<int64_t>(value.bits()));
                break;
            case TUTTI_OBJECT_UINT64:
                out_ += std::to_string(value.bits());
                break;
            case TUTTI_OBJECT_FLOAT64:
                json::append_real(out_, value.real());
                break;
            case TUTTI_OBJECT_STRING:
                json::append_string(out_, value.text(), limit_);
                break;
            case TUTTI_OBJECT_BYTES:
                json::append_bytes(out_, value.text(), limit_);
                break;
            case TUTTI_OBJECT_TIMESTAMP:
                json::append_time(out_, static_cast<int64_t>(value.bits()),
                                  static_cast<int64_t>(value.size()));
                break;
            case TUTTI_OBJECT_ARRAY:
                json::append_array(out_, value.array(), value.size(), limit_);
                break;
            default:
                open_.push_back({object_.end(node), value.kind() == TUTTI_OBJECT_MAP});
                out_ += open_.back().map ? '{' : '[';
        }
        if (key && value.is_integer()) out_ += '"';
    }

    void close() {
        const Open last = open_.back();
        open_.pop_back();
        if (last.count > 0) new_line(open_.size());
        out_ += last.map ? '}' : ']';
    }

    void new_line(size_t depth) {
        if (indent_ == 0) return;
        out_ += '\n';
        out_.append(depth * indent_, ' ');
    }

    const Object& object_;
    const size_t indent_;
    const size_t limit_;
    std::string out_;
    std::vector<Open> open_;
};

}  // namespace

std::string to_json(const Object& object, size_t node, const JsonStyle& style) {
    return Printer(object, style).print(node);
}

}  // namespace tutti
