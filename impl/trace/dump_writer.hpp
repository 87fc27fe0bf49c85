// Writes nested values as JSON, or as a pickle of Python of nothing but plain values. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::trace {

class DumpWriter {
public:
    DumpWriter() = default;
    virtual ~DumpWriter() = default;
    DumpWriter(const DumpWriter&) = delete;
    DumpWriter& operator=(const DumpWriter&) = delete;

    virtual void begin_dict() = 0;
    virtual void end_dict() = 0;
    virtual void begin_list() = 0;
    virtual void end_list() = 0;
    // Before each value of a dict.
    virtual void key(std::string_view name) = 0;
    virtual void text(std::string_view value) = 0;
    virtual void number(int64_t value) = 0;
    virtual void real(double value) = 0;
    virtual void boolean(bool value) = 0;
    virtual void none() = 0;
    // All of it, at the end.
    virtual std::string take() = 0;
};

class JsonWriter final : public DumpWriter {
public:
    void begin_dict() override { begin('{'); }
    void end_dict() override { end('}'); }
    void begin_list() override { begin('['); }
    void end_list() override { end(']'); }
    void key(std::string_view name) override;
    void text(std::string_view value) override;
    void number(int64_t value) override;
    void real(double value) override;
    void boolean(bool value) override;
    void none() override;
    std::string take() override { return std::move(out_); }

private:
    void begin(char bracket);
    void end(char bracket);
    // A comma, unless the value is the first or has a key.
    void separate();

    std::string out_;
    bool is_first_ = true;
};

// Protocol 2.
class PickleWriter final : public DumpWriter {
public:
    PickleWriter();
    void begin_dict() override { out_ += "}("; }
    void end_dict() override { out_ += 'u'; }
    void begin_list() override { out_ += "]("; }
    void end_list() override { out_ += 'e'; }
    void key(std::string_view name) override { text(name); }
    void text(std::string_view value) override;
    void number(int64_t value) override;
    void real(double value) override;
    void boolean(bool value) override;
    void none() override;
    std::string take() override;

private:
    void add_little_endian(uint64_t value, int bytes);

    std::string out_;
};

}  // namespace tutti::trace
