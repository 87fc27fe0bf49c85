// Package raw is the C interface of tutti, function by function: what SWIG and a generator make of
// the public headers, and here the callbacks. Each kind of callback is one C function, whose `user`
// is a cgo.Handle of the Go function that it calls.
package raw

/*
#cgo pkg-config: tutti
#include <tutti/tutti.h>

extern void tuttiGoWorkDone(tutti_error* result, uintptr_t user);
extern void tuttiGoLogLine(tutti_log_level level, char* message, uintptr_t user);
extern tutti_status tuttiGoReduce(void* in, void* inout, int64_t count, tutti_dtype dtype,
                                  uintptr_t user);
extern tutti_status tuttiGoAllGather(void* input, void* output, size_t size, uintptr_t user);

static void work_done(const tutti_error* result, void* user) {
    tuttiGoWorkDone((tutti_error*)result, (uintptr_t)user);
}

static void log_line(tutti_log_level level, const char* message, void* user) {
    tuttiGoLogLine(level, (char*)message, (uintptr_t)user);
}

static tutti_status reduce(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                           void* user) {
    return tuttiGoReduce((void*)in, inout, count, dtype, (uintptr_t)user);
}

static tutti_status all_gather(const void* input, void* output, size_t size, void* user) {
    return tuttiGoAllGather((void*)input, output, size, (uintptr_t)user);
}

static tutti_work_callback work_done_pointer(void) { return work_done; }
static tutti_log_callback log_line_pointer(void) { return log_line; }
static tutti_reduce_function reduce_pointer(void) { return reduce; }
static tutti_allgather_callback all_gather_pointer(void) { return all_gather; }
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// The C functions to hand over as callbacks, each with a cgo.Handle as its `user`, of a Go function
// of the type that stands beside it.
var (
	WorkDone  = unsafe.Pointer(C.work_done_pointer())  // func(*Tutti_error)
	LogLine   = unsafe.Pointer(C.log_line_pointer())   // func(level uint32, message string)
	Reduce    = unsafe.Pointer(C.reduce_pointer())     // ReduceFunction
	AllGather = unsafe.Pointer(C.all_gather_pointer()) // AllGatherFunction
)

// ReduceFunction is what Reduce calls: inout[i] = in[i] op inout[i].
type ReduceFunction = func(in, inout unsafe.Pointer, count int64, dtype uint32) int32

// AllGatherFunction is what AllGather calls, with `size` bytes of this rank and room for those of
// all.
type AllGatherFunction = func(input, output unsafe.Pointer, size int) int32

//export tuttiGoWorkDone
func tuttiGoWorkDone(result *C.tutti_error, user C.uintptr_t) {
	cgo.Handle(user).Value().(func(*Tutti_error))((*Tutti_error)(unsafe.Pointer(result)))
}

//export tuttiGoLogLine
func tuttiGoLogLine(level C.tutti_log_level, message *C.char, user C.uintptr_t) {
	cgo.Handle(user).Value().(func(uint32, string))(uint32(level), C.GoString(message))
}

//export tuttiGoReduce
func tuttiGoReduce(in, inout unsafe.Pointer, count C.int64_t, dtype C.tutti_dtype,
	user C.uintptr_t) C.tutti_status {
	reduce := cgo.Handle(user).Value().(ReduceFunction)
	return C.tutti_status(reduce(in, inout, int64(count), uint32(dtype)))
}

//export tuttiGoAllGather
func tuttiGoAllGather(input, output unsafe.Pointer, size C.size_t,
	user C.uintptr_t) C.tutti_status {
	gather := cgo.Handle(user).Value().(AllGatherFunction)
	return C.tutti_status(gather(input, output, int(size)))
}
