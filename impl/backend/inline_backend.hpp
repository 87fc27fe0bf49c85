// A backend whose collectives are done when the starting call returns. A synchronous one runs on
// its caller's thread, without a Work or another thread; a background one on the group's.
#pragma once

#include <memory>

#include "backend.hpp"

namespace tutti {

class InlineBackend : public Backend {
public:
    // The whole collective, on this thread. `sequence` counts the group's collectives and is the
    // same on all ranks. Throws.
    virtual void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) = 0;

    [[nodiscard]] const Capabilities& capabilities() const override;
    [[nodiscard]] InlineBackend* as_inline() final { return this; }
    // Whether its messages end in test().
    [[nodiscard]] virtual bool polls_messages() const { return false; }
    // Or elsewhere, but not in the call that starts them, nor by a helper.
    [[nodiscard]] virtual bool ends_messages_later() const { return polls_messages(); }
    // run() and then the end of the work.
    void post(Request request, std::shared_ptr<Work> work) override;
};

}  // namespace tutti
