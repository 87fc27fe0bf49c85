// Walks over memory a vector at a time. Part of the kernels: compiled once per instruction set,
// everything with internal linkage, no std. Any thread, any alignment; touches only the elements it
// was given.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tutti {
namespace {

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
constexpr size_t widest = 64;
#elif defined(__AVX2__)
constexpr size_t widest = 32;
#else
constexpr size_t widest = 16;
#endif
constexpr size_t narrowest = 16;

template <typename T, size_t bytes>
struct LanesOf {
    typedef T Type __attribute__((vector_size(bytes)));
};
// `bytes` of T side by side: + - * & | ^ < ? : work on all at once, unsigned integers wrap.
template <typename T, size_t bytes>
using Lanes = typename LanesOf<T, bytes>::Type;

// What is loaded and stored; an operation looks at it as its own lanes with as().
template <size_t bytes>
using Raw = Lanes<uint8_t, bytes>;

template <typename To, typename From>
inline To as(From from) {
    return __builtin_bit_cast(To, from);
}

template <typename Vector>
inline Vector load(const uint8_t* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
}

template <typename Vector>
inline void store(uint8_t* to, Vector vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
}

// For size >= bytes. The last vector may overlap the one before it, so it is computed before
// anything is overwritten: out may be a or b.
template <size_t bytes, typename Operation>
inline void sweep_vectors(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t size,
                          Operation operation) {
    using Vector = Raw<bytes>;
    const size_t last = size - bytes;
    const Vector end =
        operation.template apply<bytes>(load<Vector>(a + last), load<Vector>(b + last));
    for (size_t at = 0; at < last; at += bytes) {
        store(out + at,
              operation.template apply<bytes>(load<Vector>(a + at), load<Vector>(b + at)));
    }
    store(out + last, end);
}

// One element after the other, each alone in a vector: the same instructions, so the same bits.
template <typename Operation>
inline void sweep_elements(uint8_t* out, const uint8_t* a, const uint8_t* b, size_t size,
                           Operation operation) {
    using Unit = typename Operation::Unit;
    using Vector = Lanes<Unit, narrowest>;
    using Bytes = Raw<narrowest>;
    for (size_t at = 0; at < size; at += sizeof(Unit)) {
        const Vector first = {load<Unit>(a + at)};
        const Vector second = {load<Unit>(b + at)};
        const auto result =
            operation.template apply<narrowest>(as<Bytes>(first), as<Bytes>(second));
        store(out + at, as<Vector>(result)[0]);
    }
}

// An Operation has: Unit, the unsigned integer of an element's size (a part's, if complex), and
// apply<bytes>(a, b) on Raw<bytes>.
template <typename Operation>
inline void sweep(void* out, const void* a, const void* b, size_t size, Operation operation) {
    auto* const to = static_cast<uint8_t*>(out);
    const auto* const first = static_cast<const uint8_t*>(a);
    const auto* const second = static_cast<const uint8_t*>(b);
    if (widest > narrowest && size >= widest) {
        sweep_vectors<widest>(to, first, second, size, operation);
    } else if (size >= narrowest) {
        sweep_vectors<narrowest>(to, first, second, size, operation);
    } else {
        sweep_elements(to, first, second, size, operation);
    }
}

}  // namespace
}  // namespace tutti
