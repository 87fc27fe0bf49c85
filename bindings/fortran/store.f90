!> Key-value stores, where processes meet. Keys and texts lose their trailing blanks; values that
!> must keep every byte are arrays of integer(int8).
module tutti_stores
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64
  use tutti_constants, only: tutti_error
  use tutti_base
  use tutti_functions
  implicit none
  private
  public :: tutti_store

  !> A handle of a store: a value that may be copied, and is released once.
  type :: tutti_store
    integer(c_intptr_t) :: handle = 0
  contains
    procedure, private :: set_text, set_bytes, get_text, get_bytes, append_text, append_bytes
    procedure, private :: add_int32, add_int64, push_text, push_bytes, pop_text, pop_bytes
    procedure, private :: compare_set_text, compare_set_bytes
    !> set(key, value): stores a value, a text or bytes; an old one is replaced.
    generic :: set => set_text, set_bytes
    !> get(key, value, timeout_ms): reads the value of a key, and waits until there is one.
    generic :: get => get_text, get_bytes
    !> append(key, value): appends to the value of a key.
    generic :: append => append_text, append_bytes
    !> add(key, amount, value): adds to a counter and returns its new value.
    generic :: add => add_int32, add_int64
    !> compare_set(key, expected, desired, value): sets a key to `desired` if its value is
    !> `expected`, or if it is not there and `expected` is empty; returns what it has afterwards.
    generic :: compare_set => compare_set_text, compare_set_bytes
    !> queue_push(key, value): puts a value at the end of a queue.
    generic :: queue_push => push_text, push_bytes
    !> queue_pop(key, value, block, timeout_ms): takes the first value out of a queue; without one
    !> it waits, or if `block` is .false. fails with TUTTI_ERR_QUEUE_EMPTY.
    generic :: queue_pop => pop_text, pop_bytes
    procedure :: check, wait, multi_get, multi_set, delete_key, queue_len, list_keys, num_keys
    procedure :: barrier, has_extended_api, set_timeout, get_timeout
    procedure :: port, host, path, underlying_store, clone, flush, interrupt
    procedure :: release
  end type

  interface
    module subroutine set_text(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key, value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine set_bytes(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), intent(in) :: value(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine append_text(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key, value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine append_bytes(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), intent(in) :: value(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine push_text(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key, value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine push_bytes(self, key, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), intent(in) :: value(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine pop_text(self, key, value, block, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      character(:), allocatable, intent(out) :: value
      logical, optional, intent(in) :: block
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine pop_bytes(self, key, value, block, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), allocatable, intent(out) :: value(:)
      logical, optional, intent(in) :: block
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine compare_set_text(self, key, expected, desired, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key, expected, desired
      character(:), allocatable, intent(out) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine compare_set_bytes(self, key, expected, desired, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), intent(in) :: expected(:), desired(:)
      integer(int8), allocatable, intent(out) :: value(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine add_int64(self, key, amount, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int64), intent(in) :: amount
      integer(int64), optional, intent(out) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine add_int32(self, key, amount, value, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int32), intent(in) :: amount
      integer(int32), optional, intent(out) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Reads several values at once; waits until all keys are there.
    module subroutine multi_get(self, keys, values, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: keys(:)
      type(tutti_text), allocatable, intent(out) :: values(:)
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Stores several values at once, without their trailing blanks.
    module subroutine multi_set(self, keys, values, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: keys(:), values(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The keys that are there, in no order.
    module subroutine list_keys(self, keys, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      type(tutti_text), allocatable, intent(out) :: keys(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Makes another handle of the same store, with a timeout and connections of its own.
    module subroutine clone(self, store, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      type(tutti_store), intent(out) :: store
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine
  end interface
contains
  wrap tutti_store_get(self, key, value, [timeout_ms]) as get_text

  wrap tutti_store_get(self, key, bytes value, [timeout_ms]) as get_bytes

  !> Whether all of several keys are there.
  wrap tutti_store_check(self, keys, logical found) as check

  !> Waits until all of several keys are there.
  wrap tutti_store_wait(self, keys, [timeout_ms]) as wait

  !> Removes a key; `deleted` tells whether it was there.
  wrap tutti_store_delete_key(self, key, [logical deleted]) as delete_key

  !> How many values a queue holds; 0 if there is no such queue.
  wrap tutti_store_queue_len(self, key, length) as queue_len

  !> How many keys there are; in a TCP store that waited for its workers one more, "init/".
  wrap tutti_store_num_keys(self, count) as num_keys

  !> Waits until `world_size` callers have come to the barrier of this key, which serves once.
  wrap tutti_store_barrier(self, key, world_size, [timeout_ms]) as barrier

  !> Whether append, multi_get and multi_set work on this store.
  wrap tutti_store_has_extended_api(self, logical has) as has_extended_api

  !> Sets the timeout that calls on this handle use by default: above 0, or TUTTI_NO_TIMEOUT.
  wrap tutti_store_set_timeout(self, timeout_ms) as set_timeout

  !> The timeout that calls on this handle use by default, or TUTTI_NO_TIMEOUT.
  wrap tutti_store_get_timeout(self, timeout_ms) as get_timeout

  !> The port a TCP store is served at.
  wrap tutti_tcp_store_port(self, number) as port

  !> The host of a TCP store, as it was given.
  wrap tutti_tcp_store_host(self, name) as host

  !> The path of a file store's file, absolute.
  wrap tutti_file_store_path(self, name) as path

  !> The store whose keys a prefix store shows.
  wrap tutti_prefix_store_underlying_store(self, store) as underlying_store

  !> Waits until the server has taken every set, append and queue_push of this handle, and fails
  !> if it refused one.
  wrap tutti_store_flush(self, [timeout_ms]) as flush

  !> Ends the calls of other threads that are waiting on this handle at this moment: they fail with
  !> TUTTI_ERR_ABORTED. Later calls work as before.
  wrap tutti_store_interrupt(self) as interrupt

  !> Gives a store back, or each of several; groups and prefix stores made from it keep what they
  !> need. What was released, or never made, is passed over.
  impure elemental subroutine release(self)
    class(tutti_store), intent(inout) :: self
    call c_tutti_store_release(self%handle)
    self%handle = 0
  end subroutine
end module tutti_stores
