!> Groups: made of the world, of parts of it, from a store; what they tell; how they end.
module log_lines
  use, intrinsic :: iso_c_binding
  use tutti, only: tutti_c_string, TUTTI_LOG_INFO, TUTTI_LOG_ERROR
  implicit none
  type, bind(C) :: tally
    integer(c_int) :: lines = 0, releases = 0
  end type
contains
  !> Counts the lines that tell how rank 0 was reached.
  subroutine on_line(level, message, user) bind(C)
    integer(c_int32_t), value :: level
    type(c_ptr), value :: message, user
    type(tally), pointer :: counted
    character(:), allocatable :: line

    call c_f_pointer(user, counted)
    line = tutti_c_string(message)
    if (level < TUTTI_LOG_ERROR .or. level > TUTTI_LOG_INFO) error stop "a level nobody asked for"
    if (index(line, "rank 0") > 0) counted%lines = counted%lines + 1
  end subroutine

  subroutine on_released(user) bind(C)
    type(c_ptr), value :: user
    type(tally), pointer :: counted
    call c_f_pointer(user, counted)
    counted%releases = counted%releases + 1
  end subroutine
end module log_lines

module own_means
  use, intrinsic :: iso_c_binding
  use tutti, only: tutti_all_gather_into_tensor, tutti_get_world_size, tutti_error, &
                   tutti_set_error_message, TUTTI_ERR_INVALID_ARGUMENT
  implicit none
contains
  !> An all-gather by the world's means; `user` is how many bytes it has seen.
  function by_the_world(input, output, size, user, error) bind(C) result(status)
    type(c_ptr), value :: input, output, user
    integer(c_size_t), value :: size
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    integer(c_int8_t), pointer :: in(:), out(:)
    integer(c_size_t), pointer :: seen
    integer :: ierr

    call tutti_set_error_message(error, "the fabric is down")
    call c_f_pointer(user, seen)
    seen = size
    call c_f_pointer(input, in, [size])
    call c_f_pointer(output, out, [size * tutti_get_world_size()])
    call tutti_all_gather_into_tensor(out, in, ierr=ierr)
    status = int(ierr, c_int32_t)
  end function

  !> One that fails.
  function not_at_all(input, output, size, user, error) bind(C) result(status)
    type(c_ptr), value :: input, output, user
    integer(c_size_t), value :: size
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    call tutti_set_error_message(error, "the fabric is down")
    status = TUTTI_ERR_INVALID_ARGUMENT
    if (c_associated(input, output) .or. size == 0 .or. c_associated(user)) status = 0
  end function
end module own_means

program groups_test
  use, intrinsic :: iso_c_binding
  use checks
  use log_lines
  use own_means
  use tutti
  implicit none
  integer :: rank, ranks, i
  character(200) :: message
  type(tally), target, volatile :: counted

  call check(.not. tutti_is_initialized(), "no group yet")
  call check(tutti_get_rank() == -1, "no rank yet")
  call tutti_set_log_callback(on_line, TUTTI_LOG_INFO, c_loc(counted), on_released)
  call tutti_init_process_group(timeout_ms=60000)
  call check(counted%releases == 0, "the log still has its callback")
  call tutti_set_log_callback()
  do while (counted%releases == 0)
  end do
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  if (ranks > 1) call check(counted%lines > 0, "the log told how rank 0 was reached")
  call facts()
  call halves()
  call splits()
  call own_store()
  call own_allgather()
  call failures()
  call tutti_destroy_process_group()
  call check(.not. tutti_is_initialized(), "no group any more")
  call passed()
contains
  subroutine facts()
    integer, allocatable :: members(:), failed(:)
    type(tutti_group) :: named, again
    character(:), allocatable :: name
    integer :: timeout

    call check([tutti_is_initialized(), tutti_get_pg_count() == 1], "one group")
    call check(len(tutti_get_backend()) > 0, "it has a backend")
    call check(tutti_get_backend_for_device(TUTTI_CPU) == tutti_get_backend(), "the CPU's")
    call check(len(tutti_get_backend_for_device(TUTTI_XPU)) == 0, "none for another device")
    call tutti_get_backend_config(name)
    call check(index(name, "cpu:" // tutti_get_backend()) == 1, "its backends by device")
    call tutti_get_process_group_ranks(members)
    call check(all(members == [(i, i=0, ranks - 1)]), "its members")
    call check(tutti_get_group_rank(rank) == rank, "group ranks of the world")
    call tutti_group_set_timeout(50000)
    call tutti_group_get_timeout(timeout)
    call check(timeout == 50000, "its timeout")
    call tutti_get_failed_ranks(failed)
    call check(size(failed) == 0, "nobody has failed")
    call tutti_new_group(named, description="the named one")
    call tutti_group_get_name(name, named)
    call check(index(name, "the named one") > 0, "a group has the name that it was given")
    call tutti_group_retain(again, named)
    call named%release()
    call tutti_barrier(again)
    call again%release()
    call check(TUTTI_GROUP_WORLD == TUTTI_GROUP_WORLD, "groups compare")
    call check(TUTTI_GROUP_WORLD /= TUTTI_GROUP_NON_MEMBER, "and differ")
  end subroutine

  subroutine halves()
    type(tutti_group) :: even, all_ranks, local
    integer :: x, status

    call tutti_new_group(even, [(i, i=0, ranks - 1, 2)], description="even")
    x = 1
    if (mod(rank, 2) == 0) then
      call tutti_all_reduce(x, group=even)
      call check(x == (ranks + 1) / 2, "a sum over the even ranks")
      call check(tutti_get_global_rank(tutti_get_rank(even), even) == rank, "back to global ranks")
      call check(tutti_get_group_rank(1, even) == -1, "rank 1 is not even")
    else
      call check(even == TUTTI_GROUP_NON_MEMBER, "no member")
      call tutti_all_reduce(x, group=even, ierr=status)
      call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a call of no member")
    end if
    call even%release()
    call tutti_new_group(all_ranks)
    call check(tutti_get_world_size(all_ranks) == ranks, "ranks absent: all")
    call tutti_destroy_process_group(all_ranks, timeout_ms=60000)
    call tutti_barrier(all_ranks, ierr=status)
    call check(status /= TUTTI_OK, "a group that was destroyed")
    call all_ranks%release()
    call tutti_barrier(all_ranks, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a group that was released")
    call tutti_new_group(local, [rank], use_local_synchronization=.true.)
    call check(tutti_get_world_size(local) == 1, "a group of oneself")
    call local%release()
  end subroutine

  subroutine splits()
    type(tutti_group) :: part
    integer :: sizes(2), status

    if (ranks == 1) return
    sizes = [1, ranks - 1]
    call tutti_split_group(part, [(i, i=0, ranks - 1)], sizes)
    call check(tutti_get_world_size(part) == merge(1, ranks - 1, rank == 0), "split")
    call part%release()
    call tutti_split_group(part, [0, 1], [1], ierr=status, errmsg=message)
    call check_message(message, "sizes must add up to the number of ranks")
  end subroutine

  !> A second set of ranks, which meets at a store that rank 0 serves.
  subroutine own_store()
    type(tutti_store) :: store, view
    type(tutti_group) :: group
    integer :: port, x

    port = 0
    if (rank == 0) then
      call tutti_tcp_store_create("127.0.0.1", 0, store, is_master=.true., wait_for_workers=.false.)
      call store%port(port)
    end if
    call tutti_broadcast(port, 0)
    if (rank /= 0) call tutti_tcp_store_create("127.0.0.1", port, store)
    call tutti_prefix_store_create(store, "mine", view)
    call tutti_group_create(view, rank, ranks, group, backend="gloo", reproducible=.true.)
    call view%release()
    x = 1
    call tutti_all_reduce(x, group=group)
    call check([x == ranks, tutti_get_backend(group) == "gloo"], "a group of its own store")
    call check(tutti_group_is_reproducible(group), "as it was made")
    call tutti_destroy_process_group(group)
    call group%release()
    call tutti_barrier()
    call store%release()
  end subroutine

  subroutine own_allgather()
    type(tutti_group) :: group
    integer(c_size_t), target :: seen
    integer :: x, status

    seen = 0
    call tutti_group_create_with_allgather(by_the_world, rank, ranks, group, user=c_loc(seen))
    call check(seen > 0, "the callback was called")
    x = rank
    call tutti_broadcast(x, ranks - 1, group=group)
    call check(x == ranks - 1, "a group that met by an all-gather")
    call tutti_destroy_process_group(group)
    call group%release()
    call tutti_group_create_with_allgather(not_at_all, rank, ranks, group, ierr=status, &
                                           errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an all-gather that fails")
    call check_message(message, "the fabric is down")
  end subroutine

  subroutine failures()
    type(tutti_store) :: no_store
    type(tutti_group) :: group
    integer :: status, some(2)

    call tutti_init_process_group(ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a second world")
    call tutti_init_process_group(init_method="pigeon://", ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no such method")
    call tutti_init_process_group(no_store, 0, 1, ierr=status)
    call check(status /= TUTTI_OK, "no store")
    call tutti_group_create(no_store, 0, 1, group, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "no store for a group")
    call tutti_new_group(group, [ranks], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no such rank")
    call check_message(message, "ranks")
    some = 0
    call tutti_new_group(group, pack(some, some > 0), ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a group of no ranks")
    call check_message(message, "ranks is empty")
    call tutti_new_group(group, [integer ::], ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no constant ranks either")
    call tutti_split_group(group, [integer ::], [integer ::], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no groups at all")
  end subroutine
end program groups_test
