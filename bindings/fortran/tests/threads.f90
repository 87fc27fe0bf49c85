!> Many threads wait at once, each for messages of its own, and each has its own last failure.
program threads_test
  use omp_lib, only: omp_get_thread_num, omp_get_num_threads
  use checks
  use tutti
  implicit none
  integer, parameter :: threads = 16, rounds = 50
  integer :: rank, ranks, wrong, teams

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  wrong = 0
  teams = 0
  !$omp parallel num_threads(threads) reduction(+:wrong, teams)
  teams = teams + merge(1, 0, omp_get_num_threads() == threads)
  wrong = wrong + faults_of(omp_get_thread_num())
  !$omp end parallel
  call check(teams == threads, "so many threads")
  call check(wrong == 0, "every thread received what was sent to it, and its own failure")
  call interrupted()
  call tutti_destroy_process_group()
  call passed()
contains
  !> All threads wait for messages from the left first, and only then is each sent to the right.
  integer function faults_of(thread) result(faults)
    integer, intent(in) :: thread
    integer, asynchronous :: out(3), in(3)
    type(tutti_work) :: works(2)
    integer :: i, left, status
    character(300) :: message

    faults = 0
    left = mod(rank + ranks - 1, ranks)
    do i = 1, rounds
      out = [rank, thread, i]
      in = -1
      call tutti_recv(in, left, tag=thread, work=works(1))
      call tutti_send(out, mod(rank + 1, ranks), tag=thread, work=works(2))
      call works(1)%wait()
      call works(2)%wait()
      call works%release()
      if (any(in /= [left, thread, i])) faults = faults + 1
      call tutti_send(out, 1000 + thread, ierr=status, errmsg=message)
      if (status /= TUTTI_ERR_INVALID_ARGUMENT) faults = faults + 1
      if (tutti_error_message(tutti_last_error()) /= message) faults = faults + 1
      if (index(message, four_digits(1000 + thread)) == 0) faults = faults + 1
    end do
  end function

  !> A thread that waits without a limit, until another one ends its wait.
  subroutine interrupted()
    type(tutti_store) :: store
    integer :: ended, now, status

    call tutti_hash_store_create(store)
    call store%set_timeout(TUTTI_NO_TIMEOUT)
    ended = 0
    !$omp parallel num_threads(2) private(now)
    if (omp_get_thread_num() == 0) then
      call store%wait(["nothing"], ierr=status)
      !$omp atomic write
      ended = 1
    else
      now = 0
      do while (now == 0)
        call store%interrupt()
        !$omp atomic read
        now = ended
      end do
    end if
    !$omp end parallel
    call check(status == TUTTI_ERR_ABORTED, "a wait that another thread interrupts")
    call store%release()
  end subroutine

  function four_digits(number) result(text)
    integer, intent(in) :: number
    character(4) :: text
    write (text, '(i4)') number
  end function
end program threads_test
