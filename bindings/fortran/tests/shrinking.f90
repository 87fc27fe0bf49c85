!> Groups that go on without some of their ranks: shrinking, agreeing, revoking, aborting, and the
!> work of a failure. The last rank of several is excluded from the world in the end; of three that
!> are left, the last one dies.
program shrinking_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use tutti
  implicit none
  integer :: rank, ranks
  character(500) :: message

  interface
    subroutine leave_at_once(code) bind(C, name="_exit")
      import :: c_int
      integer(c_int), value :: code
    end subroutine
  end interface

  call tutti_init_process_group(timeout_ms=60000)
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call wrong_arguments()
  call agreements()
  call revoking()
  call aborting()
  if (ranks > 1) call without_the_first()
  call another_world()
  if (ranks > 2 .and. rank < ranks - 1) call world_after_a_death()
  call tutti_destroy_process_group()
  call passed()
contains
  !> A group of all ranks, which all of them have made: what ends it then ends no making.
  subroutine all_of_them(group)
    type(tutti_group), intent(out) :: group
    call tutti_new_group(group)
    call tutti_barrier()
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
    type(tutti_group) :: group, none
    type(tutti_work) :: work
    integer(int64) :: flags
    integer :: status

    call all_of_them(group)
    call tutti_shrink_group(none, [rank], group, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "excluding oneself")
    call check_message(message, "ranks_to_exclude has this rank")
    call tutti_shrink_group(none, [ranks], group, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "excluding a rank that is none")
    call check_message(message, "ranks_to_exclude")
    call tutti_shrink_group(none, group=group, min_size=ranks + 1, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "too large a min_size")
    call tutti_shrink_group(none, group=group, min_size=-1, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a negative min_size")
    call check_message(message, "min_size is negative")
    call tutti_shrink_group(none, group=group, timeout_ms=-5, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a negative timeout")
    call tutti_shrink_group(none, [integer ::], group, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a healthy group without excluded ranks")
    call check_message(message, "no rank is lost")
    call tutti_shrink_group(none, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a healthy world")
    flags = 1
    call tutti_group_agree(flags, TUTTI_GROUP_NON_MEMBER, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "no member agrees")
    call tutti_group_failure(work, none, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "the failure of no group")
    call check_sum(group, ranks, "the group goes on")
    call group%release()
  end subroutine

  subroutine agreements()
    integer(int64) :: flags, top

    top = ishft(1_int64, 63)
    flags = ior(top, iand(255_int64, not(ishft(1_int64, rank))))
    call tutti_group_agree(flags)
    call check(flags == ior(top, iand(255_int64, not(ishft(1_int64, ranks) - 1))), "flags of all")
  end subroutine

  subroutine revoking()
    type(tutti_group) :: group, again
    type(tutti_work) :: work
    integer :: status
    integer(int64) :: flags

    call all_of_them(group)
    call tutti_group_failure(work, group)
    if (rank == ranks - 1) then
      call check(.not. done(work), "the group is sound")
      call tutti_group_revoke("the loss is no number", group)
      call tutti_group_revoke(group=group)
    end if
    call work%wait(ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_ABORTED, "the work of the failure")
    call check_message(message, "the loss is no number")
    call work%release()
    call tutti_barrier(group, ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "a call on a revoked group")
    flags = 3
    call tutti_group_agree(flags, group, timeout_ms=60000)
    call check(flags == 3, "agreeing in a revoked group")
    call tutti_shrink_group(again, group=group, abort=.true., timeout_ms=60000)
    call check([tutti_get_world_size(again) == ranks, tutti_get_rank(again) == rank], "all again")
    call check_sum(again, ranks, "all work again")
    call tutti_destroy_process_group(again)
    call again%release()
    call group%release()
  end subroutine

  logical function done(work)
    type(tutti_work), intent(in) :: work
    call work%is_completed(done)
  end function

  subroutine aborting()
    type(tutti_group) :: group
    type(tutti_work) :: work, failure
    integer, asynchronous :: x
    integer :: status

    if (ranks == 1) return
    call all_of_them(group)
    call tutti_group_failure(failure, group)
    if (rank == 0) then
      call tutti_recv(x, 1, group=group, work=work)
      call tutti_group_abort(group)
      call work%wait(ierr=status)
      call check_status(status, TUTTI_ERR_ABORTED, "a call that was aborted")
      call work%release()
    end if
    call failure%wait(ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "an aborted group")
    call failure%release()
    call group%release()
  end subroutine

  subroutine without_the_first()
    type(tutti_group) :: group, rest
    character(:), allocatable :: name
    integer :: status

    call all_of_them(group)
    if (rank == 0) then
      call tutti_barrier(group, ierr=status)
      call check_status(status, TUTTI_ERR_ABORTED, "a call of the excluded rank")
    else
      call tutti_shrink_group(rest, [0], group, description="the rest", min_size=ranks - 1)
      call check([tutti_get_world_size(rest) == ranks - 1, tutti_get_rank(rest) == rank - 1], &
                 "the rest")
      call tutti_group_get_name(name, rest)
      call check(index(name, "the rest") > 0, "its name")
      call check_sum(rest, ranks - 1, "a sum of the rest")
      call tutti_barrier(group, ierr=status)
      call check_status(status, TUTTI_ERR_ABORTED, "a call on the group that was shrunk")
      call tutti_destroy_process_group(rest)
      call rest%release()
    end if
    call group%release()
    call tutti_barrier()
  end subroutine

  subroutine another_world()
    type(tutti_group) :: group
    integer :: status, x

    x = 0
    if (ranks > 1 .and. rank == 0) call tutti_recv(x, ranks - 1)
    if (ranks == 1) then
      call tutti_group_revoke()
      call tutti_shrink_group(group)
    else if (rank == ranks - 1) then
      call tutti_send(x, 0, ierr=status) ! no earlier call runs any more
      call tutti_barrier(ierr=status)
      call check_status(status, TUTTI_ERR_ABORTED, "a call of the rank outside")
      return
    else
      call tutti_shrink_group(group, [ranks - 1])
    end if
    call check(group == TUTTI_GROUP_WORLD, "the world")
    call check(tutti_get_world_size() == max(1, ranks - 1), "its size")
    call check(tutti_get_rank() == rank, "its rank")
    call check_sum(TUTTI_GROUP_WORLD, max(1, ranks - 1), "the world works")
  end subroutine

  subroutine world_after_a_death()
    type(tutti_group) :: group
    type(tutti_work) :: failure
    integer(int64) :: flags
    integer :: status, other, x

    call tutti_group_failure(failure)
    x = 0
    if (rank == ranks - 2) then
      do other = 0, ranks - 3
        call tutti_recv(x, other)
      end do
      call leave_at_once(0)
    end if
    call tutti_send(x, ranks - 2, ierr=status)
    call failure%wait(ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_PEER_LOST, "the death of a rank")
    call failure%release()
    flags = 2 + rank
    call tutti_group_agree(flags)
    call check(flags == 2, "the survivors agree")
    call tutti_shrink_group(group)
    call check([tutti_get_rank() == rank, tutti_get_world_size() == ranks - 2], "the survivors")
    call check_sum(group, ranks - 2, "the survivors work")
  end subroutine
end program shrinking_test
