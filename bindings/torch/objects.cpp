#include "objects.hpp"

#include <torch/csrc/utils/pybind.h>
#include <tutti/object_collectives.h>
#include <tutti/object_point_to_point.h>

#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend.hpp"
#include "handles.hpp"

namespace py = pybind11;

namespace tutti_torch {
namespace {

using Texts = std::vector<std::string>;  // of bytes
using BackendPtr = c10::intrusive_ptr<c10d::Backend>;
using Objects = Handles<tutti_object, tutti_object_release>;

std::string text_of(tutti_bytes* bytes) {
    return {static_cast<const char*>(tutti_bytes_data(bytes)), tutti_bytes_size(bytes)};
}

Texts texts_of(const ByteStrings& all) {
    Texts texts;
    for (tutti_bytes* one : all) texts.push_back(text_of(one));
    return texts;
}

Objects decoded(const Texts& messages) {
    Objects objects(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
        tutti_error error = no_error();
        check(tutti_object_decode(messages[i].data(), messages[i].size(), nullptr,
                                  objects.data() + i, &error),
              error);
    }
    return objects;
}

Texts messages_of(const Objects& objects) {
    Texts texts;
    for (tutti_object* object : objects) {
        tutti_error error = no_error();
        ByteStrings message(1);
        check(tutti_object_encode(object, nullptr, message.data(), &error), error);
        texts.push_back(text_of(*message.data()));
    }
    return texts;
}

// Whoever calls these functions by hand may give anything.
const Backend& own(const BackendPtr& backend) {
    const auto* own = dynamic_cast<const Backend*>(backend.get());
    if (own != nullptr) return *own;
    C10_THROW_ERROR(ValueError, backend ? "tutti: the group has another backend"
                                        : "tutti: the backend of the group is None");
}

size_t ranks_of(const BackendPtr& backend) {
    return static_cast<size_t>(own(backend).getSize());
}

size_t places_for(int64_t count, const char* call) {
    if (count >= 0 && count <= INT32_MAX) return static_cast<size_t>(count);
    C10_THROW_ERROR(ValueError, c10::str("tutti: ", call, " got the count ", count));
}

Texts broadcast_objects(const BackendPtr& backend, const Texts& given, int64_t count, int src) {
    tutti_group* const group = own(backend).handle();
    const bool gives = backend->getRank() == src;
    const size_t places = places_for(count, "broadcast_objects");
    if (gives && given.size() != places) {
        C10_THROW_ERROR(ValueError, c10::str("tutti: broadcast_objects got ", given.size(),
                                             " messages for the count ", count));
    }
    Objects in = decoded(given);
    Objects out(gives ? 0 : places);
    tutti_error error = no_error();
    check(tutti_broadcast_object_list(group, in.data(), count, src, nullptr, nullptr, out.data(),
                                      nullptr, &error),
          error);
    return gives ? given : messages_of(out);
}

Texts all_gather_object(const BackendPtr& backend, const std::string& given) {
    Objects out(ranks_of(backend));
    Objects in = decoded({given});
    tutti_error error = no_error();
    check(tutti_all_gather_object(own(backend).handle(), *in.data(), nullptr, nullptr, out.data(),
                                  out.count(), nullptr, &error),
          error);
    return messages_of(out);
}

Texts gather_object(const BackendPtr& backend, const std::string& given, int dst) {
    tutti_group* const group = own(backend).handle();
    Objects out(backend->getRank() == dst ? ranks_of(backend) : 0);
    Objects in = decoded({given});
    tutti_error error = no_error();
    check(tutti_gather_object(group, *in.data(), dst, nullptr, nullptr, out.data(), out.count(),
                              nullptr, &error),
          error);
    return messages_of(out);
}

Texts scatter_objects(const BackendPtr& backend, const Texts& given, int src) {
    tutti_group* const group = own(backend).handle();
    Objects in = decoded(given);
    Objects out(1);
    tutti_error error = no_error();
    check(tutti_scatter_object_list(group, in.data(), in.count(), src, nullptr, nullptr, out.data(),
                                    nullptr, &error),
          error);
    return messages_of(out);
}

Texts send_objects(const BackendPtr& backend, const Texts& given, int dst, int tag) {
    tutti_group* const group = own(backend).handle();
    Objects in = decoded(given);
    tutti_error error = no_error();
    check(tutti_send_object_list(group, in.data(), in.count(), dst, tag, nullptr, nullptr, nullptr,
                                 &error),
          error);
    return {};
}

std::pair<Texts, int> recv_objects(const BackendPtr& backend, int64_t count, int src, int tag) {
    tutti_group* const group = own(backend).handle();
    Objects out(places_for(count, "recv_objects"));
    int32_t from = -1;
    tutti_error error = no_error();
    check(tutti_recv_object_list(group, src, tag, nullptr, nullptr, out.data(), out.count(), &from,
                                 nullptr, &error),
          error);
    return {messages_of(out), from};
}

Texts broadcast_bytes(const BackendPtr& backend, const std::string& given, int src) {
    tutti_group* const group = own(backend).handle();
    const bool gives = backend->getRank() == src;
    ByteStrings out(gives ? 0 : 1);
    tutti_error error = no_error();
    check(tutti_broadcast_bytes(group, gives ? given.data() : nullptr, gives ? given.size() : 0,
                                src, 0, nullptr, out.data(), nullptr, &error),
          error);
    return gives ? Texts{given} : texts_of(out);
}

Texts all_gather_bytes(const BackendPtr& backend, const std::string& given) {
    ByteStrings out(ranks_of(backend));
    tutti_error error = no_error();
    check(tutti_all_gather_bytes(own(backend).handle(), given.data(), given.size(), 0, nullptr,
                                 out.data(), out.count(), nullptr, &error),
          error);
    return texts_of(out);
}

Texts send_bytes(const BackendPtr& backend, const std::string& given, int dst, int tag) {
    tutti_error error = no_error();
    check(tutti_send_bytes(own(backend).handle(), given.data(), given.size(), dst, tag, nullptr,
                           nullptr, &error),
          error);
    return {};
}

std::pair<Texts, int> recv_bytes(const BackendPtr& backend, int src, int tag) {
    ByteStrings out(1);
    int32_t from = -1;
    tutti_error error = no_error();
    check(tutti_recv_bytes(own(backend).handle(), src, tag, 0, nullptr, out.data(), &from, nullptr,
                           &error),
          error);
    return {texts_of(out), from};
}

// A message from anywhere, when it has been checked; not compressed.
py::bytes plain(const py::bytes& message) {
    const std::string_view text = message;
    Objects object(1);
    {
        const py::gil_scoped_release released;
        tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
        options.flags = TUTTI_OBJECT_BORROW;
        tutti_error error = no_error();
        check(tutti_object_decode(text.data(), text.size(), &options, object.data(), &error),
              error);
    }
    const bool is_compressed = text.substr(0, 4) == "\x28\xb5\x2f\xfd";
    return is_compressed ? py::bytes(messages_of(object).front()) : message;
}

py::object as_python(const Texts& texts) {
    py::list list;
    for (const std::string& text : texts) list.append(py::bytes(text));
    return list;
}

py::object as_python(const std::pair<Texts, int>& received) {
    return py::make_tuple(as_python(received.first), received.second);
}

template <typename Result, typename... Arguments, typename... Names>
void add(py::module_& module, const char* name, Result (*call)(Arguments...), Names... names) {
    const auto called = [call](std::decay_t<Arguments>... arguments) {
        Result result;
        {
            const py::gil_scoped_release released;
            result = call(arguments...);
        }
        return as_python(result);
    };
    module.def(name, called, py::arg("backend"), py::arg(names)...);
}

}  // namespace

void add_object_calls(py::module_& module) {
    add(module, "broadcast_objects", broadcast_objects, "messages", "count", "src");
    add(module, "all_gather_object", all_gather_object, "message");
    add(module, "gather_object", gather_object, "message", "dst");
    add(module, "scatter_objects", scatter_objects, "messages", "src");
    add(module, "send_objects", send_objects, "messages", "dst", "tag");
    add(module, "recv_objects", recv_objects, "count", "src", "tag");
    add(module, "broadcast_bytes", broadcast_bytes, "data", "src");
    add(module, "all_gather_bytes", all_gather_bytes, "data");
    add(module, "send_bytes", send_bytes, "data", "dst", "tag");
    add(module, "recv_bytes", recv_bytes, "src", "tag");
    module.def("plain", plain, py::arg("message"));
}

}  // namespace tutti_torch
