// Watches a call of an inline backend, which is on its caller's thread: after a second this rank
// says which call it is in, and when the time is up, the backend is aborted. The caller's thread;
// the alarm's is done with it when the destructor returns.
#pragma once

#include <memory>

#include "opened.hpp"
#include "posted_call.hpp"

namespace tutti::ext {

class InlineWatch {
public:
    // Both live longer.
    InlineWatch(Opened& at, const PostedCall& call);
    ~InlineWatch();
    InlineWatch(const InlineWatch&) = delete;
    InlineWatch& operator=(const InlineWatch&) = delete;

private:
    struct Watched;
    const std::shared_ptr<Watched> watched_;
};

}  // namespace tutti::ext
