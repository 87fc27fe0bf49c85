// Descriptors of the module are opened as the host opens things: closed when the program executes
// another one and in a child of fork, and with no number of a standard stream. Any thread.
#pragma once

#include <tutti/ext.h>

namespace tutti::gloo_module {

// Before anything is opened.
void set_host(const tutti_backend_host& host);

// While it lives, this thread opens something. Short; none inside another one.
class Opening {
public:
    Opening();
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

    // Tells the host of it.
    int opened(int descriptor) const;
};

// At which Gloo has begun to listen on this thread; -1: none.
[[nodiscard]] int last_listening_descriptor();
// At which Gloo is to listen on this thread; 0: at any.
void want_port(int port);

}  // namespace tutti::gloo_module
