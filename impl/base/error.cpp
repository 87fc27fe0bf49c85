#include "error.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

namespace tutti {

Status current_status() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        return error.status();
    } catch (const std::bad_alloc&) {
        return {TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM, "out of memory"};
    } catch (const std::length_error& error) {  // of a count that no memory can hold
        return {TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM, cat("out of memory: ", error.what())};
    } catch (const std::exception& error) {
        return {TUTTI_ERR_INTERNAL, -1, 0, cat("internal error: ", error.what())};
    } catch (...) {
        return {TUTTI_ERR_INTERNAL, -1, 0, "internal error of unknown type"};
    }
}

std::string errno_text(int number) {
    char buffer[128];
    const char* sentence = strerror_r(number, buffer, sizeof buffer);  // GNU form: returns the text
    const char* name = strerrorname_np(number);
    return cat(sentence, " (", name != nullptr ? name : "unknown errno", ")");
}

}  // namespace tutti
