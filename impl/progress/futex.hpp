// The kernel's wait for a word of memory to change. Any thread; nothing here throws.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>

#include "base/deadline.hpp"

namespace tutti::futex {

// The threads that wait for the word are of this process, or of all that map its memory.
enum class Scope { Process, Shared };

template <typename Word>
concept Waitable = std::same_as<Word, uint32_t> || std::same_as<Word, int32_t>;

// Sleeps while the word is `value`, until a wake() or the deadline. It also returns without either
// now and then. False: the deadline has passed.
bool wait(const void* word, uint32_t value, Scope scope, const Deadline& deadline) noexcept;
// Wakes all that sleep on the word.
void wake_all(void* word, Scope scope) noexcept;

template <Waitable Word>
bool wait(const std::atomic<Word>& word, Word value, Scope scope,
          const Deadline& deadline = Deadline::never()) noexcept {
    static_assert(sizeof word == sizeof(uint32_t));
    return wait(static_cast<const void*>(&word), static_cast<uint32_t>(value), scope, deadline);
}
template <Waitable Word>
void wake_all(std::atomic<Word>& word, Scope scope) noexcept {
    wake_all(static_cast<void*>(&word), scope);
}

}  // namespace tutti::futex
