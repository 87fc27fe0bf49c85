// One node's eye on the others during an attempt: gives signs of life, waits for the verdict, and
// where the store is served looks whether all still live. Main thread of the launcher, beside a
// thread of its own where there are several nodes.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "bootstrap.hpp"
#include "net/descriptor.hpp"
#include "verdict.hpp"

namespace tutti::launch {

class Watch {
public:
    Watch(const BootstrapResult& bootstrap, int attempt, const RendezvousTimes& times);
    // Returns soon only if there is a verdict.
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Readable when the verdict is known.
    [[nodiscard]] int descriptor() const { return known_.get(); }
    [[nodiscard]] std::optional<Verdict> verdict() const;

    // Unless somebody was faster, this is the verdict. Known when it returns; does not throw: who
    // cannot reach the store is lost.
    void raise(Verdict::Kind kind, int signal = 0);
    // The ranks of this node have ended well; the last node's makes the verdict.
    void finished();

private:
    struct Pulse {
        std::string value;
        Deadline lost = Deadline::never();
    };

    void run();
    void look_at_the_others(std::vector<Pulse>& pulses);
    void propose(const Verdict& verdict);
    void settle(const Verdict& verdict);
    void lose_the_store(const char* reason);

    const BootstrapResult& bootstrap_;
    const int attempt_;
    const RendezvousTimes times_;
    net::Descriptor known_;
    mutable Mutex mutex_;
    std::optional<Verdict> verdict_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace tutti::launch
