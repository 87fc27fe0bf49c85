// The contents of an object's handle: a value while it is built, and after. Built by one thread at
// a time, read by any.
#pragma once

#include <memory>
#include <utility>

#include "handle.hpp"
#include "object/builder.hpp"
#include "refusal.hpp"

namespace tutti::capi {

class Draft {
public:
    Draft() : builder_(std::make_unique<Builder>()) {}
    explicit Draft(std::shared_ptr<const Object> value) : value_(std::move(value)) {}

    // Runs a step of building. One that fails spoils the object, so that no later step makes a
    // whole value with a hole in it.
    template <typename Step>
    void build(const Step& step) {
        if (value_) refuse("object is finished: it has its one value, and cannot be changed");
        if (!failure_.ok()) {
            Status status = failure_;
            status.message = cat("object was spoiled by an earlier failure: ", status.message);
            throw Refusal(status);
        }
        try {
            step(*builder_);
            if (builder_->complete()) value_ = builder_->finish();
        } catch (...) {
            failure_ = current_status();
            throw;
        }
    }

    // Throws INVALID_ARGUMENT, naming the argument, while it is being built.
    [[nodiscard]] const std::shared_ptr<const Object>& value(const char* argument) const {
        if (value_) return value_;
        if (!failure_.ok()) {
            refuse(argument, " was spoiled by an earlier failure: ", failure_.message);
        }
        refuse(argument, " is not finished: ", builder_->what_is_missing());
    }

private:
    std::unique_ptr<Builder> builder_;
    std::shared_ptr<const Object> value_;
    Status failure_;
};

// The value of a handle, kept by the pin.
class ObjectPin {
public:
    ObjectPin(tutti_object* handle, const char* argument)
        : pin_(handle, argument), value_(pin_->value(argument).get()) {}

    const Object& operator*() const { return *value_; }
    const Object* operator->() const { return value_; }

private:
    Pin<tutti_object> pin_;
    const Object* value_;
};

inline tutti_object* hand_out_object(std::shared_ptr<const Object> value) {
    return hand_out<tutti_object>(std::make_shared<Draft>(std::move(value)));
}

}  // namespace tutti::capi
