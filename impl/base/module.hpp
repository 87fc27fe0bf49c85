// Libraries of their own that this one loads by name when they are needed: libtutti-NAME.so. Any
// thread; what was loaded stays.
#pragma once

#include <stdexcept>
#include <string>

namespace tutti {

// Where TUTTI_<NAME>_MODULE says, else beside this library or in the folder tutti there, with and
// without following links, else where the system looks for libraries.
struct Module {
    std::string place;      // the file as it was found
    void* entry = nullptr;  // the symbol
};

// Nothing with that name can be loaded; says what is there but broken, else where it was looked
// for.
class NoModule : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

// Throws NoModule; UNSUPPORTED for a library without the symbol.
Module load_module(const std::string& name, const char* symbol);

}  // namespace tutti
