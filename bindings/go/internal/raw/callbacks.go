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
extern void tuttiGoOperation(int what, uintptr_t operation, uintptr_t why, uintptr_t user);

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

static void before(const tutti_operation* operation, void* user) {
    tuttiGoOperation(0, (uintptr_t)operation, 0, (uintptr_t)user);
}

static void after(const tutti_operation* operation, void* user) {
    tuttiGoOperation(1, (uintptr_t)operation, 0, (uintptr_t)user);
}

static void aborted(const tutti_operation* operation, const tutti_error* why, void* user) {
    tuttiGoOperation(2, (uintptr_t)operation, (uintptr_t)why, (uintptr_t)user);
}

static tutti_work_callback work_done_pointer(void) { return work_done; }
static tutti_release_function release_pointer(void) { return release; }
static tutti_log_callback log_line_pointer(void) { return log_line; }
static tutti_reduce_function reduce_pointer(void) { return reduce; }
static tutti_allgather_callback all_gather_pointer(void) { return all_gather; }
static tutti_bucket_hook hook_pointer(void) { return hook; }
static tutti_operation_hook before_pointer(void) { return before; }
static tutti_operation_hook after_pointer(void) { return after; }
static tutti_abort_hook aborted_pointer(void) { return aborted; }
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
	Before    = unsafe.Pointer(C.before_pointer())     // OperationHooks, as the next two
	After     = unsafe.Pointer(C.after_pointer())
	Aborted   = unsafe.Pointer(C.aborted_pointer())
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

// OperationHooks are what Before, After and Aborted call.
type OperationHooks interface {
	CallBefore(operation *Tutti_operation)
	CallAfter(operation *Tutti_operation)
	CallAborted(operation *Tutti_operation, why *Tutti_error)
}

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

//export tuttiGoOperation
func tuttiGoOperation(what C.int, operation, why, user C.uintptr_t) {
	hooks := cgo.Handle(user).Value().(OperationHooks)
	about := *(**Tutti_operation)(unsafe.Pointer(&operation))
	switch what {
	case 0:
		hooks.CallBefore(about)
	case 1:
		hooks.CallAfter(about)
	default:
		hooks.CallAborted(about, *(**Tutti_error)(unsafe.Pointer(&why)))
	}
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
