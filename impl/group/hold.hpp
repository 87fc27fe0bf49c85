// The start of a work on a stream, as its caller sees it. Any thread.
#pragma once

#include "work/work.hpp"

namespace tutti {

// The stream waits for a work that others poll for; this thread until it is enqueued. Throws if it
// has failed. Null: the work is on the caller's stream.
void hold(const Work& work, void* stream);

}  // namespace tutti
