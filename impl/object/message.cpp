#include "message.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "compress.hpp"
#include "decode.hpp"
#include "encode.hpp"

namespace tutti {

namespace {

class StringSink : public Sink {
public:
    StringSink(std::string& text, size_t size) : text_(text) { text_.reserve(text_.size() + size); }
    void write(std::span<const std::byte> piece) override {
        text_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }

private:
    std::string& text_;
};

// Keeps windows that lie evenly over all that is written, and drops the rest.
class SampleSink : public Sink {
public:
    explicit SampleSink(size_t size) : stride_(size / windows) {}

    void write(std::span<const std::byte> piece) override {
        while (!piece.empty()) {
            const size_t in_window = position_ % stride_;
            const bool keeps = in_window < window && position_ / stride_ < windows;
            const size_t until = keeps ? window : stride_;
            const size_t size = std::min(piece.size(), until - in_window);
            if (keeps) sample_.insert(sample_.end(), piece.begin(), piece.begin() + size);
            piece = piece.subspan(size);
            position_ += size;
        }
    }
    [[nodiscard]] std::span<const std::byte> sample() const { return sample_; }

    static constexpr size_t windows = 8;
    static constexpr size_t window = size_t{8} << 10;

private:
    const size_t stride_;
    size_t position_ = 0;
    std::vector<std::byte> sample_;
};

// Compressing costs more than it spares unless an eighth goes of what it is tried on.
bool pays(size_t compressed, size_t size, size_t tried) {
    return compressed < size - tried / 8;
}

bool sample_shrinks(const Object& object, size_t size) {
    if (size < 2 * SampleSink::windows * SampleSink::window) return true;  // trying is as quick
    SampleSink sink(size);
    encode(object, sink);
    const size_t sampled = sink.sample().size();
    return pays(compressed_size(sink.sample()), sampled, sampled);
}

void check_limits(const Object& object, size_t size, const ObjectSettings& settings) {
    if (size > settings.message_bytes) {
        refuse("the value takes ", size, " bytes, and the limit is ", settings.message_bytes);
    }
    if (object.size() > settings.values) {
        refuse("the object has ", object.size(), " values, and the limit is ", settings.values);
    }
    if (object.depth() > settings.depth) {
        refuse("lists and maps are ", object.depth(), " deep inside each other, and the limit is ",
               settings.depth);
    }
}

void check_size(size_t size, const ObjectSettings& settings) {
    if (size > settings.message_bytes) {
        refuse("the message has ", size, " bytes, and the limit is ", settings.message_bytes);
    }
}

OwnedBytes decompress(std::span<const std::byte> message, const ObjectSettings& settings) {
    Decompressor decompressor(settings.decompressed_bytes);
    decompressor.write(message);
    return decompressor.finish();
}

Builder::Most most(const ObjectSettings& settings) {
    return {settings.values, settings.depth};
}

}  // namespace

std::string pack(const Object& object, const ObjectSettings& settings) {
    std::string message;
    pack(object, settings, message);
    return message;
}

void pack(const Object& object, const ObjectSettings& settings, std::string& out) {
    const size_t size = encoded_size(object);
    check_limits(object, size, settings);
    const size_t before = out.size();
    const bool wanted = settings.compress && (!settings.same_memory || settings.level) &&
                        size >= settings.threshold && size <= settings.decompressed_bytes;
    if (wanted && sample_shrinks(object, size)) {
        StringSink sink(out, size);
        const bool spares = settings.same_host && !settings.level;
        Compressor compressor(settings.level.value_or(object_limits::compression_level), size, sink,
                              spares ? Compressor::Share::SomeParts : Compressor::Share::All);
        encode(object, compressor);
        compressor.finish();
        if (pays(out.size() - before, size, compressor.tried())) return;
        out.resize(before);
    }
    StringSink sink(out, size);
    encode(object, sink);
}

std::shared_ptr<const Object> unpack(std::span<std::byte> message,
                                     const std::shared_ptr<const void>& memory,
                                     const ObjectSettings& settings) {
    check_size(message.size(), settings);
    if (is_compressed(message)) return decode(decompress(message, settings), most(settings));
    return decode(message, memory, most(settings));
}

std::shared_ptr<const Object> unpack_borrowed(std::span<const std::byte> message,
                                              const ObjectSettings& settings) {
    check_size(message.size(), settings);
    if (is_compressed(message)) return decode(decompress(message, settings), most(settings));
    return decode_borrowed(message, most(settings));
}

std::shared_ptr<const Object> unpack_copied(std::span<const std::byte> message,
                                            const ObjectSettings& settings) {
    check_size(message.size(), settings);
    if (is_compressed(message)) return decode(decompress(message, settings), most(settings));
    OwnedBytes copy(message.size());
    if (!message.empty()) std::memcpy(copy.block.data(), message.data(), message.size());
    return decode(std::move(copy), most(settings));
}

}  // namespace tutti
