package tutti

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// HashStore makes a store that lives in this process only, for ranks that are goroutines.
func HashStore() (*Store, error) { return makeStore(raw.Tutti_hash_store_create) }

// StoreOptions are the options of [FileStore], [OpenStore] and [Store.Clone]; zero is every field's default, and
// so is a nil pointer.
type StoreOptions struct {
	// For making the store, and for its calls; 0: 300 seconds, of a clone that of its store.
	Timeout time.Duration
}

const defaultStoreTimeout = 300 * time.Second

// makeWithin makes a store, up to the deadline of the context.
func (o *StoreOptions) makeWithin(ctx context.Context, otherwise func() (time.Duration, error),
	create func(*raw.Tutti_store_options, *raw.Tutti_store, *raw.Tutti_error) int32,
) (*Store, error) {
	if o == nil {
		o = &StoreOptions{}
	}
	m, err := makingWithin(ctx, o.Timeout, otherwise)
	if err != nil {
		return nil, err
	}
	options := &raw.Tutti_store_options{Timeout_ms: m.now}
	options.Struct_size = uint32(unsafe.Sizeof(*options))
	store, err := makeStore(func(store *raw.Tutti_store, e *raw.Tutti_error) int32 {
		return create(options, store, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	return store, m.settle(store)
}

// FileStore opens a store in a file that all processes can reach and lock; PyTorch's layout. The
// file is made if it is not there, and removed when the last of worldSize stores is closed; -1: not
// fixed, the file stays. A file that an earlier run left behind confuses the next one. It blocks
// while others hold the file's lock, up to the timeout or the deadline of the context; to cancel
// the context ends nothing that has begun.
func FileStore(ctx context.Context, path string, worldSize int,
	options *StoreOptions) (*Store, error) {
	text, err := cText("path", path)
	if err != nil {
		return nil, err
	}
	return options.makeWithin(ctx, always(defaultStoreTimeout),
		func(o *raw.Tutti_store_options, store *raw.Tutti_store, e *raw.Tutti_error) int32 {
			return raw.Tutti_file_store_create(text, toInt32(worldSize), o, store, e)
		})
}

// OpenStore opens the store of a library libtutti-NAME.so, of which the library's author says what
// the address is.
func OpenStore(ctx context.Context, name, address string, options *StoreOptions) (*Store, error) {
	library, err := cText("name", name)
	if err != nil {
		return nil, err
	}
	text, err := cText("address", address)
	if err != nil {
		return nil, err
	}
	return options.makeWithin(ctx, always(defaultStoreTimeout),
		func(o *raw.Tutti_store_options, store *raw.Tutti_store, e *raw.Tutti_error) int32 {
			return raw.Tutti_store_open(library, text, o, store, e)
		})
}

// TCPStoreOptions are the options of [TCPStore]; zero is every field's default, and so is a nil
// pointer. The limits are the master's.
type TCPStoreOptions struct {
	NoWaitForWorkers  bool          // return without waiting for worldSize clients
	Timeout           time.Duration // of connecting, and of the store's calls; 0: 300 seconds
	MultiTenant       bool          // masters of one port in this process share the server
	MasterListener    *os.File      // a TCP socket that is bound, to serve at; stays the caller's
	MaxConnections    int           // 0: 65,536, or 7/8 of the descriptors if those are fewer
	MaxKeyBytes       int64         // of a key with its prefixes; 0: 8192, at most 1 MiB
	MaxValueBytes     int64         // 0: 1 GiB, at most 1 TiB
	MaxKeysPerRequest int64         // 0: 131,072, at most 16,777,216
	MaxMemoryBytes    int64         // for keys, values and clients; 0: 4 GiB
}

func (o *TCPStoreOptions) forC(timeout int64) *raw.Tutti_tcp_store_options {
	made := &raw.Tutti_tcp_store_options{
		No_wait_for_workers:  uint32(toInt(o.NoWaitForWorkers)),
		Timeout_ms:           timeout,
		Multi_tenant:         uint32(toInt(o.MultiTenant)),
		Max_connections:      toInt32(o.MaxConnections),
		Max_key_bytes:        o.MaxKeyBytes,
		Max_value_bytes:      o.MaxValueBytes,
		Max_keys_per_request: o.MaxKeysPerRequest,
		Max_memory_bytes:     o.MaxMemoryBytes,
	}
	if o.MasterListener != nil {
		made.Has_master_listen_fd = 1
		made.Master_listen_fd = int32(o.MasterListener.Fd())
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// TCPStore connects to a store served over TCP, and serves it if this process is the master. It
// speaks PyTorch 2's protocol, so either side may be PyTorch. port 0 on the master takes any free
// one; worldSize is how many clients will come, the master's own included, or -1. It blocks until
// connected, and the master of a fixed worldSize until all have come, up to the timeout or the
// deadline of the context; to cancel the context ends nothing that has begun.
func TCPStore(ctx context.Context, host string, port, worldSize int, isMaster bool,
	options *TCPStoreOptions) (*Store, error) {
	if options == nil {
		options = &TCPStoreOptions{}
	}
	m, err := makingWithin(ctx, options.Timeout, always(defaultStoreTimeout))
	if err != nil {
		return nil, err
	}
	text, err := cText("host", host)
	if err != nil {
		return nil, err
	}
	store, err := makeStore(func(store *raw.Tutti_store, e *raw.Tutti_error) int32 {
		return raw.Tutti_tcp_store_create(text, toInt32(port), toInt32(worldSize), toInt(isMaster),
			options.forC(m.now), store, e)
	})
	runtime.KeepAlive(options.MasterListener)
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	return store, m.settle(store)
}

// Port is the port a TCP store is served at.
func (s *Store) Port() (int, error) {
	port, err := ask(func(port *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_tcp_store_port(s.handle(), port, e)
	})
	return int(port), err
}

// Host is the host of a TCP store, as it was given to [TCPStore].
func (s *Store) Host() (string, error) {
	bytes, err := askBytes(func(bytes *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_tcp_store_host(s.handle(), bytes, e)
	})
	return string(bytes), err
}

// Path is the path of a file store's file, absolute.
func (s *Store) Path() (string, error) {
	bytes, err := askBytes(func(bytes *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_file_store_path(s.handle(), bytes, e)
	})
	return string(bytes), err
}

// PrefixStore makes a view of a store that puts the prefix and "/" before every key. It begins with
// the timeout of the store.
func PrefixStore(store *Store, prefix string) (*Store, error) {
	text, err := cText("prefix", prefix)
	if err != nil {
		return nil, err
	}
	return makeStore(func(made *raw.Tutti_store, e *raw.Tutti_error) int32 {
		return raw.Tutti_prefix_store_create(store.handle(), text, made, e)
	})
}

// UnderlyingStore is the very store whose keys a prefix store shows.
func (s *Store) UnderlyingStore() (*Store, error) {
	return makeStore(func(made *raw.Tutti_store, e *raw.Tutti_error) int32 {
		return raw.Tutti_prefix_store_underlying_store(s.handle(), made, e)
	})
}

// Clone makes another Store of the same store, with a timeout of its own and, over TCP, connections
// of its own.
func (s *Store) Clone(ctx context.Context, options *StoreOptions) (*Store, error) {
	defer s.interruptWith(ctx)()
	for {
		clone, err := options.makeWithin(ctx, s.Timeout,
			func(o *raw.Tutti_store_options, made *raw.Tutti_store, e *raw.Tutti_error) int32 {
				return raw.Tutti_store_clone(s.handle(), o, made, e)
			})
		if !errors.Is(err, ErrAborted) || ctx.Err() != nil {
			return clone, contextError(ctx, err)
		}
	}
}
