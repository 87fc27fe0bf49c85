!> Going on after a rank has died, and ending a group's calls.
module tutti_group_failures
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tutti_constants, only: tutti_error, tutti_shrink_options, TUTTI_SHRINK_DEFAULT, &
                             TUTTI_SHRINK_ABORT, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_groups
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_shrink_group, tutti_group_agree, tutti_group_revoke, tutti_group_abort
  public :: tutti_group_failure
contains
  !> Makes a group of those ranks of `group` (absent: the world) that are alive, whether or not it
  !> has failed, and without a store; ranks may also die during the call. Every rank that is alive
  !> and not excluded calls it. `ranks_to_exclude`, the same on all of them, shall not be members
  !> though they may be alive. All get the same group, or all get an error and may call again. The
  !> ranks keep their order. Afterwards calls on `group` fail with TUTTI_ERR_ABORTED, on the
  !> excluded ranks as well. If it was made from another group, destroy it any time; if it is a first
  !> one, the new group belongs to it, so destroy it last. Of the world, `new_group` is
  !> TUTTI_GROUP_WORLD, which is the new group then. `new_group` and `group` are two variables.
  !>
  !> With `abort` running calls of the group end first, on all ranks. If fewer ranks than `min_size`
  !> (absent: 1) are left, no group is made. `timeout_ms` is for making the group.
  subroutine tutti_shrink_group(new_group, ranks_to_exclude, group, abort, description, min_size, &
                                timeout_ms, ierr, errmsg)
    type(tutti_group), intent(out) :: new_group
    integer, optional, intent(in) :: ranks_to_exclude(:)
    type(tutti_group), optional, intent(in) :: group
    logical, optional, intent(in) :: abort
    character(*), optional, intent(in) :: description
    integer, optional, intent(in) :: min_size, timeout_ms
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_description
    type(tutti_shrink_options) :: options
    integer(c_int64_t) :: count
    integer(c_int32_t) :: flags
    logical :: is_world

    call name_or_null(description, c_description)
    options%timeout_ms = milliseconds(timeout_ms)
    count = 0
    if (present(ranks_to_exclude)) count = size(ranks_to_exclude, kind=c_int64_t)
    flags = merge(TUTTI_SHRINK_ABORT, TUTTI_SHRINK_DEFAULT, number(abort) /= 0)
    is_world = group_handle(group) == TUTTI_GROUP_WORLD%handle
    status = TUTTI_OK
    if (present(min_size)) then
      if (min_size < 0) call refuse(status, error, "min_size is negative")
      options%min_size = int(min_size, c_int32_t)
    end if
    if (status == TUTTI_OK .and. is_world) then
      status = c_tutti_shrink_group(group_handle(group), ranks_to_exclude, count, flags, &
                                    c_description, options, error=error)
      if (status == TUTTI_OK) new_group = TUTTI_GROUP_WORLD
    else if (status == TUTTI_OK) then
      status = c_tutti_shrink_group(group_handle(group), ranks_to_exclude, count, flags, &
                                    c_description, options, new_group%handle, error)
    end if
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Agrees on a value among the ranks of `group` (absent: the world) that are alive, for instance
  !> whether a step has succeeded everywhere: `flags` are the bits that this rank sets, and then
  !> those that all have set. It works whether or not the group has failed; ranks may also die during
  !> the call, and the flags of such a rank may count. Every rank that is alive calls it, and all get
  !> the same.
  subroutine tutti_group_agree(flags, group, timeout_ms, ierr, errmsg)
    integer(int64), intent(inout) :: flags
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"

    status = c_tutti_group_agree(group_handle(group), flags, milliseconds(timeout_ms), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Ends the group on all its ranks: running calls end, and later ones fail, with TUTTI_ERR_ABORTED
  !> and the reason. So a rank that has found that the group cannot go on frees the others from
  !> waiting for it. The group can then be shrunk. Does nothing if the group has failed before.
  subroutine tutti_group_revoke(reason, group, ierr, errmsg)
    character(*), optional, intent(in) :: reason
    type(tutti_group), optional, intent(in) :: group
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_reason

    call name_or_null(reason, c_reason)
    status = c_tutti_group_revoke(group_handle(group), c_reason, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Ends the calls of this rank on the group at once, with TUTTI_ERR_ABORTED, and waits for no other
  !> rank. An array is the caller's again when its call or work has ended, which takes milliseconds.
  !> Those of the other ranks fail as with tutti_group_revoke. Does nothing if the group has failed
  !> before.
  wrap tutti_group_abort(group)

  !> A work that ends when the group cannot go on: its failure says why, and names the rank. So a
  !> program learns of a death without a call on the group, for instance by its `then` or
  !> tutti_wait_any. If the group is destroyed first, it ends with TUTTI_ERR_ABORTED.
  subroutine tutti_group_failure(work, group, ierr, errmsg)
    type(tutti_work), intent(out) :: work
    type(tutti_group), optional, intent(in) :: group
    include "error.inc"

    status = c_tutti_group_failure(group_handle(group), work%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_group_failures
