!> Messages between ranks, of arrays and of bytes; works: waiting, asking, callbacks.
module heard
  use, intrinsic :: iso_c_binding
  use tutti, only: tutti_error
  implicit none
  type, bind(C) :: note
    integer(c_int) :: calls = 0, status = -1, released = 0
  end type
contains
  subroutine on_done(result, user) bind(C)
    type(tutti_error), intent(in) :: result
    type(c_ptr), value :: user
    type(note), pointer :: noted
    call c_f_pointer(user, noted)
    noted%status = result%status
    noted%calls = noted%calls + 1
  end subroutine

  !> `on_done` of a call's options, or `release_user`.
  subroutine on_released(user) bind(C)
    type(c_ptr), value :: user
    type(note), pointer :: noted
    call c_f_pointer(user, noted)
    noted%released = noted%released + 1
  end subroutine
end module heard

program messages_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use checks
  use heard
  use tutti
  implicit none
  integer :: rank, ranks, right, left

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call around_the_ring()
  call any_rank()
  call batches()
  call works()
  call callbacks()
  call forgotten()
  call byte_strings()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine around_the_ring()
    real, asynchronous :: mine(3), his(3), matrix(4, 3)
    type(tutti_work) :: sent
    integer :: source

    mine = [rank + 0.0, rank + 0.5, rank + 0.25]
    his = -1
    if (ranks == 1) then
      call tutti_send(mine, 0, work=sent)
      call received_from_oneself(his)
    else
      call tutti_send(mine, right, work=sent)
      call tutti_recv(his, left, out_group_src=source)
      call check(source == left, "the sender's rank")
    end if
    call sent%wait()
    call sent%release()
    call check(all(abs(his - [left + 0.0, left + 0.5, left + 0.25]) < 1e-6), "around the ring")
    if (ranks == 1) return

    matrix = 0
    call tutti_send(mine, right, tag=7, work=sent)
    call tutti_recv(matrix(2, :), left, tag=7)
    call sent%wait()
    call sent%release()
    call check(nint(sum(matrix)) == nint(3 * left + 0.75), "into a row")
  end subroutine

  subroutine received_from_oneself(his)
    real, asynchronous, intent(inout) :: his(3)
    type(tutti_work) :: work
    call tutti_recv(his, 0, work=work)
    call work%wait()
    call work%release()
  end subroutine

  subroutine any_rank()
    integer :: number, source, i
    logical :: seen(0:ranks - 1)

    if (rank /= 0) then
      call tutti_send(rank, 0, tag=3)
      return
    end if
    seen = .false.
    do i = 1, ranks - 1
      call tutti_recv(number, TUTTI_ANY_RANK, 3, out_group_src=source)
      call check(source == number, "who sent it")
      seen(number) = .true.
    end do
    call check(all(seen(1:)), "all have sent")
  end subroutine

  subroutine batches()
    integer, target, asynchronous :: out(2), in(2)
    type(tutti_p2p_op) :: ops(2)
    type(tutti_work) :: started(2), too_few(1)
    integer :: status, source
    character(100) :: message

    out = [rank, 1]
    in = -1
    ops = [tutti_isend_op(out, right, tag=1), tutti_irecv_op(in, left, tag=1)]
    call tutti_batch_isend_irecv(ops, started)
    call tutti_wait_all(started)
    call started(2)%source_rank(source)
    call check(all(in == [left, 1]) .and. source == left, "a batch")
    call started%release()
    in = -1
    call tutti_batch_isend_irecv(ops)
    call check(all(in == [left, 1]), "a batch without works")
    call tutti_batch_isend_irecv(ops, too_few, ierr=status, errmsg=message)
    call check_message(message, "works must be as many as ops")
  end subroutine

  subroutine works()
    integer, asynchronous :: x(1000)
    type(tutti_work) :: pending(2)
    integer, target :: stream
    integer :: index, status
    integer(int64) :: sequence
    real(real64) :: took
    logical :: done, cancelled
    character(200) :: message

    x = 1
    call tutti_all_reduce(x, work=pending(1))
    call tutti_barrier(work=pending(2))
    call tutti_wait_any(pending, index)
    call check(index == 1 .or. index == 2, "one of two")
    call tutti_wait_all(pending, timeout_ms=60000)
    call check(all(x == ranks), "the sum is there")
    call tutti_wait_any([tutti_work(), pending(2)], index)
    call check(index == 2, "a work that is not there is skipped")
    call tutti_wait_all([tutti_work(), pending(2), tutti_work()])
    call pending(1)%is_completed(done)
    call check(done, "completed")
    call pending(1)%is_success(done)
    call check(done, "with success")
    call pending(1)%exception(status)
    call check(status == TUTTI_OK, "no failure")
    call pending(1)%sequence_number(sequence)
    call check(sequence > 0, "a number")
    call pending(1)%duration(took)
    call check(took >= 0, "a duration")
    call check(pending(1)%op_type() == "all_reduce", "its kind")
    call pending%release()
    call pending(1)%wait(ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a work that was released")

    ! No rank sends: the wait is limited, then the receive itself times out.
    call tutti_recv(x, right, tag=99, timeout_ms=200, work=pending(1))
    call pending(1)%wait(timeout_ms=1, ierr=status)
    call check_status(status, TUTTI_ERR_PENDING, "a limited wait")
    call pending(1)%wait(ierr=status)
    call check_status(status, TUTTI_ERR_TIMEOUT, "a receive that nobody sends to")
    call pending(1)%exception(status, message)
    call check_status(status, TUTTI_ERR_TIMEOUT, "its failure")
    call check_message(message, "recv")
    call pending(1)%release()

    call tutti_barrier(work=pending(1))
    call pending(1)%cancel(cancelled, status, message)
    call check_status(status, TUTTI_ERR_UNSUPPORTED, "a barrier cannot be cancelled")
    call check(.not. cancelled, "and is not")
    call pending(1)%synchronize()
    call pending(1)%synchronize(c_loc(stream), status, message)
    call check(status /= TUTTI_OK, "a stream, without devices")
    call pending(1)%release()

    call tutti_recv(x, right, tag=98, work=pending(1))
    call pending(1)%cancel(cancelled)
    call check(cancelled, "a receive that has not begun is cancelled")
    call pending(1)%synchronize(ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "and ends")
    call pending(1)%cancel(cancelled)
    call check(.not. cancelled, "once")
    call pending(1)%release()
  end subroutine

  subroutine callbacks()
    type(note), target :: noted
    integer, asynchronous :: x
    type(tutti_work) :: work

    x = 1
    call tutti_all_reduce(x, work=work)
    call work%then(on_done, c_loc(noted), on_released)
    call work%wait()
    call work%release()
    do while (.not. released(noted))
    end do
    call tutti_barrier()
    call check(noted%calls == 1 .and. noted%status == TUTTI_OK, "the callback was called")
  end subroutine

  !> Works that are released at once: `on_done` tells when their arrays are free again.
  subroutine forgotten()
    type(tutti_call_options) :: options
    type(note), target :: noted
    integer, target :: stream
    integer, asynchronous :: x
    type(tutti_work) :: work
    integer :: status
    character(200) :: message

    options%on_done = c_funloc(on_released)
    options%on_done_user = c_loc(noted)
    options%timeout_ms = 60000
    x = 1
    call tutti_all_reduce(x, options=options, work=work)
    call work%release()
    do while (.not. released(noted))
    end do
    call check(x == ranks, "a work that nobody waits for tells when it is done")

    call tutti_all_reduce(x, options=options, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "on_done without a work")
    call check_message(message, "on_done")
    options = tutti_call_options(timeout_ms=1)
    call tutti_recv(x, right, tag=97, options=options, work=work)
    call work%wait(ierr=status)
    call check_status(status, TUTTI_ERR_TIMEOUT, "a timeout in the options")
    call work%release()
    options = tutti_call_options(timeout_ms=TUTTI_NO_TIMEOUT)
    call tutti_recv(x, right, tag=97, options=options, timeout_ms=1, work=work)
    call work%wait(ierr=status)
    call check_status(status, TUTTI_ERR_TIMEOUT, "one that stands beside them")
    call work%release()
    options = tutti_call_options(stream=c_loc(stream))
    call tutti_barrier(options=options, ierr=status)
    call check(status /= TUTTI_OK, "a stream, without devices")
  end subroutine

  !> Whether the callbacks of all ranks have come, so that all of them go on together.
  logical function released(noted)
    type(note), target, intent(in) :: noted
    integer(c_int), volatile, pointer :: releases
    releases => noted%released
    released = releases == 1
    call tutti_all_reduce(released, TUTTI_PRODUCT)
  end function

  subroutine byte_strings()
    type(tutti_bytes) :: bytes, of_all(ranks)
    type(tutti_bytes) :: later, taken(1)
    integer(int8), allocatable :: values(:)
    character(3), target :: words(ranks)
    type(tutti_work) :: work
    integer :: i

    if (rank == 0) then
      call tutti_broadcast_bytes(0, data="hello")
    else
      call tutti_broadcast_bytes(0, bytes=bytes)
      call check([bytes%text() == "hello", bytes%size() == 5], "broadcast_bytes")
      call bytes%release()
    end if

    call tutti_all_gather_bytes([(int(rank, int8), i=1, rank)], of_all)
    do i = 0, ranks - 1
      values = of_all(i + 1)%get()
      call check(size(values) == i .and. all(values == i), "all_gather_bytes")
    end do
    call of_all%release()

    if (rank == 0) then
      call tutti_gather_bytes("", 0, of_all)
      call check(of_all(1)%size() == 0, "no bytes")
      do i = 2, ranks
        call check(of_all(i)%text() == "two words", "gather_bytes")
      end do
      call of_all%release()
    else
      call tutti_gather_bytes("two words", 0)
    end if

    words = [(repeat(achar(97 + i), 3), i=1, ranks)]
    if (rank == 0) then
      call tutti_scatter_bytes(bytes, 0, tutti_pieces(words, ranks))
    else
      call tutti_scatter_bytes(bytes, 0)
    end if
    call check(bytes%text() == words(rank + 1), "scatter_bytes")
    call bytes%release()

    call refused_bytes()
    call tutti_recv_bytes(group_src=left, tag=5, work=work)
    if (ranks > 1) then
      call tutti_send_bytes(transfer([1.5d0, real(rank, real64)], [0_int8]), right, 5)
    else
      call sent_to_oneself()
    end if
    call work%wait()
    call tutti_work_take_bytes(work, taken)
    call work%release()
    later = taken(1)
    call check(later%size() == 16, "the memory of two reals")
    call check(nint(sum(transfer(later%get(), [0d0])) - 1.5d0) == left, "what it was")
    call later%release()
  end subroutine

  !> Received values are in a work or in `bytes`, never in both, and nowhere else.
  subroutine refused_bytes()
    type(tutti_bytes) :: bytes, too_many(ranks + 1)
    type(tutti_work) :: work
    integer :: status
    logical :: cancelled
    character(200) :: message

    call tutti_recv_bytes(bytes, left, tag=5, work=work, ierr=status, errmsg=message)
    call check_message(message, "either bytes or work must be given")
    call tutti_recv_bytes(group_src=left, tag=5, ierr=status, errmsg=message)
    call check_message(message, "either bytes or work must be given")
    call tutti_scatter_bytes(group_src=0, ierr=status, errmsg=message)
    call check_message(message, "either bytes or work must be given")
    call tutti_all_gather_bytes("", too_many(2:), work=work, ierr=status, errmsg=message)
    call check_message(message, "bytes and work are both given")
    call tutti_all_gather_bytes("", too_many, ierr=status, errmsg=message)
    call check_message(message, "bytes must be as many as the ranks of the group")
    call tutti_gather_bytes("", rank, ierr=status, errmsg=message)
    call check_message(message, "bytes must be as many as the ranks of the group")
    call check(work%handle == 0, "no work was started")

    call tutti_recv_bytes(group_src=right, tag=96, work=work)
    call tutti_work_take_bytes(work, too_many(:1), ierr=status)
    call check_status(status, TUTTI_ERR_PENDING, "bytes that have not come")
    call work%cancel(cancelled)
    call check(cancelled, "a receive of bytes is cancelled")
    call work%wait(ierr=status)
    call tutti_work_take_bytes(work, too_many(:1), ierr=status)
    call check_status(status, TUTTI_ERR_ABORTED, "and has none")
    call work%release()
  end subroutine

  subroutine sent_to_oneself()
    integer(int8), asynchronous :: pair(16)
    type(tutti_work) :: work
    pair = transfer([1.5d0, 0d0], pair)
    call tutti_send_bytes(pair, 0, 5, work=work)
    call work%wait()
    call work%release()
  end subroutine
end program messages_test
