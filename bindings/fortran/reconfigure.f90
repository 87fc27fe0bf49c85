!> Groups of processes that know each other by handles: those that are left of an older group, and
!> new ones.
module tutti_group_reconfiguring
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tutti_constants, only: tutti_error, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_groups
  use tutti_group_creation, only: options_of
  implicit none
  private
  public :: tutti_get_reconfigure_handle, tutti_group_reconfigure
contains
  !> The text by which other processes reach this one in tutti_group_reconfigure: pass it to them in
  !> any way, for instance by a store or a file. It stays the same until the process ends, and has no
  !> blanks. The first call opens a port.
  wrap tutti_get_reconfigure_handle(handle)

  !> Makes a group of the processes whose `handles` are listed, in the order of the new ranks: those
  !> that are left of `group` (absent: the world; TUTTI_GROUP_NON_MEMBER: none), and new ones. So a
  !> group shrinks, grows or replaces its dead in one call, without a store. Each listed process
  !> makes the call with the same list, `backend` and `reproducible`, whether it had a group or not,
  !> and with an `id` with which none of them has called before. If the call fails, `group` is as
  !> before: call again with a new `id`. Afterwards calls on `group` fail with TUTTI_ERR_ABORTED; it
  !> is still to be destroyed and released. Of the world, which this process need not have,
  !> `new_group` is TUTTI_GROUP_WORLD, which is the new group then.
  subroutine tutti_group_reconfigure(new_group, id, handles, group, backend, description, &
                                     timeout_ms, reproducible, device_type, device_index, ierr, &
                                     errmsg)
    type(tutti_group), intent(out) :: new_group
    integer(int64), intent(in) :: id
    character(*), intent(in) :: handles(:)
    type(tutti_group), optional, intent(in) :: group
    character(*), optional, intent(in) :: backend, description
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_description
    type(text_list), target :: list
    integer(c_int64_t) :: count

    call list_texts(handles, list)
    count = size(handles, kind=c_int64_t)
    call name_or_null(backend, c_backend)
    call name_or_null(description, c_description)
    if (group_handle(group) == TUTTI_GROUP_WORLD%handle) then
      status = c_tutti_group_reconfigure( &
        group_handle(group), id, list%addresses, count, c_backend, c_description, &
        options_of(timeout_ms, reproducible, device_type, device_index), error=error)
      if (status == TUTTI_OK) new_group = TUTTI_GROUP_WORLD
    else
      status = c_tutti_group_reconfigure( &
        group_handle(group), id, list%addresses, count, c_backend, c_description, &
        options_of(timeout_ms, reproducible, device_type, device_index), new_group%handle, error)
    end if
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_group_reconfiguring
