// Which backend serves which type of device: "gloo", "cpu:gloo,cuda:nccl". Any thread.
#pragma once

#include <string>
#include <vector>

#include "tutti/types.h"

namespace tutti {

struct BackendMap {
    struct Entry {
        tutti_device_type device;
        std::string name;  // as resolve_backend() returned it
    };
    // The CPU's first, always: what has no device goes there. Of those with one name one backend
    // serves all.
    std::vector<Entry> entries{{TUTTI_CPU, ""}};
    bool has_cpu = true;  // else buffers of the CPU are refused

    // "gloo", "cpu:gloo,cuda:nccl", without settings; "not given" if the ranks choose together.
    [[nodiscard]] std::string text() const;
    // The name that stands for all.
    [[nodiscard]] const char* name() const;
    // As text(), with what each lacks; and a line for each that says so.
    [[nodiscard]] std::string described() const;
    [[nodiscard]] std::string lacks() const;

private:
    [[nodiscard]] bool is_bare() const;
    template <typename Word>
    [[nodiscard]] std::string joined(Word&& word) const;
};

// A bare name means that backend for all that it serves; "": the ranks choose together. Throws as
// resolve_backend(); INVALID_ARGUMENT for a malformed map, UNSUPPORTED for a backend that does not
// serve its device.
BackendMap resolve_backends(const std::string& text);
// The same of a group that is bound to a device: of "", NCCL beside what the ranks choose, if it is
// here.
BackendMap resolve_backends(const std::string& text, tutti_device_type bound);

}  // namespace tutti
