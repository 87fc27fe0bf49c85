#include "compress.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <thread>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "limits.hpp"

namespace tutti {

namespace {

// For a zstd call that fails only for want of memory.
size_t sure(size_t result) {
    if (ZSTD_isError(result) == 0) return result;
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    throw Error(TUTTI_ERR_INTERNAL, cat("zstd: ", ZSTD_getErrorName(result)));
}

struct FreeCompression {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompression {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

template <typename Context>
Context* need(Context* context) {
    if (context == nullptr) throw std::bad_alloc();
    return context;
}

[[noreturn]] void fail(size_t result, size_t at) {
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    refuse("the message cannot be decompressed at byte ", at, ": ", ZSTD_getErrorName(result));
}

// No room is taken at once for more than this many times what has come: a frame of zeros may hold
// far more than it is long, and a lying one promises it.
constexpr size_t trusted_ratio = 16;

// Beside the one that waits: a long value is cut into jobs.
int workers_for(size_t size) {
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    if (size < object_limits::parallel_compression || processors < 2) return 0;
    return std::min(processors, object_limits::compression_threads);
}

}  // namespace

bool is_compressed(std::span<const std::byte> message) {
    constexpr std::array<unsigned char, 4> magic{0x28, 0xb5, 0x2f, 0xfd};
    return message.size() > magic.size() &&
           std::memcmp(message.data(), magic.data(), magic.size()) == 0;
}

size_t compressed_size(std::span<const std::byte> sample) {
    Block out(ZSTD_compressBound(sample.size()));
    return sure(ZSTD_compress(out.data(), out.size(), sample.data(), sample.size(), 1));
}

struct Compressor::State {
    std::unique_ptr<ZSTD_CCtx, FreeCompression> context{need(ZSTD_createCCtx())};
    Block out{ZSTD_CStreamOutSize()};
};

Compressor::Compressor(int level, size_t size, Sink& out, Share share)
    : state_(std::make_unique<State>()), out_(out), level_(level), size_(size) {
    ZSTD_CCtx* context = state_->context.get();
    sure(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level));
    sure(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1));
    sure(ZSTD_CCtx_setPledgedSrcSize(context, size));
    // A zstd built without threads refuses, and compresses here.
    const bool some_parts =
        share == Share::SomeParts && size >= object_limits::parallel_compression;
    const int workers = std::max(workers_for(size), some_parts ? 1 : 0);
    if (workers == 0 || ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, workers))) {
        return;
    }
    only_some_parts_ = some_parts;
    if (some_parts) {
        constexpr auto part = static_cast<int>(object_limits::compression_part);
        sure(ZSTD_CCtx_setParameter(context, ZSTD_c_jobSize, part));
    }
    const SignalsBlocked blocked;  // for its threads, which begin here
    run({}, false);
}

Compressor::~Compressor() = default;

size_t Compressor::tried() const {
    return only_some_parts_ ? size_ / object_limits::compressed_parts : size_;
}

// zstd's threads can change the level from one job to the next, within a frame. Its lowest level
// hardly looks for anything: the part stays as it is.
void Compressor::begin_part() {
    const size_t part = written_ / object_limits::compression_part;
    const bool shrinks = part % object_limits::compressed_parts == 0;
    sure(ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel,
                                shrinks ? level_ : ZSTD_minCLevel()));
}

void Compressor::write(std::span<const std::byte> piece) {
    while (!piece.empty()) {
        size_t size = piece.size();
        if (only_some_parts_) {
            const size_t in_part = written_ % object_limits::compression_part;
            if (in_part == 0) begin_part();
            size = std::min(size, object_limits::compression_part - in_part);
        }
        run(piece.first(size), false);
        written_ += size;
        piece = piece.subspan(size);
    }
}

void Compressor::finish() {
    run({}, true);
}

void Compressor::run(std::span<const std::byte> piece, bool last) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    size_t left = 0;
    do {
        ZSTD_outBuffer out{state_->out.data(), state_->out.size(), 0};
        left = sure(ZSTD_compressStream2(state_->context.get(), &out, &in,
                                         last ? ZSTD_e_end : ZSTD_e_continue));
        if (out.pos > 0) out_.write({state_->out.data(), out.pos});
    } while (last ? left > 0 : in.pos < in.size);
}

struct Decompressor::State {
    std::unique_ptr<ZSTD_DCtx, FreeDecompression> context{need(ZSTD_createDCtx())};
};

Decompressor::Decompressor(size_t limit) : state_(std::make_unique<State>()), limit_(limit) {
    // The window is memory too.
    const int window = std::clamp(static_cast<int>(std::bit_width(limit)), 10,
                                  object_limits::decompression_window);
    sure(ZSTD_DCtx_setParameter(state_->context.get(), ZSTD_d_windowLogMax, window));
}

Decompressor::~Decompressor() = default;

// Room for what `piece` more bytes of the frame may hold. One byte beyond the limit is let in, so
// that it is seen.
void Decompressor::make_room(size_t piece) {
    const size_t most = promised_.value_or(limit_ + 1);
    const size_t trusted = trusted_ratio * (taken_ + piece);
    const size_t room = std::min(most, std::max({2 * content_.size, trusted, size_t{1024}}));
    content_.block.grow(room + 1);  // and a NUL
}

void Decompressor::read_header(std::span<const std::byte> piece) {
    const unsigned long long size = ZSTD_getFrameContentSize(piece.data(), piece.size());
    if (size == ZSTD_CONTENTSIZE_ERROR) {
        refuse("the message cannot be decompressed at byte 0: it has no header of zstd's");
    }
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) return;
    if (size > limit_) {
        refuse("the compressed message should hold ", size, " bytes, and the limit is ", limit_);
    }
    promised_ = size;
}

void Decompressor::write(std::span<const std::byte> piece) {
    if (taken_ == 0) read_header(piece);
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    for (bool full = true; full || in.pos < in.size;) {
        if (ended_ && in.pos < in.size) {
            refuse("the compressed message ends at byte ", taken_, ", and ", in.size - in.pos,
                   " more follow");
        }
        if (ended_) return;
        if (content_.size + 1 >= content_.block.size()) make_room(in.size - in.pos);
        ZSTD_outBuffer out{content_.block.data(), content_.block.size() - 1, content_.size};
        const size_t before = in.pos;
        const size_t result = ZSTD_decompressStream(state_->context.get(), &out, &in);
        const bool moved = in.pos > before || out.pos > content_.size;
        taken_ += in.pos - before;
        content_.size = out.pos;
        full = out.pos == out.size && moved;
        ended_ = result == 0;
        if (ZSTD_isError(result) != 0) fail(result, taken_);
        if (content_.size > limit_ || (!moved && in.pos < in.size)) {
            refuse("the compressed message holds more than ", promised_.value_or(limit_),
                   promised_ ? " bytes, which it should" : " bytes, the limit");
        }
    }
}

OwnedBytes Decompressor::finish() {
    if (!ended_) refuse("the compressed message ends too early, at byte ", taken_);
    return std::move(content_);
}

}  // namespace tutti
