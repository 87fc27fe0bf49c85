// Between two looks of a thread that spins.
#pragma once

namespace tutti {

inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace tutti
