!> Groups of processes that know each other by handles: the world, and groups beside it, are replaced
!> by those of another list, and a process that is not listed learns of it.
program reconfiguring_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use tutti
  implicit none
  integer, parameter :: longest = 1000
  character(longest), allocatable :: handles(:)
  character(500) :: message
  integer :: rank, ranks
  integer(int64) :: next_id = 0

  call tutti_init_process_group(timeout_ms=60000)
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call exchange_handles()
  call wrong_arguments()
  call groups_of_ones_own()
  call the_world_in_another_order()
  if (ranks > 1) call the_world_without_its_last_rank()
  if (tutti_is_initialized()) call tutti_destroy_process_group()
  call a_world_after_none()
  call passed()
contains
  !> A number that is the same on all ranks, and new.
  integer(int64) function new_id()
    next_id = next_id + 1
    new_id = next_id
  end function

  subroutine exchange_handles()
    type(tutti_bytes), allocatable :: all_of(:)
    character(:), allocatable :: mine, again
    integer :: i

    call tutti_get_reconfigure_handle(mine)
    call tutti_get_reconfigure_handle(again)
    call check([len(mine) > 0, len(mine) < longest, mine == again], "the handle stays")
    allocate (all_of(ranks), handles(ranks))
    call tutti_all_gather_bytes(mine, all_of)
    do i = 1, ranks
      handles(i) = all_of(i)%text()
    end do
    call all_of%release()
    call check(handles(rank + 1) == mine, "this rank's handle")
  end subroutine

  subroutine check_sum(group, expected, what)
    type(tutti_group), intent(in) :: group
    integer, intent(in) :: expected
    character(*), intent(in) :: what
    integer :: x

    x = 1
    call tutti_all_reduce(x, group=group)
    call check(x == expected, what)
  end subroutine

  subroutine wrong_arguments()
    type(tutti_group) :: group
    integer :: status

    call tutti_group_reconfigure(group, 77_int64, ["nonsense"], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no handle")
    call check_message(message, 'handles[0] is "nonsense"')
    call tutti_group_reconfigure(group, 77_int64, [handles(1), handles(1)], ierr=status, &
                                 errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a handle twice")
    call check_message(message, "handles[1] is the same as handles[0]")
    call tutti_group_reconfigure(group, 77_int64, handles(:0), ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no handles")
    call tutti_group_reconfigure(group, 77_int64, handles, tutti_group(0), ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "an older group that is none")
    call check_sum(TUTTI_GROUP_WORLD, ranks, "the world goes on")
  end subroutine

  subroutine groups_of_ones_own()
    type(tutti_group) :: first, second
    character(:), allocatable :: name
    integer :: status

    call tutti_group_reconfigure(first, new_id(), handles, TUTTI_GROUP_NON_MEMBER, "tcp", "the first")
    call tutti_group_get_name(name, first)
    call check([tutti_get_rank(first) == rank, name == "the first"], "the first group")
    call check_sum(first, ranks, "the sum in the first group")
    call tutti_group_reconfigure(second, next_id, handles, first, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an id again")
    call check_message(message, "used before")
    call tutti_group_reconfigure(second, new_id(), handles(ranks:1:-1), first, timeout_ms=60000)
    call check([tutti_get_rank(second) == ranks - 1 - rank, tutti_get_world_size(second) == ranks], &
               "the second group")
    call check_sum(second, ranks, "the sum in the second group")
    call tutti_barrier(first, ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "a call on the first group")
    call tutti_destroy_process_group(second)
    call second%release()
    call first%release()
  end subroutine

  subroutine the_world_in_another_order()
    type(tutti_group) :: before, now
    integer :: status

    call tutti_group_retain(before)
    call tutti_group_reconfigure(now, new_id(), handles(ranks:1:-1), description="reversed")
    call check([now == TUTTI_GROUP_WORLD, tutti_get_rank() == ranks - 1 - rank], "the new world")
    call check_sum(TUTTI_GROUP_WORLD, ranks, "the sum in the new world")
    call tutti_barrier(before, ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "a call on the world before")
    call before%release()
  end subroutine

  subroutine the_world_without_its_last_rank()
    type(tutti_group) :: now
    integer(int64) :: id
    integer :: status

    id = new_id()
    if (rank == ranks - 1) then
      call tutti_barrier(ierr=status, errmsg=message)
      call check_status(status, TUTTI_ERR_ABORTED, "a call of the rank outside")
    else
      call tutti_group_reconfigure(now, id, handles(:ranks - 1))
      call check([tutti_get_rank() == rank, tutti_get_world_size() == ranks - 1], "a smaller world")
      call check_sum(now, ranks - 1, "the sum in the smaller world")
    end if
  end subroutine

  subroutine a_world_after_none()
    type(tutti_group) :: world

    call tutti_group_reconfigure(world, new_id(), handles(rank + 1:rank + 1))
    call check([tutti_is_initialized(), tutti_get_world_size() == 1], "a world of one")
    call check_sum(world, 1, "the sum in a world of one")
    call tutti_destroy_process_group()
  end subroutine
end program reconfiguring_test
