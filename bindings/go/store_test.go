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
	clone := must(client.Clone())
	check(t, client.Close())
	is(t, string(must(clone.Get(background, "k"))), "v")
	_, err := TCPStore(background, "127.0.0.1", -5, 1, true, nil)
	failsWith(t, err, ErrInvalidArgument)
}

func TestFileAndPrefixStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := must(FileStore(path, 1))
	is(t, must(s.Path()), path)
	p := must(PrefixStore("pre", s))
	check(t, p.Set("k", []byte("v")))
	is(t, string(must(s.Get(background, "pre/k"))), "v")
	under := must(p.UnderlyingStore())
	is(t, string(must(under.Get(background, "pre/k"))), "v")
	_, err := under.UnderlyingStore()
	failsWith(t, err, ErrInvalidArgument)
	_, err = p.Port()
	failsWith(t, err, ErrInvalidArgument)
	_, err = FileStore("/nowhere/at/all", 1)
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

func TestAWaitForATurnCanBeLeft(t *testing.T) {
	s := must(HashStore())
	for i := 0; i < cap(shortWaits); i++ {
		shortWaits <- struct{}{}
	}
	defer func() {
		for i := 0; i < cap(shortWaits); i++ {
			<-shortWaits
		}
	}()
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err := s.Get(ctx, "never")
	failsWith(t, err, ErrTimeout)
	failsWith(t, err, context.DeadlineExceeded)
}
