package tutti

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"tutti/internal/raw"
)

// Status says what kind of failure an [Error] is, and so what the caller can do next. Each value is
// an error itself, for errors.Is:
//
//	if errors.Is(err, tutti.ErrPeerLost) { ... }
type Status int32

// The kinds of failure. A later library may know more.
const (
	// An argument is wrong; the message names it.
	ErrInvalidArgument = Status(raw.TUTTI_ERR_INVALID_ARGUMENT)
	// A group, store, work, ... was closed, or is nil.
	ErrInvalidHandle = Status(raw.TUTTI_ERR_INVALID_HANDLE)
	// Not in this backend or build.
	ErrUnsupported = Status(raw.TUTTI_ERR_UNSUPPORTED)
	// The operation timed out.
	ErrTimeout = Status(raw.TUTTI_ERR_TIMEOUT)
	// The group was closed while the operation ran, or a receive or a store's wait was cancelled.
	ErrAborted = Status(raw.TUTTI_ERR_ABORTED)
	// A rank died, left or stopped: Error.Rank.
	ErrPeerLost = Status(raw.TUTTI_ERR_PEER_LOST)
	// Ranks called different things; the message shows both.
	ErrMismatch = Status(raw.TUTTI_ERR_MISMATCH)
	// The backend failed, and the group is lost.
	ErrBackend = Status(raw.TUTTI_ERR_BACKEND)
	// Connecting, listening or resolving a name failed.
	ErrNetwork = Status(raw.TUTTI_ERR_NETWORK)
	// The store refused, or was lost.
	ErrStore = Status(raw.TUTTI_ERR_STORE)
	// There is nothing to pop; try again later.
	ErrQueueEmpty = Status(raw.TUTTI_ERR_QUEUE_EMPTY)
	// Memory or descriptors ran out.
	ErrOutOfMemory = Status(raw.TUTTI_ERR_OUT_OF_MEMORY)
	// A fault of tutti itself; please report it.
	ErrInternal = Status(raw.TUTTI_ERR_INTERNAL)
	// A wait was given up because its context was done, while the operation goes on: its buffers are
	// not the caller's yet. They are once the work is done or the group is closed.
	ErrPending = Status(raw.TUTTI_ERR_PENDING)
)

// Error is the name of the kind of failure.
func (s Status) Error() string {
	name := goString(raw.Tutti_status_name(int32(s)))
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "TUTTI_ERR_"), "_", " "))
}

// Error is what a call that failed returns; errors.As finds it:
//
//	var failure *tutti.Error
//	if errors.As(err, &failure) { log.Print(failure.Rank) }
type Error struct {
	Status  Status
	Rank    int           // the group rank at fault, or -1
	Errno   syscall.Errno // of the system call behind it, or 0
	Message string        // one sentence: operation, group, rank, cause

	cause error // the context's, or what a function of a reduce op or a hook has failed with
}

// Error is the message.
func (e *Error) Error() string { return "tutti: " + e.Message }

// Unwrap gives what else errors.Is and errors.As look at: the status, the system's error,
// that of the context which has ended the call, and the error of a caller's function
// ([NewReduceOp], [CreateGroupWithAllGather], [Reducer.SetHook]).
func (e *Error) Unwrap() []error {
	chain := []error{e.Status}
	if e.Errno != 0 {
		chain = append(chain, e.Errno)
	}
	if e.cause != nil {
		chain = append(chain, e.cause)
	}
	return chain
}

// invalid is an argument that is refused before C sees it.
func invalid(format string, arguments ...any) error {
	message := fmt.Sprintf(format, arguments...)
	return &Error{Status: ErrInvalidArgument, Rank: -1, Message: message}
}

// goNames are what arguments are called here.
var goNames = strings.NewReplacer(
	"group_src", "src", "group_dst", "dst", "dim_names", "DimNames", "device_type", "DeviceType",
	"input_count", "len(inputs)", "output_count", "len(outputs)", "object_count", "len(values)",
	"buffer_count", "len(buffers)", "src_tensor", "srcTensor", "dst_tensor", "dstTensor",
	"input_split_count", "len(inputSplits)", "input_split_sizes", "inputSplits",
	"output_split_count", "len(outputSplits)", "output_split_sizes", "outputSplits",
	"ranks_to_exclude", "ranksToExclude", "min_size", "MinSize",
	"rank_count", "len(ranks)", "split_count", "len(lists)", "max_bytes", "MaxBytes",
	"options.stream is", "Device.Stream is", "options.stream must be NULL",
	"Device.Stream must be 0", "stream is given", "the stream is given",
	"is_master", "isMaster", "world_size=", "world_size=", "world_size", "worldSize",
	"matrix_approximation_rank", "MatrixApproximationRank", "start_iteration", "StartIteration",
	"min_compression_rate", "MinCompressionRate", "orthogonalization_epsilon",
	"OrthogonalizationEpsilon", "keep_micro_batches", "KeepMicroBatches",
	"timeout_ms", "timeout", "TUTTI_NO_TIMEOUT", "NoTimeout")

var inPlaceNames = strings.NewReplacer("input", "buffer", "output", "buffer")

// errorOf copies what C says of a failure.
func errorOf(said *raw.Tutti_error) *Error {
	failure := &Error{
		Status:  Status(said.Status),
		Rank:    int(said.Rank),
		Errno:   syscall.Errno(said.System_errno),
		Message: goString(&said.Message[0]),
	}
	switch failure.Status {
	case ErrInvalidHandle: // what is nil or closed here is NULL there
		failure.Message = strings.Replace(failure.Message, " is NULL", " is nil or closed", 1)
	case ErrInvalidArgument, ErrUnsupported:
		failure.Message = goNames.Replace(failure.Message)
	}
	return failure
}

// attempt makes a call that takes no part in the group's operations, and turns its status into an
// error. What the function refers to, the garbage collector leaves alone meanwhile.
func attempt(function func(*raw.Tutti_error) int32) error {
	c := newCall(nil)
	defer c.release()
	status := function(&c.frame.err)
	runtime.KeepAlive(function)
	if status != raw.TUTTI_OK {
		return errorOf(&c.frame.err)
	}
	return nil
}

// ask is attempt for the calls that give something.
func ask[T any](function func(*T, *raw.Tutti_error) int32) (T, error) {
	answer := new(T)
	err := attempt(func(e *raw.Tutti_error) int32 { return function(answer, e) })
	return *answer, err
}

// askBytes is ask for bytes.
func askBytes(function func(*raw.Tutti_bytes, *raw.Tutti_error) int32) ([]byte, error) {
	bytes, err := ask(function)
	if err != nil {
		return nil, err
	}
	return takeBytes(bytes), nil
}

// goString copies text of C's that ends with a NUL; nil gives "".
func goString(text *byte) string {
	if text == nil {
		return ""
	}
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), length)) != 0 {
		length++
	}
	return string(unsafe.Slice(text, length))
}
