#include "error.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include "resource_limits.hpp"

namespace tutti {

namespace {

// Descriptors that Gloo, and the parts made before it, may have had open when it failed.
constexpr int descriptors_of_a_foreign_part = 32;

// Gloo tells an errno in words, or not at all. What it held when it failed is closed again by now.
Status status_of(const std::exception& foreign) {
    int number = exhaustion_in(foreign.what());
    if (number == 0) number = exhaustion_of_descriptors(descriptors_of_a_foreign_part);
    if (number == 0) {
        return {TUTTI_ERR_INTERNAL, -1, 0, cat("internal error: ", foreign.what())};
    }
    return system_error(TUTTI_ERR_INTERNAL, foreign.what(), number).status();
}

// EAGAIN is a thread's that could not be started.
Status status_of(const std::system_error& foreign) {
    const auto condition = foreign.code().default_error_condition();
    if (condition.category() != std::generic_category()) {
        return status_of(static_cast<const std::exception&>(foreign));
    }
    const int number = condition.value();
    if (number == EAGAIN) return thread_error("cannot start a thread", number).status();
    if (!is_exhaustion(number)) return status_of(static_cast<const std::exception&>(foreign));
    return system_error(TUTTI_ERR_INTERNAL, foreign.what(), number).status();
}

}  // namespace

Status current_status() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        return error.status();
    } catch (const std::bad_alloc&) {
        return {TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM, "out of memory", true};
    } catch (const std::length_error& error) {  // of a count that no memory can hold
        return {TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM, cat("out of memory: ", error.what()), true};
    } catch (const std::system_error& error) {
        return status_of(error);
    } catch (const std::exception& error) {
        return status_of(error);
    } catch (...) {
        return {TUTTI_ERR_INTERNAL, -1, 0, "internal error of unknown type"};
    }
}

Status gave_up(int own_rank, const Status& why) {
    Status told = why;
    if (told.code == TUTTI_ERR_TIMEOUT) told.code = TUTTI_ERR_ABORTED;
    if (told.rank < 0) told.rank = own_rank;
    told.message = cat("rank ", own_rank, " gave up: ", why.message);
    return told;
}

std::string errno_text(int number) {
    char buffer[128];
    const char* sentence = strerror_r(number, buffer, sizeof buffer);  // GNU form: returns the text
    const char* name = strerrorname_np(number);
    return cat(sentence, " (", name != nullptr ? name : "unknown errno", ")");
}

}  // namespace tutti
