!> A failure tells its cause, and stops a program that does not ask.
program errors_test
  use checks
  use tutti
  implicit none
  character(200) :: argument

  call get_command_argument(1, argument)
  if (argument == "stop") call stop_here()
  call told()
  call kept()
  call stopped()
  call passed()
contains
  subroutine told()
    type(tutti_store) :: store
    character(200) :: message
    character(10) :: short
    integer :: status
    real :: x = 1

    message = "as before"
    call tutti_hash_store_create(store, status, message)
    call check(status == TUTTI_OK .and. message == "as before", "success leaves the message alone")
    call tutti_all_reduce(x, ierr=status, errmsg=message)
    call check(status /= TUTTI_OK .and. message /= "as before", "a failure has a message")
    call tutti_all_reduce(x, ierr=status, errmsg=short)
    call check(short == message(1:10), "a short message is cut")
    call check(tutti_status_name(TUTTI_ERR_TIMEOUT) == "TUTTI_ERR_TIMEOUT", "names of statuses")
    call store%release()
  end subroutine

  subroutine kept()
    type(tutti_error) :: error
    type(tutti_mesh) :: mesh
    integer :: status

    call tutti_init_device_mesh(mesh, [1, 1], dim_names=["x"], ierr=status)
    error = tutti_last_error()
    call check(error%status == status, "the last failure's status")
    call check(error%rank == -1 .and. error%system_errno == 0, "its rank and errno")
    call check_message(tutti_error_message(error), "dim_names")
  end subroutine

  !> Runs this program once more, where a failure is not asked for.
  subroutine stopped()
    character(500) :: program, line
    integer :: code, unit, end
    logical :: seen

    call get_command_argument(0, program)
    call execute_command_line("'" // trim(program) // "' stop 2> fortran_stopped.txt", &
                              exitstat=code)
    call check(code /= 0, "the program stops with a failure")
    open (newunit=unit, file="fortran_stopped.txt")
    seen = .false.
    do
      read (unit, '(a)', iostat=end) line
      if (end /= 0) exit
      if (index(line, "TUTTI_ERR_INVALID_ARGUMENT: array is not contiguous") > 0) seen = .true.
    end do
    close (unit, status="delete")
    call check(seen, "and says which argument was wrong")
  end subroutine

  subroutine stop_here()
    real, target :: x(4) = 0
    type(tutti_buffer) :: buffer
    buffer = tutti_buffer_of(x(1:4:2))
    print *, buffer%count
  end subroutine
end program errors_test
