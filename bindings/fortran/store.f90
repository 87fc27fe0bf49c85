!> Key-value stores, where processes meet. Keys and texts lose their trailing blanks; values that
!> must keep every byte are arrays of integer(int8).
module tutti_stores
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64
  use tutti_base, only: tutti_text
  use tutti_functions, only: c_tutti_store_release
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

    module subroutine get_text(self, key, value, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      character(:), allocatable, intent(out) :: value
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine get_bytes(self, key, value, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer(int8), allocatable, intent(out) :: value(:)
      integer, optional, intent(in) :: timeout_ms
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

    !> Whether all of several keys are there.
    module subroutine check(self, keys, found, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: keys(:)
      logical, intent(out) :: found
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Waits until all of several keys are there.
    module subroutine wait(self, keys, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: keys(:)
      integer, optional, intent(in) :: timeout_ms
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

    !> Removes a key; `deleted` tells whether it was there.
    module subroutine delete_key(self, key, deleted, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      logical, optional, intent(out) :: deleted
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> How many values a queue holds; 0 if there is no such queue.
    module subroutine queue_len(self, key, length, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer, intent(out) :: length
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

    !> How many keys there are; in a TCP store that waited for its workers one more, "init/".
    module subroutine num_keys(self, count, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, intent(out) :: count
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Waits until `world_size` callers have come to the barrier of this key, which serves once.
    module subroutine barrier(self, key, world_size, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(*), intent(in) :: key
      integer, intent(in) :: world_size
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Whether append, multi_get and multi_set work on this store.
    module subroutine has_extended_api(self, has, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      logical, intent(out) :: has
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Sets the timeout that calls on this handle use by default: above 0, or TUTTI_NO_TIMEOUT.
    module subroutine set_timeout(self, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The timeout that calls on this handle use by default, or TUTTI_NO_TIMEOUT.
    module subroutine get_timeout(self, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, intent(out) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The port a TCP store is served at.
    module subroutine port(self, number, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, intent(out) :: number
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The host of a TCP store, as it was given.
    module subroutine host(self, name, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(:), allocatable, intent(out) :: name
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The path of a file store's file, absolute.
    module subroutine path(self, name, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      character(:), allocatable, intent(out) :: name
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The store whose keys a prefix store shows.
    module subroutine underlying_store(self, store, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      type(tutti_store), intent(out) :: store
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

    !> Waits until the server has taken every set, append and queue_push of this handle, and fails
    !> if it refused one.
    module subroutine flush(self, timeout_ms, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, optional, intent(in) :: timeout_ms
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Ends the calls of other threads that are waiting on this handle at this moment: they fail with
    !> TUTTI_ERR_ABORTED. Later calls work as before.
    module subroutine interrupt(self, ierr, errmsg)
      class(tutti_store), intent(in) :: self
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine
  end interface
contains
  !> Gives a store back, or each of several; groups and prefix stores made from it keep what they
  !> need. What was released, or never made, is passed over.
  impure elemental subroutine release(self)
    class(tutti_store), intent(inout) :: self
    call c_tutti_store_release(self%handle)
    self%handle = 0
  end subroutine
end module tutti_stores
