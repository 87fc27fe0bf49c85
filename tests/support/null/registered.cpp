// For programs in C, which cannot register the null backends: they are there before main().
#include "null_backend.hpp"

namespace {

[[maybe_unused]] const bool registered = [] {
    tutti::test::register_null_backends();
    return true;
}();

}  // namespace
