// The tables of tutti/ext.h as the engine takes them: read within their size, checked, found in
// libraries; and failures on their way between C and C++. Any thread.
#pragma once

#include <string>

#include "base/error.hpp"
#include "tutti/ext.h"

namespace tutti::ext {

// The caller's table, of which every entry that must be there is; what is beyond its size is NULL.
// `owner` begins the errors: "libtutti-x.so". Throws UNSUPPORTED for another version or a size that
// no version has, INVALID_ARGUMENT for what else is wrong.
tutti_backend_table read_table(const tutti_backend_table* given, const std::string& owner);
tutti_store_table read_table(const tutti_store_table* given, const std::string& owner);
tutti_rendezvous_table read_table(const tutti_rendezvous_table* given, const std::string& owner);

// A library of that name, if there is one. Throws NoModule (base/module.hpp), and as read_table()
// does.
struct Library {
    std::string place;
    tutti_module module;
};
Library find_library(const std::string& name);

// Whether it can be the name of a backend or of a library: 1 to 32 of a-z, 0-9, - and _.
bool is_name(const std::string& name);

// An error for a function to write into.
tutti_error empty_error();
// The result of a function, with the error that it wrote.
Status status_of(tutti_status code, const tutti_error& error);
// Calls a function of a table whose last parameter is an error; a failure is thrown, behind
// `prefix`.
template <typename... Parameters, typename... Arguments>
void call(const std::string& prefix, tutti_status (*function)(Parameters...),
          Arguments... arguments) {
    tutti_error error = empty_error();
    const tutti_status code = function(arguments..., &error);
    if (code == TUTTI_OK) return;
    Status status = status_of(code, error);
    status.message = prefix + status.message;
    throw Error(std::move(status));
}

// Writes a failure for a function of a table, within the size of its error; NULL: nowhere. Returns
// the code.
tutti_status tell(const Status& status, tutti_error* error) noexcept;
// Runs what a table calls; what it throws, it tells.
template <typename Body>
tutti_status guard(tutti_error* error, Body&& body) noexcept {
    try {
        body();
        return TUTTI_OK;
    } catch (...) {
        return tell(current_status(), error);
    }
}

}  // namespace tutti::ext
