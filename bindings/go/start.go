package tutti

import (
	"context"
	"net/url"
	"runtime/cgo"
	"strconv"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// InitOptions say how the default group is made; zero is every field's default, and so is a nil
// pointer.
type InitOptions struct {
	// "tcp", "gloo", "shm", "hierarchy" or "loopback", the same on all ranks; "": the best one for
	// where the ranks are.
	Backend string
	// Where to meet: "env://" (the default), "tcp://host:port" or "file:///path", with
	// ?rank=R&world_size=N&timeout=SECONDS behind it, or some of them.
	InitMethod string
	// A store to meet at, instead of InitMethod; kept alive by the group.
	Store *Store
	// This process's rank, and how many there are. If WorldSize is 0 both are the init method's.
	Rank, WorldSize int
	GroupOptions
}

// InitProcessGroup makes the default group: every rank calls it once, and all meet. It blocks until
// all have come, up to the timeout or the deadline of the context; to cancel the context ends no
// meeting that has begun. [World] is the same group.
func InitProcessGroup(ctx context.Context, options *InitOptions) (*Group, error) {
	if options == nil {
		options = &InitOptions{}
	}
	m, err := makingWithin(ctx, options.Timeout, timeoutIn(options.InitMethod))
	if err != nil {
		return nil, err
	}
	backend, err := cTextOrNil("Backend", options.Backend)
	if err != nil {
		return nil, err
	}
	method, err := cTextOrNil("InitMethod", options.InitMethod)
	if err != nil {
		return nil, err
	}
	description, err := cTextOrNil("Description", options.Description)
	if err != nil {
		return nil, err
	}
	if err := options.Device.checkBound(); err != nil {
		return nil, err
	}
	rank, size := toInt32(options.Rank), toInt32(options.WorldSize)
	made := groupOptions(options.Reproducible, options.Device, m)
	err = attempt(func(e *raw.Tutti_error) int32 {
		if options.Store != nil {
			return raw.Tutti_init_process_group_with_store(backend, options.Store.handle(),
				description, rank, size, made, e)
		}
		if size == 0 {
			rank, size = -1, -1
		}
		return raw.Tutti_init_process_group(backend, method, description, rank, size, made, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	return world, m.settle(world)
}

const defaultTimeout = 30 * time.Minute

// timeoutIn is the timeout that an init method's URL sets, else the default.
func timeoutIn(method string) func() (time.Duration, error) {
	if parsed, err := url.Parse(method); err == nil {
		seconds, err := strconv.ParseFloat(parsed.Query().Get("timeout"), 64)
		if err == nil {
			return always(time.Duration(seconds * float64(time.Second)))
		}
	}
	return always(defaultTimeout)
}

// World is the default group, whether it exists or not: calls on one that does not are errors.
func World() *Group { return world }

// IsInitialized tells whether the default group exists in this process.
func IsInitialized() bool { return raw.Tutti_is_initialized() == 1 }

// DestroyProcessGroup ends the default group and all that were made from it; see [Group.Close].
func DestroyProcessGroup() error {
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_destroy_process_group(world.handle(), nil, e)
	})
}

// CreateGroup makes a group with no global state: several may live in one process, also several
// ranks of one group, as goroutines (with the backend "loopback", or any other). A store serves one
// group, so give further ones a [PrefixStore]. It blocks as [InitProcessGroup] does.
func CreateGroup(ctx context.Context, backend string, store *Store, rank, worldSize int,
	options *GroupOptions) (*Group, error) {
	return createGroup(ctx, backend, options, func(o creation, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_create(o.backend, store.handle(), o.description, toInt32(rank),
			toInt32(worldSize), o.options, o.group, e)
	})
}

// CreateGroupWithAllGather makes a group as [CreateGroup] does, without a store: for programs that
// have other means to reach each other. gather gives every rank's input, which is as long on all,
// to all ranks: output is worldSize times as long, in the order of the ranks. It is called once,
// before this returns; errors.Is finds its error.
func CreateGroupWithAllGather(ctx context.Context, backend string,
	gather func(output, input []byte) error, rank, worldSize int,
	options *GroupOptions) (*Group, error) {
	if gather == nil {
		return nil, invalid("gather is nil")
	}
	var failed error
	self := cgo.NewHandle(func(input, output unsafe.Pointer, size int) error {
		failed = withoutPanic(func() error {
			return gather(unsafe.Slice((*byte)(output), size*worldSize),
				unsafe.Slice((*byte)(input), size))
		})
		return failed
	})
	defer self.Delete()
	group, err := createGroup(ctx, backend, options, func(o creation, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_create_with_allgather(o.backend, raw.AllGather, uintptr(self),
			o.description, toInt32(rank), toInt32(worldSize), o.options, o.group, e)
	})
	if failure, is := err.(*Error); is && failed != nil {
		failure.cause = failed
	}
	return group, err
}

// A creation is what making a group takes in C, and gives.
type creation struct {
	backend, description *byte
	options              *raw.Tutti_group_options
	group                *raw.Tutti_group
}

func createGroup(ctx context.Context, backend string, options *GroupOptions,
	create func(creation, *raw.Tutti_error) int32) (*Group, error) {
	if options == nil {
		options = &GroupOptions{}
	}
	if err := options.Device.checkBound(); err != nil {
		return nil, err
	}
	m, err := makingWithin(ctx, options.Timeout, always(defaultTimeout))
	if err != nil {
		return nil, err
	}
	o := creation{
		options: groupOptions(options.Reproducible, options.Device, m),
		group:   new(raw.Tutti_group),
	}
	if o.backend, err = cTextOrNil("backend", backend); err != nil {
		return nil, err
	}
	if o.description, err = cTextOrNil("Description", options.Description); err != nil {
		return nil, err
	}
	err = attempt(func(e *raw.Tutti_error) int32 { return create(o, e) })
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	group := newGroup(*o.group)
	return group, m.settle(group)
}

// PGCount is how many groups this process is in: the default group and those made from it that were
// not closed.
func PGCount() int { return int(raw.Tutti_get_pg_count()) }

// IsBackendAvailable tells whether a group can be made with the backend of this name.
func IsBackendAvailable(name string) bool {
	text, err := cText("name", name)
	return err == nil && raw.Tutti_is_backend_available(text) == 1
}

// CheckBackendAvailable is nil if a group can be made with the backend of this name, else an error
// that says why not.
func CheckBackendAvailable(name string) error {
	text, err := cText("name", name)
	if err != nil {
		return err
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_check_backend_available(text, e)
	})
}

// DefaultBackendForDevice is the backend that torch would choose for a device, "cpu", "cuda" or
// "xpu"; "" for any other.
func DefaultBackendForDevice(device string) string {
	text, err := cText("device", device)
	if err != nil {
		return ""
	}
	return goString(raw.Tutti_get_default_backend_for_device(text))
}

// IsTorchelasticLaunched tells whether torchrun, or tuttirun, started this process.
func IsTorchelasticLaunched() bool { return raw.Tutti_is_torchelastic_launched() == 1 }

// Version is the version of the library that is loaded, for instance "0.1.0".
func Version() string { return goString(raw.Tutti_version_string()) }

// VersionNumber is the same as one number: major * 10000 + minor * 100 + patch.
func VersionNumber() int { return int(raw.Tutti_version()) }
