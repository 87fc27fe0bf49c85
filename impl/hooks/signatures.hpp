// A line of the log, at the level "info", for each operation that begins. The thread that runs it.
#pragma once

#include "record/observers.hpp"

namespace tutti::hooks {

class Signatures final : public record::Observer {
public:
    void before(const record::Operation& operation) override;
};

}  // namespace tutti::hooks
