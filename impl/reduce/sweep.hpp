// Walks over memory a vector at a time. Part of the kernels: compiled once per instruction set,
// everything with internal linkage, no std. Any thread, any alignment; touches only the elements it
// was given.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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

// The bytes that are loaded and stored; an operation looks at them as its own lanes with as().
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

// Past the caches, to an address that is a multiple of the vector's size; fence() orders it.
template <size_t bytes>
inline void stream(uint8_t* to, Raw<bytes> vector) {
#if defined(__SSE2__)
    if constexpr (bytes == 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(vector));
    }
#endif
#if defined(__AVX2__)
    if constexpr (bytes == 32) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(vector));
    }
#endif
#if defined(__AVX512F__)
    if constexpr (bytes == 64) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(vector));
    }
#endif
#if !defined(__SSE2__)
    store(to, vector);
#endif
}

inline void fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
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

// Where the vectors of several inputs are read: `at` bytes from their beginnings.
struct Together {
    const void* const* inputs;
    size_t at;

    const uint8_t* operator[](size_t input) const {
        return static_cast<const uint8_t*>(inputs[input]) + at;
    }
};

// The same for one element, which is copied to the front of a vector of nothing else.
template <typename Unit>
struct Alone {
    const void* const* inputs;
    size_t at;
    Lanes<Unit, narrowest> vector{};

    const uint8_t* operator[](size_t input) {
        vector[0] = load<Unit>(static_cast<const uint8_t*>(inputs[input]) + at);
        return reinterpret_cast<const uint8_t*>(&vector);
    }
};

// For size >= bytes. The first and the last vector may overlap their neighbours, so they are
// computed before anything is overwritten: out may be one of the inputs.
template <size_t bytes, typename Fold>
inline void sweep_many_vectors(uint8_t* out, const void* const* inputs, size_t number, size_t size,
                               bool streaming, Fold fold) {
    const size_t last = size - bytes;
    const size_t to_alignment = -reinterpret_cast<uintptr_t>(out) % bytes;
    streaming = streaming && to_alignment % sizeof(typename Fold::Unit) == 0;
    const Raw<bytes> start = fold.template of<bytes>(Together{inputs, 0}, number);
    const Raw<bytes> end = fold.template of<bytes>(Together{inputs, last}, number);
    for (size_t at = streaming ? to_alignment : 0; at < last; at += bytes) {
        const Raw<bytes> vector = fold.template of<bytes>(Together{inputs, at}, number);
        if (streaming) {
            stream<bytes>(out + at, vector);
        } else {
            store(out + at, vector);
        }
    }
    store(out, start);
    store(out + last, end);
    if (streaming) fence();
}

// A Fold has: Unit as an Operation has, and of<bytes>(places, number), the result of that many
// vectors, places[i] being where the i-th is.
template <typename Fold>
inline void sweep_many(void* out, const void* const* inputs, size_t number, size_t size,
                       bool streaming, Fold fold) {
    using Unit = typename Fold::Unit;
    auto* const to = static_cast<uint8_t*>(out);
    if (widest > narrowest && size >= widest) {
        sweep_many_vectors<widest>(to, inputs, number, size, streaming, fold);
    } else if (size >= narrowest) {
        sweep_many_vectors<narrowest>(to, inputs, number, size, streaming, fold);
    } else {
        for (size_t at = 0; at < size; at += sizeof(Unit)) {
            const auto result = fold.template of<narrowest>(Alone<Unit>{inputs, at}, number);
            store(to + at, as<Lanes<Unit, narrowest>>(result)[0]);
        }
    }
}

// ((first op second) op third) ...
template <typename Operation>
struct InOrder {
    using Unit = typename Operation::Unit;
    Operation operation;

    template <size_t bytes, typename Places>
    Raw<bytes> of(Places places, size_t number) const {
        auto result = load<Raw<bytes>>(places[0]);
        for (size_t i = 1; i < number; ++i) {
            result = operation.template apply<bytes>(result, load<Raw<bytes>>(places[i]));
        }
        return result;
    }
};

}  // namespace
}  // namespace tutti
