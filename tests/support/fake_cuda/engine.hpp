// The device: executes what streams hold, in an order that they permit and a schedule picks. It has
// no thread: it goes on inside the calls of the program. Needs the model's mutex.
#pragma once

#include "model.hpp"

namespace tutti::cuda {

// Puts an operation at the end of a stream. The legacy stream is in order with all that block.
OperationPointer enqueue(StreamObject& stream, Operation operation);

// The work to be done before a stream is: its last operation, and for the legacy stream those of
// the streams that block.
std::vector<OperationPointer> last_of(const StreamObject& stream);
std::vector<OperationPointer> last_of_all(const ContextObject& context);

// Executes what the schedule lets go after a call that observes nothing.
void go_on();
// Executes everything that can be.
void run_all();

// Whether these are done, as a query finds it; and: until they are. If so, the host knows it.
bool query(const std::vector<OperationPointer>& operations);
void wait(const std::vector<OperationPointer>& operations);
// Until they are, and the host has no right to know it.
void settle(const std::vector<OperationPointer>& operations);

}  // namespace tutti::cuda
