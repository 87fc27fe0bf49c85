// The message in an error file. Whatever a program has written there must do no harm: what cannot
// be understood is shown as it is. Any thread.
#include "error_file.hpp"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text.hpp"
#include "limits.hpp"
#include "net/descriptor.hpp"

namespace tutti::launch {

namespace {

struct Release {
    void operator()(json_t* value) const { json_decref(value); }
};

// Null for what is no JSON: strictly, and nothing may follow it.
std::unique_ptr<json_t, Release> parse(const std::string& text) {
    constexpr size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_error_t fault;
    return std::unique_ptr<json_t, Release>(json_loadb(text.data(), text.size(), flags, &fault));
}

// The program chose what lies there: a pipe would let us wait for a writer that never comes, and a
// device may have no end.
std::string read_start(const std::string& path) {
    const net::Descriptor file(
        ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    struct stat facts = {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
    std::string text(limits::error_file_bytes, '\0');
    size_t size = 0;
    while (size < text.size()) {
        const auto count = ::read(file.get(), text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        size += static_cast<size_t>(count);
    }
    text.resize(size);
    return text;
}

}  // namespace

std::string message_of_json(const std::string& text) {
    const auto file = parse(text);
    const json_t* message = json_object_get(file.get(), "message");
    if (json_is_object(message)) message = json_object_get(message, "message");
    if (!json_is_string(message)) return text;
    return {json_string_value(message), json_string_length(message)};
}

std::string read_error_file(const std::string& path) {
    const auto message = message_of_json(read_start(path));
    if (message.size() <= limits::error_message_bytes) return message;
    return cat(cut(message, limits::error_message_bytes), "... (cut here)");
}

}  // namespace tutti::launch
