#include "object_lists.hpp"

#include "arguments.hpp"
#include "base/error.hpp"

namespace tutti::capi {

std::vector<ObjectPointer> read_objects(tutti_object* const* objects, size_t count) {
    need_array(objects, count, "objects");
    std::vector<ObjectPointer> values;
    values.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        const std::string name = indexed("objects", i);
        values.push_back(Pin<tutti_object>(objects[i], name.c_str())->value(name.c_str()));
    }
    return values;
}

std::vector<std::shared_ptr<Draft>> open_list(OwnedBytes message, size_t count, int source,
                                              const Reading& reading) {
    std::vector<std::shared_ptr<Draft>> drafts;
    try {
        for (ObjectPointer& object : unpack_list(std::move(message), count, reading.settings)) {
            drafts.push_back(std::make_shared<Draft>(std::move(object)));
        }
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_INVALID_ARGUMENT) throw;
        throw Error(
            TUTTI_ERR_MISMATCH,
            cat(reading.call, ": rank ", source, " sent what cannot be read: ", error.what()),
            source);
    }
    return drafts;
}

}  // namespace tutti::capi
