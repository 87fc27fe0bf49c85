package tutti

import (
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// Store is a key-value store, where processes meet. Keys are strings without a NUL of at most 8192
// bytes, values any bytes. Any number of goroutines may use it; a wait of one does not delay the
// others.
//
// Calls that may wait take a context: its deadline counts beside the store's own timeout (300
// seconds unless set), and to cancel it ends the wait; the error is an [ErrAborted], and the
// context's. To close the Store ends its waits as well.
type Store struct{ number atomic.Uintptr }

func newStore(handle raw.Tutti_store) *Store {
	s := &Store{}
	s.number.Store(uintptr(handle))
	runtime.SetFinalizer(s, (*Store).Close)
	return s
}

// handle is what C calls the store; NULL, which C refuses, for nil or a closed one.
func (s *Store) handle() raw.Tutti_store {
	if s == nil {
		return 0
	}
	return raw.Tutti_store(s.number.Load())
}

// Close ends the Store's waits and gives it back; groups and prefix stores made from it keep what
// they need. A Store that is not closed is when the garbage collector finds it.
func (s *Store) Close() error {
	if s != nil {
		runtime.SetFinalizer(s, nil)
		handle := raw.Tutti_store(s.number.Swap(0))
		raw.Tutti_store_interrupt(handle, nil)
		raw.Tutti_store_release(handle)
	}
	return nil
}

// makeStore is for the calls that give a store.
func makeStore(create func(*raw.Tutti_store, *raw.Tutti_error) int32) (*Store, error) {
	handle, err := ask(create)
	if err != nil {
		return nil, err
	}
	return newStore(handle), nil
}

// askBool is for the calls that give yes or no.
func askBool(function func(*int32, *raw.Tutti_error) int32) (bool, error) {
	answer, err := ask(function)
	return answer != 0, err
}

// put is for the calls that bring a value.
func (s *Store) put(key string, value []byte, call func(raw.Tutti_store, *byte, unsafe.Pointer,
	uint64, *raw.Tutti_error) int32) error {
	text, err := cText("key", key)
	if err != nil {
		return err
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return call(s.handle(), text, unsafe.Pointer(bytesPointer(value)), uint64(len(value)), e)
	})
}

// Set stores a value under a key; an old value is replaced. As with Append, MultiSet and QueuePush,
// a store over TCP does not wait for an answer: [Store.Flush] or the next call reports what the
// server refused.
func (s *Store) Set(key string, value []byte) error {
	return s.put(key, value, raw.Tutti_store_set)
}

// Append appends bytes to the value of a key; one that is not there counts as empty.
func (s *Store) Append(key string, value []byte) error {
	return s.put(key, value, raw.Tutti_store_append)
}

// QueuePush puts a value at the end of a queue; one that is not there is made.
func (s *Store) QueuePush(key string, value []byte) error {
	return s.put(key, value, raw.Tutti_store_queue_push)
}

// MultiSet stores several values at once.
func (s *Store) MultiSet(keys []string, values [][]byte) error {
	if len(keys) != len(values) {
		return invalid("there are %d keys for %d values", len(keys), len(values))
	}
	list, err := cTexts("keys", keys)
	if err != nil {
		return err
	}
	defer list.release()
	data, sizes := cValues(values)
	defer data.release()
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_store_multi_set(s.handle(), list.first(), data.first(),
			unsafe.SliceData(sizes), list.count(), e)
	})
}

// Add adds to a counter and returns its new value; a key that is not there counts as 0.
func (s *Store) Add(key string, amount int64) (int64, error) {
	text, err := cText("key", key)
	if err != nil {
		return 0, err
	}
	return ask(func(sum *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_add(s.handle(), text, amount, sum, e)
	})
}

// Check tells whether all of several keys are there.
func (s *Store) Check(keys ...string) (bool, error) {
	list, err := cTexts("keys", keys)
	if err != nil {
		return false, err
	}
	defer list.release()
	return askBool(func(found *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_check(s.handle(), list.first(), list.count(), found, e)
	})
}

// CompareSet sets a key to desired if its value is expected, or if it is not there and expected is
// empty; returns the value the key has afterwards. A key that is not there while expected is not
// empty stays so, and expected is returned.
func (s *Store) CompareSet(key string, expected, desired []byte) ([]byte, error) {
	text, err := cText("key", key)
	if err != nil {
		return nil, err
	}
	return askBytes(func(bytes *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_compare_set(s.handle(), text,
			unsafe.Pointer(bytesPointer(expected)), uint64(len(expected)),
			unsafe.Pointer(bytesPointer(desired)), uint64(len(desired)), bytes, e)
	})
}

// DeleteKey removes a key, and tells whether it was there.
func (s *Store) DeleteKey(key string) (bool, error) {
	text, err := cText("key", key)
	if err != nil {
		return false, err
	}
	return askBool(func(deleted *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_delete_key(s.handle(), text, deleted, e)
	})
}

// NumKeys is how many keys there are; in a TCP store that waited for its workers one more, "init/".
func (s *Store) NumKeys() (int64, error) {
	return ask(func(count *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_num_keys(s.handle(), count, e)
	})
}

// ListKeys are the keys that are there, in no order; of a prefix store those with its prefix,
// without it. Queues are not among them.
func (s *Store) ListKeys() ([]string, error) {
	var count int64
	text, err := askBytes(func(bytes *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		number := new(int64)
		status := raw.Tutti_store_list_keys(s.handle(), bytes, number, e)
		count = *number
		return status
	})
	if err != nil || count == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), nil
}

// QueueLen is how many values a queue holds; 0 if there is no such queue.
func (s *Store) QueueLen(key string) (int64, error) {
	text, err := cText("key", key)
	if err != nil {
		return 0, err
	}
	return ask(func(length *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_queue_len(s.handle(), text, length, e)
	})
}

// HasExtendedAPI tells whether Append, MultiGet and MultiSet work; they do on every store of tutti.
func (s *Store) HasExtendedAPI() (bool, error) {
	return askBool(func(has *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_has_extended_api(s.handle(), has, e)
	})
}

// SetTimeout sets the timeout that calls of this Store have: above 0, or [NoTimeout].
func (s *Store) SetTimeout(timeout time.Duration) error {
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_store_set_timeout(s.handle(), milliseconds(timeout), e)
	})
}

// Timeout is the timeout that calls of this Store have; [NoTimeout] if they have none.
func (s *Store) Timeout() (time.Duration, error) {
	limit, err := ask(func(limit *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_get_timeout(s.handle(), limit, e)
	})
	return duration(limit), err
}
