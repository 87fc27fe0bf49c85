// The graph of waits: its nodes are the members of a job. It shows in whom all waiting ends. Any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::trace {

class Waits {
public:
    explicit Waits(size_t members) : of_(members) {}
    void add(size_t who, const std::vector<size_t>& on, const std::string& where);

    // Finds circles; what is below answers for the waits until then.
    void close();
    // The members in whom the waiting of `from` ends: they wait for nobody, or else are in circles
    // that nothing leads out of. In order.
    [[nodiscard]] std::vector<size_t> roots(const std::vector<size_t>& from) const;
    [[nodiscard]] bool waits(size_t who) const { return !of_[who].empty(); }
    // The circles that nothing leads out of, each as short as can be: who waits, and where; each
    // for the next, the last for the first.
    struct Link {
        size_t who;
        std::string where;
    };
    [[nodiscard]] std::vector<std::vector<Link>> circles() const;

private:
    class Components;
    struct Wait {
        size_t on;     // this member
        size_t where;  // in this call
    };
    [[nodiscard]] std::vector<bool> reached(const std::vector<size_t>& from) const;
    [[nodiscard]] std::vector<Link> circle_of(size_t member) const;

    std::vector<std::vector<Wait>> of_;
    std::vector<std::string> calls_;
    std::vector<size_t> component_;  // of members; those of a circle have the same
    std::vector<bool> is_circle_;    // of components: a circle that nothing leads out of
};

}  // namespace tutti::trace
