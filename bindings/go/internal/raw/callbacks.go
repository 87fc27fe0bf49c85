// Package raw is the C interface of tutti, function by function: what SWIG and a generator make of
// the public headers, and here the callbacks. Each kind of callback is one C function, whose `user`
// is a cgo.Handle of what it calls.
package raw

/*
#cgo pkg-config: tutti
#include <tutti/tutti.h>

extern void tuttiGoDone(uintptr_t user);
extern void tuttiGoRelease(uintptr_t user);
extern void tuttiGoLogLine(tutti_log_level level, char* message, uintptr_t user);
extern tutti_status tuttiGoReduce(void* in, void* inout, int64_t count, uintptr_t user,
                                  tutti_error* error);
extern tutti_status tuttiGoAllGather(void* input, void* output, size_t size, uintptr_t user,
                                     tutti_error* error);
extern tutti_status tuttiGoHook(uintptr_t group, void* bucket, uintptr_t user, tutti_error* error);

static void work_done(const tutti_error* result, void* user) { tuttiGoDone((uintptr_t)user); }

static void release(void* user) { tuttiGoRelease((uintptr_t)user); }

static void log_line(tutti_log_level level, const char* message, void* user) {
    tuttiGoLogLine(level, (char*)message, (uintptr_t)user);
}

static tutti_status reduce(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                           void* user, tutti_error* error) {
    return tuttiGoReduce((void*)in, inout, count, (uintptr_t)user, error);
}

static tutti_status all_gather(const void* input, void* output, size_t size, void* user,
                               tutti_error* error) {
    return tuttiGoAllGather((void*)input, output, size, (uintptr_t)user, error);
}

static tutti_status hook(tutti_group* group, const tutti_bucket* bucket, void* user,
                         tutti_error* error) {
    return tuttiGoHook((uintptr_t)group, (void*)bucket, (uintptr_t)user, error);
}

static tutti_work_callback work_done_pointer(void) { return work_done; }
static tutti_release_function release_pointer(void) { return release; }
static tutti_log_callback log_line_pointer(void) { return log_line; }
static tutti_reduce_function reduce_pointer(void) { return reduce; }
static tutti_allgather_callback all_gather_pointer(void) { return all_gather; }
static tutti_bucket_hook hook_pointer(void) { return hook; }
*/
import "C"

import (
	"runtime/cgo"
	"strings"
	"unsafe"
)

// The C functions to hand over as callbacks, each with a cgo.Handle as its `user`, of a Go value of
// the type that stands beside it.
var (
	WorkDone  = unsafe.Pointer(C.work_done_pointer())  // Operation
	Release   = unsafe.Pointer(C.release_pointer())    // any: the handle is deleted
	LogLine   = unsafe.Pointer(C.log_line_pointer())   // func(level uint32, message string)
	Reduce    = unsafe.Pointer(C.reduce_pointer())     // ReduceFunction
	AllGather = unsafe.Pointer(C.all_gather_pointer()) // AllGatherFunction
	Hook      = unsafe.Pointer(C.hook_pointer())       // HookFunction
)

// Operation is what WorkDone finishes; it deletes the handle first.
type Operation interface{ Finish() }

// ReduceFunction is what Reduce calls: inout[i] = in[i] op inout[i].
type ReduceFunction = func(in, inout unsafe.Pointer, count int64) error

// AllGatherFunction is what AllGather calls, with `size` bytes of this rank and room for those of
// all.
type AllGatherFunction = func(input, output unsafe.Pointer, size int) error

// HookFunction is what Hook calls, to reduce a bucket of the group in place. It may set the status
// and the rank of a failure; the message is the error's.
type HookFunction = func(group Tutti_group, bucket *Tutti_bucket, said *Tutti_error) error

//export tuttiGoDone
func tuttiGoDone(user C.uintptr_t) {
	self := cgo.Handle(user)
	operation := self.Value().(Operation)
	self.Delete()
	operation.Finish()
}

//export tuttiGoRelease
func tuttiGoRelease(user C.uintptr_t) { cgo.Handle(user).Delete() }

//export tuttiGoLogLine
func tuttiGoLogLine(level C.tutti_log_level, message *C.char, user C.uintptr_t) {
	cgo.Handle(user).Value().(func(uint32, string))(uint32(level), C.GoString(message))
}

//export tuttiGoReduce
func tuttiGoReduce(in, inout unsafe.Pointer, count C.int64_t, user C.uintptr_t,
	said *C.tutti_error) C.tutti_status {
	reduce := cgo.Handle(user).Value().(ReduceFunction)
	return status(reduce(in, inout, int64(count)), said)
}

//export tuttiGoAllGather
func tuttiGoAllGather(input, output unsafe.Pointer, size C.size_t, user C.uintptr_t,
	said *C.tutti_error) C.tutti_status {
	gather := cgo.Handle(user).Value().(AllGatherFunction)
	return status(gather(input, output, int(size)), said)
}

//export tuttiGoHook
func tuttiGoHook(group C.uintptr_t, bucket unsafe.Pointer, user C.uintptr_t,
	said *C.tutti_error) C.tutti_status {
	hook := cgo.Handle(user).Value().(HookFunction)
	told := (*Tutti_error)(unsafe.Pointer(said))
	return status(hook(Tutti_group(group), (*Tutti_bucket)(bucket), told), said)
}

// status tells C how a function ended.
func status(err error, said *C.tutti_error) C.tutti_status {
	if err == nil {
		return C.TUTTI_OK
	}
	told := (*Tutti_error)(unsafe.Pointer(said))
	message := told.Message[:]
	text := strings.TrimPrefix(err.Error(), "tutti: ") // as C's messages begin here
	text = strings.ToValidUTF8(text[:min(len(text), len(message)-1)], "")
	message[copy(message, text)] = 0
	if told.Status != TUTTI_OK {
		return C.tutti_status(told.Status)
	}
	return C.TUTTI_ERR_BACKEND
}
