!> Operations that run while the program goes on. Wait for a work, then release it. Until it is done
!> its buffers must stay where they are: declare them `asynchronous`, or `target`.
module tutti_works
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tutti_constants, only: tutti_error, tutti_work_callback, tutti_release_function, &
                             TUTTI_OK
  use tutti_base
  use tutti_functions
  implicit none
  private
  public :: tutti_work, tutti_wait_all, tutti_wait_any

  !> A handle of an operation: a value that may be copied, and is released once.
  type :: tutti_work
    integer(c_intptr_t) :: handle = 0
  contains
    procedure :: wait, is_completed, is_success, exception, source_rank
    procedure :: then, synchronize, cancel
    procedure :: op_type, sequence_number, duration
    procedure :: release
  end type
contains
  !> Waits until the operation is done and tells how it ended. With `timeout_ms` this wait alone is
  !> limited: TUTTI_ERR_PENDING then says that the operation goes on.
  wrap tutti_work_wait(self, [timeout_ms]) as wait

  !> Whether the operation is done, successfully or not.
  wrap tutti_work_is_completed(self, logical completed) as is_completed

  !> Whether the operation is done and successful.
  wrap tutti_work_is_success(self, logical success) as is_success

  !> How the operation failed: TUTTI_OK while it is running and if it succeeded. Never stops.
  subroutine exception(self, status, errmsg)
    class(tutti_work), intent(in) :: self
    integer, intent(out) :: status
    character(*), optional, intent(inout) :: errmsg
    type(tutti_error) :: error
    integer(c_int32_t) :: c_status

    c_status = c_tutti_work_error(self%handle, error)
    call finish(c_status, error, status, errmsg)
  end subroutine

  !> The group rank that a finished receive received from; -1 while nothing has come and for other
  !> operations.
  wrap tutti_work_source_rank(self, rank = -1) as source_rank

  !> Has a bind(C) procedure called once the operation is done, on a thread of the library, never
  !> inside this call. `user` is passed to it as it is, and to `release_user` behind it.
  subroutine then(self, callback, user, release_user, ierr, errmsg)
    class(tutti_work), intent(in) :: self
    procedure(tutti_work_callback) :: callback
    type(c_ptr), optional, intent(in) :: user
    procedure(tutti_release_function), optional :: release_user
    include "error.inc"
    type(c_funptr) :: release

    release = c_null_funptr
    if (present(release_user)) release = c_funloc(release_user)
    status = c_tutti_work_then(self%handle, c_funloc(callback), or_null(user), release, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Waits until the operation is done, as `wait` does; with a stream of a device, makes that stream
  !> wait instead.
  wrap tutti_work_synchronize(self, [stream]) as synchronize

  !> Cancels a receive that has not begun, which then ends with TUTTI_ERR_ABORTED. `cancelled` is
  !> false if it has begun or is done.
  wrap tutti_work_cancel(self, logical cancelled) as cancel

  !> The kind of the operation, for instance "all_reduce"; empty for an invalid handle.
  function op_type(self) result(name)
    class(tutti_work), intent(in) :: self
    character(text_length(c_tutti_work_get_op_type(self%handle))) :: name
    name = from_c(c_tutti_work_get_op_type(self%handle))
  end function

  !> Which collective of its group it is, from 1 on; 0 for messages.
  wrap tutti_work_get_sequence_number(self, int64 sequence) as sequence_number

  !> How long the operation took, in milliseconds; -1 while it is running.
  wrap tutti_work_get_duration(self, ms = -1) as duration

  !> Gives a work back, or each of several. An unfinished operation goes on: its buffers must stay
  !> until `on_done` of its options is called, or its group is destroyed. What was released, or never
  !> made, is passed over.
  impure elemental subroutine release(self)
    class(tutti_work), intent(inout) :: self
    call c_tutti_work_release(self%handle)
    self%handle = 0
  end subroutine

  !> Waits until all of several operations are done; the first failure in their order is the
  !> result. They are still to be released.
  subroutine tutti_wait_all(works, timeout_ms, ierr, errmsg)
    type(tutti_work), intent(in) :: works(:)
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"

    status = c_tutti_work_wait_all(works%handle, size(works, kind=c_int64_t), &
                                   milliseconds(timeout_ms), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Waits until one of several operations is done; `index`, from 1 on, is the lowest of those that
  !> are. How it ended, its wait tells.
  subroutine tutti_wait_any(works, index, timeout_ms, ierr, errmsg)
    type(tutti_work), intent(in) :: works(:)
    integer, intent(out) :: index
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"
    integer(c_int64_t) :: found

    found = 0
    status = c_tutti_work_wait_any(works%handle, size(works, kind=c_int64_t), &
                                   milliseconds(timeout_ms), found, error)
    index = 0
    if (status == TUTTI_OK) index = int(found) + 1
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_works
