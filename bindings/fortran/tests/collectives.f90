!> Every collective, with and without a work.
program collectives_test
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use tutti
  implicit none
  integer :: rank, ranks, i

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call reductions()
  call gathers()
  call scatters()
  call exchanges()
  call barriers()
  call together()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine reductions()
    real(kind(1d0)), asynchronous :: x(3), y(3)
    integer :: root
    type(tutti_work) :: work

    root = ranks - 1
    x = [1, 2, 3] * (rank + 1)
    y = 0
    call tutti_all_reduce(y, TUTTI_AVG, input=x)
    call check(all(abs(y - [1, 2, 3] * (ranks + 1) / 2d0) < 1d-12), "all_reduce AVG")
    call tutti_all_reduce(x, TUTTI_MAX, work=work)
    call work%wait()
    call work%release()
    call check(all(nint(x) == [1, 2, 3] * ranks), "all_reduce MAX, with a work")

    x = rank + 1
    y = -1
    if (rank == root) then
      call tutti_reduce(y, root, TUTTI_PRODUCT, input=x)
      call check(all(nint(y) == product([(i, i=1, ranks)])), "reduce PRODUCT")
    else
      call tutti_reduce(group_dst=root, op=TUTTI_PRODUCT, input=x)
      call check(all(nint(y) == -1), "others receive nothing")
    end if
    call tutti_reduce(x, 0)
    if (rank == 0) call check(all(nint(x) == ranks * (ranks + 1) / 2), "reduce in place")

    x = rank
    call tutti_broadcast(x(1:3:2), root)
    call check(nint(x(1)) == root .and. nint(x(2)) == rank, "broadcast of a section")
  end subroutine

  subroutine gathers()
    integer, target :: mine(2), all_of(2, 0:ranks - 1), ragged(ranks * (ranks + 1) / 2)
    integer :: counts(ranks)
    type(tutti_buffer), allocatable :: list(:)
    type(tutti_work) :: work

    mine = [rank, -rank]
    all_of = 99
    call tutti_all_gather_into_tensor(all_of, mine)
    call check(all(all_of(1, :) == [(i, i=0, ranks - 1)]), "all_gather_into_tensor")
    call check(all(all_of(2, :) == -all_of(1, :)), "one column for each rank")
    all_of = 99
    all_of(:, rank) = mine
    call tutti_all_gather_into_tensor(all_of, work=work)
    call work%wait()
    call work%release()
    call check(all(all_of(1, :) == [(i, i=0, ranks - 1)]), "in place")

    counts = [(i, i=1, ranks)]
    ragged = 0
    list = tutti_pieces(ragged, int(counts, int64))
    call check(list%count == counts, "counts of 64 bits")
    list = tutti_pieces(ragged, counts)
    call tutti_all_gather(list, input=[(rank + 1, i=1, rank + 1)])
    call check(all(ragged == [(spread(i, 1, i), i=1, ranks)]), "all_gather of different counts")

    all_of = 99
    if (rank == 0) then
      call tutti_gather(mine, 0, tutti_pieces(all_of, ranks))
      call check(all(all_of(1, :) == [(i, i=0, ranks - 1)]), "gather")
    else
      call tutti_gather(mine, 0)
      call check(all(all_of == 99), "others receive nothing")
    end if
  end subroutine

  subroutine scatters()
    integer, target :: whole(3, 0:ranks - 1), part(3)
    integer :: root
    type(tutti_work) :: work

    root = ranks / 2
    do i = 0, ranks - 1
      whole(:, i) = 10 * i + [1, 2, 3]
    end do
    part = 0
    if (rank == root) then
      call tutti_scatter(part, root, tutti_pieces(whole, ranks))
    else
      call tutti_scatter(part, root)
    end if
    call check(all(part == 10 * rank + [1, 2, 3]), "scatter")

    part = 0
    call tutti_reduce_scatter_tensor(part, whole)
    call check(all(part == ranks * (10 * rank + [1, 2, 3])), "reduce_scatter_tensor")
    part = 0
    call tutti_reduce_scatter(part, tutti_pieces(whole, ranks), TUTTI_MIN, work=work)
    call work%wait()
    call work%release()
    call check(all(part == 10 * rank + [1, 2, 3]), "reduce_scatter")
  end subroutine

  subroutine exchanges()
    integer, target :: out(2, 0:ranks - 1), in(2, 0:ranks - 1), sizes(ranks)
    integer, allocatable :: given(:), taken(:)

    do i = 0, ranks - 1
      in(:, i) = [rank, i]
    end do
    out = -1
    call tutti_all_to_all_single(out, in)
    call check(all(out(1, :) == [(i, i=0, ranks - 1)]) .and. all(out(2, :) == rank), &
               "all_to_all_single")
    out = -1
    call tutti_all_to_all(tutti_pieces(out, ranks), tutti_pieces(in, ranks))
    call check(all(out(1, :) == [(i, i=0, ranks - 1)]) .and. all(out(2, :) == rank), "all_to_all")
    call tutti_all_to_all(tutti_pieces(in, ranks))
    call check(all(in == out), "all_to_all in place")

    ! Every rank gives rank r r + 1 elements.
    sizes = [(i, i=1, ranks)]
    allocate (given(sum(sizes)), taken(ranks * (rank + 1)))
    given = rank
    taken = -1
    call tutti_all_to_all_single(taken, given, output_split_sizes=spread(rank + 1, 1, ranks), &
                                 input_split_sizes=sizes)
    call check(all(taken == [(spread(i, 1, rank + 1), i=0, ranks - 1)]), "split sizes")
    call empty_lists()
  end subroutine

  !> A list of nothing is not an absent one, which would mean something else.
  subroutine empty_lists()
    integer, target :: x(ranks), no_sizes(0)
    type(tutti_buffer) :: none(0)
    integer :: status
    character(200) :: message

    x = rank
    call tutti_all_to_all(tutti_pieces(x, ranks), none, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no inputs")
    call check_message(message, "input")
    call tutti_all_to_all_single(x, x, input_split_sizes=no_sizes, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no split sizes of the input")
    call tutti_all_to_all_single(x, x, output_split_sizes=no_sizes, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no split sizes of the output")
    ! To the compiler, constants without elements look absent.
    call tutti_all_to_all(tutti_pieces(x, ranks), [tutti_buffer ::], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a constant without inputs")
    call tutti_all_to_all_single(x, x, [integer ::], [integer ::], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a constant without split sizes")
    call check_message(message, "split")
    call tutti_all_to_all_single(x, x, [integer ::], ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a constant without sizes of the output")
    call tutti_all_to_all_single(x, x, input_split_sizes=[integer ::], ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a constant without sizes of the input")
    call tutti_scatter(x(1), rank, none, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "nothing to scatter")
    call tutti_gather(x(1), rank, none, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "nowhere to gather")
    call check(all(x == rank), "nothing was done")
  end subroutine

  subroutine barriers()
    type(tutti_work) :: work
    integer :: status

    call tutti_barrier()
    call tutti_barrier(work=work)
    call work%wait()
    call work%release()
    call tutti_monitored_barrier(timeout_ms=60000, wait_all_ranks=.true.)
    call tutti_barrier(timeout_ms=-7, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a timeout that is none")
    call tutti_breakpoint(ranks, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a breakpoint on a rank that is none")
  end subroutine

  !> Coalesced calls that end with a work, and addends spread over the ranks.
  subroutine together()
    integer, target, asynchronous :: x(2), y(2, 0:ranks - 1)
    real, target :: addends(2, 3), sums(2)
    type(tutti_buffer) :: list(2)
    type(tutti_group) :: coalescing, exact
    type(tutti_work) :: work

    x = 1
    y = -1
    y(:, rank) = rank
    call tutti_coalescing_begin(coalescing)
    call tutti_all_reduce(x, group=coalescing)
    call tutti_all_gather_into_tensor(y, group=coalescing)
    call tutti_coalescing_end(coalescing, work=work)
    call work%wait()
    call work%release()
    call check(all(x == ranks) .and. all(y(1, :) == [(i, i=0, ranks - 1)]), "coalesced")

    call tutti_new_group(exact, reproducible=TUTTI_REPRODUCIBLE)
    call check([tutti_group_is_reproducible(exact), .not. tutti_group_is_reproducible()], &
               "reproducible")
    addends = 0.5
    list = tutti_pieces(addends(:, 1:2), 2)
    call tutti_all_reduce_addends(sums, list, group=exact)
    call check(all(nint(sums) == ranks), "addends")
    call exact%release()
  end subroutine
end program collectives_test
