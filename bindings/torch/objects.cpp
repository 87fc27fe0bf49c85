#include "objects.hpp"

#include <torch/csrc/utils/pybind.h>
#include <tutti/object_collectives.h>
#include <tutti/object_point_to_point.h>

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "backend.hpp"

namespace py = pybind11;

namespace tutti_torch {
namespace {

using Texts = std::vector<std::string>;  // of bytes
using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

std::string take(tutti_bytes* bytes) {
    std::string text(static_cast<const char*>(tutti_bytes_data(bytes)), tutti_bytes_size(bytes));
    tutti_bytes_release(bytes);
    return text;
}

Texts take_all(const std::vector<tutti_bytes*>& all) {
    Texts texts;
    for (tutti_bytes* one : all) texts.push_back(take(one));
    return texts;
}

// Objects of tutti's that are given, or places for such that come.
class Objects {
public:
    explicit Objects(const Texts& messages) {
        for (const std::string& message : messages) {
            tutti_error error = no_error();
            tutti_object* object = nullptr;
            const tutti_status status =
                tutti_object_decode(message.data(), message.size(), nullptr, &object, &error);
            if (status != TUTTI_OK) release();
            check(status, error);
            handles_.push_back(object);
        }
    }
    explicit Objects(size_t places) : handles_(places) {}
    ~Objects() { release(); }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;

    tutti_object** data() { return handles_.empty() ? nullptr : handles_.data(); }
    int64_t count() const { return static_cast<int64_t>(handles_.size()); }

    Texts messages() const {
        Texts texts;
        for (tutti_object* object : handles_) {
            tutti_error error = no_error();
            tutti_bytes* bytes = nullptr;
            check(tutti_object_encode(object, nullptr, &bytes, &error), error);
            texts.push_back(take(bytes));
        }
        return texts;
    }

private:
    void release() {
        for (tutti_object* object : handles_) tutti_object_release(object);
        handles_.clear();
    }

    std::vector<tutti_object*> handles_;
};

tutti_group* group_of(const BackendPtr& backend) {
    const auto* own = dynamic_cast<const Backend*>(backend.get());
    if (own != nullptr) return own->handle();
    C10_THROW_ERROR(ValueError, "tutti: the group has another backend");
}

size_t ranks_of(const BackendPtr& backend) {
    return static_cast<size_t>(backend->getSize());
}

Texts broadcast_objects(const BackendPtr& backend, const Texts& given, int64_t count, int src) {
    const bool gives = backend->getRank() == src;
    Objects in(given);
    Objects out(gives ? 0 : static_cast<size_t>(count));
    tutti_error error = no_error();
    check(tutti_broadcast_object_list(group_of(backend), in.data(), count, src, nullptr, nullptr,
                                      out.data(), nullptr, &error),
          error);
    return gives ? given : out.messages();
}

Texts all_gather_object(const BackendPtr& backend, const std::string& given) {
    Objects in(Texts{given});
    Objects out(ranks_of(backend));
    tutti_error error = no_error();
    check(tutti_all_gather_object(group_of(backend), *in.data(), nullptr, nullptr, out.data(),
                                  out.count(), nullptr, &error),
          error);
    return out.messages();
}

Texts gather_object(const BackendPtr& backend, const std::string& given, int dst) {
    Objects in(Texts{given});
    Objects out(backend->getRank() == dst ? ranks_of(backend) : 0);
    tutti_error error = no_error();
    check(tutti_gather_object(group_of(backend), *in.data(), dst, nullptr, nullptr, out.data(),
                              out.count(), nullptr, &error),
          error);
    return out.messages();
}

Texts scatter_objects(const BackendPtr& backend, const Texts& given, int src) {
    Objects in(given);
    Objects out(size_t{1});
    tutti_error error = no_error();
    check(tutti_scatter_object_list(group_of(backend), in.data(), in.count(), src, nullptr, nullptr,
                                    out.data(), nullptr, &error),
          error);
    return out.messages();
}

Texts send_objects(const BackendPtr& backend, const Texts& given, int dst, int tag) {
    Objects in(given);
    tutti_error error = no_error();
    check(tutti_send_object_list(group_of(backend), in.data(), in.count(), dst, tag, nullptr,
                                 nullptr, nullptr, &error),
          error);
    return {};
}

std::pair<Texts, int> recv_objects(const BackendPtr& backend, size_t count, int src, int tag) {
    Objects out(count);
    int32_t from = -1;
    tutti_error error = no_error();
    check(tutti_recv_object_list(group_of(backend), src, tag, nullptr, nullptr, out.data(),
                                 out.count(), &from, nullptr, &error),
          error);
    return {out.messages(), from};
}

Texts broadcast_bytes(const BackendPtr& backend, const std::string& given, int src) {
    const bool gives = backend->getRank() == src;
    std::vector<tutti_bytes*> out(gives ? 0 : 1);
    tutti_error error = no_error();
    check(tutti_broadcast_bytes(group_of(backend), gives ? given.data() : nullptr,
                                gives ? given.size() : 0, src, 0, nullptr,
                                gives ? nullptr : out.data(), nullptr, &error),
          error);
    return gives ? Texts{given} : take_all(out);
}

Texts all_gather_bytes(const BackendPtr& backend, const std::string& given) {
    std::vector<tutti_bytes*> out(ranks_of(backend));
    tutti_error error = no_error();
    check(tutti_all_gather_bytes(group_of(backend), given.data(), given.size(), 0, nullptr,
                                 out.data(), static_cast<int64_t>(out.size()), nullptr, &error),
          error);
    return take_all(out);
}

Texts send_bytes(const BackendPtr& backend, const std::string& given, int dst, int tag) {
    tutti_error error = no_error();
    check(tutti_send_bytes(group_of(backend), given.data(), given.size(), dst, tag, nullptr,
                           nullptr, &error),
          error);
    return {};
}

std::pair<Texts, int> recv_bytes(const BackendPtr& backend, int src, int tag) {
    tutti_bytes* out = nullptr;
    int32_t from = -1;
    tutti_error error = no_error();
    check(tutti_recv_bytes(group_of(backend), src, tag, 0, nullptr, &out, &from, nullptr, &error),
          error);
    return {Texts{take(out)}, from};
}

py::object as_python(const Texts& texts) {
    py::list list;
    for (const std::string& text : texts) list.append(py::bytes(text));
    return list;
}

py::object as_python(const std::pair<Texts, int>& received) {
    return py::make_tuple(as_python(received.first), received.second);
}

template <typename Result, typename... Arguments>
void add(py::module_& module, const char* name, Result (*call)(Arguments...)) {
    module.def(name, [call](std::decay_t<Arguments>... arguments) {
        Result result;
        {
            const py::gil_scoped_release released;
            result = call(arguments...);
        }
        return as_python(result);
    });
}

}  // namespace

void add_object_calls(py::module_& module) {
    add(module, "broadcast_objects", broadcast_objects);
    add(module, "all_gather_object", all_gather_object);
    add(module, "gather_object", gather_object);
    add(module, "scatter_objects", scatter_objects);
    add(module, "send_objects", send_objects);
    add(module, "recv_objects", recv_objects);
    add(module, "broadcast_bytes", broadcast_bytes);
    add(module, "all_gather_bytes", all_gather_bytes);
    add(module, "send_bytes", send_bytes);
    add(module, "recv_bytes", recv_bytes);
}

}  // namespace tutti_torch
