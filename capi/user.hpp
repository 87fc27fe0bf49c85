// The `user` of a caller's function: it ends, once, when nothing can call the function any more.
// Any thread.
#pragma once

#include <memory>

#include "refusal.hpp"
#include "tutti/error.h"

namespace tutti::capi {

class User {
public:
    User(void* user, tutti_release_function release) : user_(user), release_(release) {}
    ~User() {
        if (is_given_ && release_ != nullptr) release_(user_);
    }
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    [[nodiscard]] void* get() const { return user_; }
    // The call that took it has succeeded; until then it is the caller's.
    void give() { is_given_ = true; }

private:
    void* const user_;
    const tutti_release_function release_;
    bool is_given_ = false;
};

// The failure that a caller's function returned, with the text that it wrote.
inline Status status_of(tutti_status code, const tutti_error& error) {
    if (code == TUTTI_OK) return {};
    return {code, -1, error.system_errno, error.message};
}

}  // namespace tutti::capi
