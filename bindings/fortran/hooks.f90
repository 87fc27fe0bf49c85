!> Procedures that are called around every operation of this process.
module tutti_hook_calls
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tutti_constants
  use tutti_base
  use tutti_functions
  implicit none
  private
  public :: tutti_hooks_add, tutti_hooks_remove, tutti_operation_inputs, tutti_operation_outputs

  type(tutti_buffer), target, save :: none(0)
contains
  !> Adds bind(C) procedures that are called about every operation that begins from now on, of all
  !> groups: `before` before it moves anything, and then either `after` or, when it has failed,
  !> `aborted` with the error. Hooks that were added later are the inner ones. Any thread calls them,
  !> several at a time; they must not wait for their group. Names of an operation are addresses:
  !> tutti_c_string reads them. `release_user` is called with `user` once no hook is called any more.
  subroutine tutti_hooks_add(id, before, after, aborted, user, release_user, ierr, errmsg)
    integer(int64), intent(out) :: id
    procedure(tutti_operation_hook), optional :: before, after
    procedure(tutti_abort_hook), optional :: aborted
    type(c_ptr), optional, intent(in) :: user
    procedure(tutti_release_function), optional :: release_user
    include "error.inc"
    type(tutti_hooks) :: hooks

    id = 0
    if (present(before)) hooks%before = c_funloc(before)
    if (present(after)) hooks%after = c_funloc(after)
    if (present(aborted)) hooks%aborted = c_funloc(aborted)
    hooks%user = or_null(user)
    if (present(release_user)) hooks%release_user = c_funloc(release_user)
    status = c_tutti_hooks_add(hooks, id, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Removes hooks by the number of tutti_hooks_add, and waits for those that are running on other
  !> threads: none of them is called again. A hook may remove itself.
  subroutine tutti_hooks_remove(id, ierr, errmsg)
    integer(int64), intent(in) :: id
    include "error.inc"

    status = c_tutti_hooks_remove(id, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The buffers that an operation reads on this rank, good until the hook returns. Objects and bytes
  !> are not shown. c_f_pointer makes an array of the `data` and `count` of a buffer on the CPU.
  function tutti_operation_inputs(operation) result(buffers)
    type(tutti_operation), intent(in) :: operation
    type(tutti_buffer), pointer :: buffers(:)

    buffers => none
    if (operation%input_count > 0) &
      call c_f_pointer(operation%inputs, buffers, [operation%input_count])
  end function

  !> The buffers that an operation writes on this rank, as tutti_operation_inputs.
  function tutti_operation_outputs(operation) result(buffers)
    type(tutti_operation), intent(in) :: operation
    type(tutti_buffer), pointer :: buffers(:)

    buffers => none
    if (operation%output_count > 0) &
      call c_f_pointer(operation%outputs, buffers, [operation%output_count])
  end function
end module tutti_hook_calls
