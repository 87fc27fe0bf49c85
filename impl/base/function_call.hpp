// A function of the program that an operation calls must not wait for that operation: both would
// wait for ever, past all timeouts. So threads note whose operation they are in (InOperation) and,
// while the program's function runs, that they are in it (FunctionCall). A call that would wait
// asks. The thread itself.
#pragma once

#include <utility>

namespace tutti {

// The owner of an operation, a group or a reducer; `root`: what ends it as well, or the same.
struct Operator {
    const void* own = nullptr;
    const void* root = nullptr;
};

class InOperation {
public:
    explicit InOperation(const Operator& of) : before_(std::exchange(current, of)) {}
    ~InOperation() { current = before_; }
    InOperation(const InOperation&) = delete;
    InOperation& operator=(const InOperation&) = delete;

    // To enter it on another thread.
    static const Operator& now() { return current; }

private:
    static inline thread_local constinit Operator current;
    const Operator before_;
};

class FunctionCall {
public:
    // `what`, a literal: "reduce function".
    explicit FunctionCall(const char* what)
        : what_(what), of_(InOperation::now()), outer_(std::exchange(innermost, this)) {}
    ~FunctionCall() { innermost = outer_; }
    FunctionCall(const FunctionCall&) = delete;
    FunctionCall& operator=(const FunctionCall&) = delete;

    // The function that this thread is in, and that such an operation called; null: none.
    static const char* of(const void* own) {
        for (const FunctionCall* one = innermost; one != nullptr; one = one->outer_) {
            if (one->of_.own == own && own != nullptr) return one->what_;
        }
        return nullptr;
    }
    // The same of all that ends with it.
    static const char* under(const void* root) {
        for (const FunctionCall* one = innermost; one != nullptr; one = one->outer_) {
            if (one->of_.own == root || one->of_.root == root) return one->what_;
        }
        return nullptr;
    }

private:
    static inline thread_local constinit const FunctionCall* innermost = nullptr;
    const char* const what_;
    const Operator of_;
    const FunctionCall* const outer_;
};

}  // namespace tutti
