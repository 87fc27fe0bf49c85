// One node's eye on the others during an attempt: gives signs of life, waits for the verdict, and
// where the store is served looks whether all still live. Main thread of the launcher, beside a
// thread of its own where there are several nodes.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "bootstrap.hpp"
#include "net/descriptor.hpp"
#include "verdict.hpp"

namespace tutti::launch {

class Watch {
public:
    // `goes_on`: a node that is lost costs the others no more than its ranks.
    Watch(const BootstrapResult& bootstrap, int attempt, const RendezvousTimes& times,
          bool goes_on);
    // Returns soon only if there is a verdict.
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // About a node without which the others go on.
    struct News {
        bool is_lost = false;  // else it is back
        int first_rank = 0;    // of that node
        std::string text;
    };

    // Readable when the verdict is known, or there are news.
    [[nodiscard]] int descriptor() const { return known_.get(); }
    [[nodiscard]] std::optional<Verdict> verdict() const;

    // Unless somebody was faster, this is the verdict. Known when it returns; does not throw: who
    // cannot reach the store is lost.
    void raise(Verdict::Kind kind, int signal = 0);
    // The ranks of this node have ended, well unless failures leave the others alone; the last
    // node's makes the verdict.
    void finished();
    std::vector<News> take_news();

private:
    struct Pulse {
        std::string value;
        Deadline lost = Deadline::never();
        bool is_silent = false;
    };

    void run();
    void look_at_the_others(std::vector<Pulse>& pulses);
    [[nodiscard]] std::string silence() const;
    [[nodiscard]] Verdict loss_of(int node) const;
    void go_on_without(const Verdict& loss);
    void go_on_with(int node);
    void end_without_the_silent(const std::vector<Pulse>& pulses);
    void tell(News news);
    [[nodiscard]] int first_rank_of(int node) const;
    void propose(const Verdict& verdict);
    void settle(const Verdict& verdict);
    void lose_the_store(const char* reason);

    const BootstrapResult& bootstrap_;
    const int attempt_;
    const RendezvousTimes times_;
    const bool goes_on_;
    net::Descriptor known_;
    mutable Mutex mutex_;
    std::optional<Verdict> verdict_ TUTTI_GUARDED_BY(mutex_);
    std::vector<News> news_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace tutti::launch
