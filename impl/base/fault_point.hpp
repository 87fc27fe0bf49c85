// Named places where a test makes this process die, stop or fail. Compiled out unless the build has
// TUTTI_FAULT_POINTS. TUTTI_FAULT="name@count=action": at the count-th passing (from 1) of the
// point: kill (SIGKILL), stop (SIGSTOP), hang (this thread alone), exit (status 3), throw (an
// Error, status BACKEND). Any thread.
#pragma once

#if defined(TUTTI_FAULT_POINTS)
namespace tutti {
void pass_fault_point(const char* name);
}
#define TUTTI_FAULT_POINT(name) ::tutti::pass_fault_point(name)
#else
#define TUTTI_FAULT_POINT(name) static_cast<void>(0)
#endif
