package tutti

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestEveryStoreCall(t *testing.T) {
	s := must(HashStore())
	defer s.Close()
	check(t, s.Set("a", []byte("one")))
	check(t, s.Append("a", []byte(" two")))
	is(t, string(must(s.Get(background, "a"))), "one two")
	is(t, must(s.Add("n", 40)), int64(40))
	is(t, must(s.Add("n", 2)), int64(42))
	is(t, must(s.Check("a", "n")), true)
	is(t, must(s.Check("a", "nowhere")), false)
	check(t, s.Wait(background, "a", "n"))
	is(t, string(must(s.CompareSet("a", []byte("one two"), []byte("three")))), "three")
	is(t, string(must(s.CompareSet("a", []byte("else"), []byte("four")))), "three")
	check(t, s.MultiSet([]string{"x", "y"}, [][]byte{[]byte("1"), nil}))
	is(t, must(s.MultiGet(background, []string{"x", "y"})), [][]byte{[]byte("1"), {}})
	is(t, must(s.NumKeys()), int64(4))
	keys := must(s.ListKeys())
	slices.Sort(keys)
	is(t, keys, []string{"a", "n", "x", "y"})
	is(t, must(s.DeleteKey("x")), true)
	is(t, must(s.DeleteKey("x")), false)
	is(t, must(s.HasExtendedAPI()), true)
	check(t, s.Barrier(background, "b", 1))
	check(t, s.SetTimeout(7*time.Second))
	is(t, must(s.Timeout()), 7*time.Second)
	check(t, s.SetTimeout(NoTimeout))
	is(t, must(s.Timeout()), NoTimeout)
}

func TestQueues(t *testing.T) {
	s := must(HashStore())
	_, err := s.TryQueuePop("q")
	failsWith(t, err, ErrQueueEmpty)
	check(t, s.QueuePush("q", []byte("first")))
	check(t, s.QueuePush("q", []byte("second")))
	is(t, must(s.QueueLen("q")), int64(2))
	is(t, string(must(s.QueuePop(background, "q"))), "first")
	ctx, cancel := context.WithCancel(background)
	is(t, string(must(s.QueuePop(ctx, "q"))), "second")
	cancel()
	_, err = s.QueuePop(ctx, "q")
	failsWith(t, err, context.Canceled)
}

func TestWaitsOfAStoreEndWithTheirContext(t *testing.T) {
	s := must(HashStore())
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err := s.Get(ctx, "never")
	failsWith(t, err, context.DeadlineExceeded)
	failsWith(t, err, ErrTimeout)
	if !strings.Contains(err.Error(), "never") {
		t.Errorf("the key is not named: %v", err)
	}
	ctx, cancel = context.WithCancel(background)
	go cancel()
	failsWith(t, s.Wait(ctx, "never"), context.Canceled)
	failsWith(t, s.Barrier(ctx, "b", 2), context.Canceled)
	check(t, s.SetTimeout(5*time.Millisecond))
	_, err = s.Get(background, "never")
	failsWith(t, err, ErrTimeout)
}

func TestAWaitWithAContextEndsWhenTheKeyComes(t *testing.T) {
	s := must(HashStore())
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	var done sync.WaitGroup
	for i := 0; i < 50; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			is(t, string(must(s.Get(ctx, "key"))), "value")
		}()
	}
	check(t, s.Set("key", []byte("value")))
	done.Wait()
}

func TestTCPStore(t *testing.T) {
	socket := must(must(net.Listen("tcp", "127.0.0.1:0")).(*net.TCPListener).File())
	defer socket.Close()
	master := must(TCPStore(background, "127.0.0.1", 0, -1, true,
		&TCPStoreOptions{MasterListener: socket}))
	defer master.Close()
	port := must(master.Port())
	is(t, must(master.Host()), "127.0.0.1")
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	client := must(TCPStore(ctx, "127.0.0.1", port, -1, false, nil))
	is(t, must(client.Timeout()), defaultStoreTimeout)
	check(t, client.Set("k", []byte("v")))
	is(t, string(must(master.Get(ctx, "k"))), "v")
	clone := must(client.Clone(background, nil))
	check(t, client.Close())
	is(t, string(must(clone.Get(background, "k"))), "v")
	_, err := TCPStore(background, "127.0.0.1", -5, 1, true, nil)
	failsWith(t, err, ErrInvalidArgument)
}

func TestFileAndPrefixStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := must(FileStore(background, path, 1, nil))
	is(t, must(s.Path()), path)
	p := must(PrefixStore(s, "pre"))
	check(t, p.Set("k", []byte("v")))
	is(t, string(must(s.Get(background, "pre/k"))), "v")
	under := must(p.UnderlyingStore())
	is(t, string(must(under.Get(background, "pre/k"))), "v")
	_, err := under.UnderlyingStore()
	failsWith(t, err, ErrInvalidArgument)
	_, err = p.Port()
	failsWith(t, err, ErrInvalidArgument)
	_, err = FileStore(background, "/nowhere/at/all", 1, nil)
	failsWith(t, err, ErrStore)
	failsWith(t, err, os.ErrNotExist)
}

func TestAClosedStoreIsAnError(t *testing.T) {
	s := must(HashStore())
	check(t, s.Close())
	check(t, s.Close())
	failsWith(t, s.Set("k", nil), ErrInvalidHandle)
	_, err := s.Get(background, "k")
	failsWith(t, err, ErrInvalidHandle)
	is(t, err.Error(), "tutti: tutti_store_get: store is nil or closed")
	var none *Store
	failsWith(t, none.Set("k", nil), ErrInvalidHandle)
	_, err = CreateGroup(background, "loopback", none, 0, 1, nil)
	failsWith(t, err, ErrInvalidHandle)
	check(t, none.Close())
}

func TestTextWithANULIsRefused(t *testing.T) {
	s := must(HashStore())
	err := s.Set("a\x00b", nil)
	failsWith(t, err, ErrInvalidArgument)
	var failure *Error
	if !errors.As(err, &failure) || !strings.Contains(failure.Message, "key") {
		t.Errorf("the argument is not named: %v", err)
	}
}

// waiting are the waits that a context can end.
func waiting(s *Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"get":       func(ctx context.Context) error { _, err := s.Get(ctx, "never"); return err },
		"wait":      func(ctx context.Context) error { return s.Wait(ctx, "ever", "never") },
		"queue_pop": func(ctx context.Context) error { _, err := s.QueuePop(ctx, "never"); return err },
		"barrier":   func(ctx context.Context) error { return s.Barrier(ctx, "never", 2) },
		"multi_get": func(ctx context.Context) error {
			_, err := s.MultiGet(ctx, []string{"ever", "never"})
			return err
		},
	}
}

// everyStore runs a function with a store of each kind.
func everyStore(t *testing.T, function func(t *testing.T, s *Store)) {
	hash := must(HashStore())
	file := must(FileStore(background, filepath.Join(t.TempDir(), "store"), 1, nil))
	tcp := must(TCPStore(background, "127.0.0.1", 0, -1, true, nil))
	library := must(OpenStore(background, "folder", filepath.Join(t.TempDir(), "keys"), nil))
	for name, s := range map[string]*Store{
		"hash": hash, "library": library, "file": file, "tcp": tcp, "prefix": must(PrefixStore(tcp, "prefix")),
	} {
		t.Run(name, func(t *testing.T) { function(t, s) })
	}
	for _, s := range []*Store{hash, file, tcp, library} {
		check(t, s.Close())
	}
}

func TestTheStoreOfALibrary(t *testing.T) {
	everyStore(t, func(t *testing.T, s *Store) {
		check(t, s.Set("key", []byte("value")))
		is(t, string(must(s.Get(background, "key"))), "value")
		is(t, must(s.Add("count", 3)), 3)
	})
	_, err := OpenStore(background, "pigeon", "", nil)
	failsWith(t, err, ErrUnsupported)
	_, err = OpenStore(background, "folder", "/nowhere/at/all", nil)
	failsWith(t, err, ErrStore)
	_, err = OpenStore(background, "folder", "a\x00b", nil)
	failsWith(t, err, ErrInvalidArgument)
}

func TestCancellingEndsEachWaitOfAStore(t *testing.T) {
	everyStore(t, func(t *testing.T, s *Store) {
		check(t, s.Set("ever", nil))
		for name, wait := range waiting(s) {
			ctx, cancel := context.WithCancel(background)
			ended := make(chan error)
			go func() { ended <- wait(ctx) }()
			cancel()
			err := <-ended
			failsWith(t, err, context.Canceled)
			var failure *Error
			if errors.As(err, &failure) { // else it had not begun
				is(t, failure.Status, ErrAborted)
				if !strings.Contains(err.Error(), "never") {
					t.Errorf("%s: the key is not named: %v", name, err)
				}
			}
			failsWith(t, wait(ctx), context.Canceled)
		}
	})
}

func TestCancellingOneWaitLeavesTheOthers(t *testing.T) {
	everyStore(t, func(t *testing.T, s *Store) {
		kept, leave := context.WithCancel(background)
		defer leave()
		var got, met sync.WaitGroup
		for _, ctx := range []context.Context{background, kept} {
			got.Add(2)
			go func(ctx context.Context) {
				defer got.Done()
				is(t, string(must(s.Get(ctx, "key"))), "value")
			}(ctx)
			go func(ctx context.Context) {
				defer got.Done()
				is(t, string(must(s.QueuePop(ctx, "queue"))), "turn")
			}(ctx)
			met.Add(1)
			go func(ctx context.Context) {
				defer met.Done()
				check(t, s.Barrier(ctx, "barrier", 3))
			}(ctx)
		}
		for i := 0; i < 20; i++ {
			ctx, cancel := context.WithCancel(background)
			ended := make(chan error)
			go func() { ended <- s.Wait(ctx, "never") }()
			cancel()
			failsWith(t, <-ended, context.Canceled)
		}
		check(t, s.Set("key", []byte("value")))
		check(t, s.QueuePush("queue", []byte("turn")))
		check(t, s.QueuePush("queue", []byte("turn")))
		got.Wait()
		check(t, s.Barrier(background, "barrier", 3))
		met.Wait()
	})
}

func TestClosingAStoreEndsItsWaits(t *testing.T) {
	for i := 0; i < 20; i++ {
		s := must(HashStore())
		ended := make(chan error)
		go func() {
			_, err := s.Get(background, "never")
			ended <- err
		}()
		check(t, s.Close())
		failsWith(t, <-ended, ErrInvalidHandle)
	}
}

func TestWaitsShareTheThreadsThatThereAre(t *testing.T) {
	for i := 0; i < mostBlocked; i++ {
		longWaits.enter()
	}
	defer func() { longWaits.inside.Store(0) }()
	defer func(length time.Duration) { turnLength = length }(turnLength)
	turnLength = time.Millisecond
	s := must(HashStore())
	met := make(chan error, 1)
	go func() { met <- s.Barrier(background, "barrier", 2) }()
	got := make(chan string)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	for _, ctx := range []context.Context{background, ctx} {
		go func(ctx context.Context) { got <- string(must(s.Get(ctx, "key"))) }(ctx)
	}
	short := must(s.Clone(background, &StoreOptions{Timeout: 10 * time.Millisecond}))
	_, err := short.Get(background, "never")
	failsWith(t, err, ErrTimeout)
	check(t, s.Set("key", []byte("value")))
	is(t, []string{<-got, <-got}, []string{"value", "value"})
	is(t, len(met), 0) // the barrier counts once, however many turns have passed
	check(t, s.Barrier(background, "barrier", 2))
	check(t, <-met)

	for i := 0; i < cap(turns); i++ {
		turns <- struct{}{}
	}
	defer func() {
		for i := 0; i < cap(turns); i++ {
			<-turns
		}
	}()
	go cancel()
	_, err = s.Get(ctx, "never") // has no turn
	failsWith(t, err, context.Canceled)
}

func TestAFlushTellsWhatTheServerRefused(t *testing.T) {
	everyStore(t, func(t *testing.T, s *Store) {
		check(t, s.Set("key", []byte("value")))
		check(t, s.Flush(background))
		failsWith(t, s.Flush(done()), context.Canceled)
	})
	full := must(TCPStore(background, "127.0.0.1", 0, -1, true,
		&TCPStoreOptions{MaxMemoryBytes: 1 << 20}))
	defer full.Close()
	check(t, full.Set("key", make([]byte, 1<<21)))
	failsWith(t, full.Flush(background), ErrStore)
}

// done is a context that is done.
func done() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}

func TestTimeoutsOfStoresThatAreMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := must(FileStore(background, path, -1, &StoreOptions{Timeout: time.Minute}))
	is(t, must(s.Timeout()), time.Minute)
	is(t, must(must(s.Clone(background, nil)).Timeout()), time.Minute)
	soon, cancel := context.WithTimeout(background, 30*time.Second)
	defer cancel()
	is(t, must(must(s.Clone(soon, nil)).Timeout()), time.Minute)
	is(t, must(must(s.Clone(soon, &StoreOptions{Timeout: NoTimeout})).Timeout()), NoTimeout)
	is(t, must(must(FileStore(soon, path, -1, nil)).Timeout()), defaultStoreTimeout)
	_, err := s.Clone(done(), nil)
	failsWith(t, err, context.Canceled)

	locked := must(os.Open(path))
	defer locked.Close()
	check(t, syscall.Flock(int(locked.Fd()), syscall.LOCK_EX))
	short, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err = FileStore(short, path, -1, nil)
	failsWith(t, err, ErrTimeout)
	failsWith(t, err, context.DeadlineExceeded)
}
