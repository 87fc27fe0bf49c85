// Notes between processes that share a network namespace: short, at once, perhaps lost, and from
// anybody there. A Unix datagram socket with a name that the kernel chooses. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "loop.hpp"

namespace tutti::net {

class Mailbox {
public:
    // Throws NETWORK where there can be none, OUT_OF_MEMORY without a descriptor.
    Mailbox(Loop& loop, std::function<void(std::string_view)> received);
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    [[nodiscard]] const std::string& name() const;
    // False if nobody has the mailbox of that name, or it may not be reached. One that is full
    // takes nothing, and that is true.
    bool send(const std::string& name, std::string_view note) const;

private:
    struct Core;
    std::unique_ptr<Core> core_;
};

}  // namespace tutti::net
