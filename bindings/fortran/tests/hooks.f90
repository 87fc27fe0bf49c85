!> Hooks around every operation, and names of operations.
module hook_notes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tutti
  implicit none

  type :: note
    integer :: before = 0, after = 0, aborted = 0, released = 0, status = TUTTI_OK
    integer :: dtype = -1, length = -1, outputs = -1, rank = -1, world_size = -1, peer = -2, op = -1
    real :: first = -1
    integer(int64) :: id = 0, id_after = 0, number = -1
    character(20) :: name = "", tag_name = ""
    character(400) :: why = ""
  end type
contains
  subroutine on_before(operation, user) bind(C)
    type(tutti_operation), intent(in) :: operation
    type(c_ptr), value :: user
    type(note), pointer :: to
    type(tutti_buffer), pointer :: buffers(:)
    real, pointer :: data(:)

    call c_f_pointer(user, to)
    to%before = to%before + 1
    to%id = operation%id
    to%number = operation%sequence_number
    to%rank = operation%rank
    to%world_size = operation%world_size
    to%peer = operation%peer
    to%op = operation%op
    to%name = tutti_c_string(operation%name)
    to%tag_name = tutti_c_string(operation%tag_name)
    buffers => tutti_operation_inputs(operation)
    if (size(buffers) == 1) then
      to%dtype = buffers(1)%dtype
      to%length = int(buffers(1)%count)
      if (to%dtype == TUTTI_FLOAT32) then
        call c_f_pointer(buffers(1)%data, data, [buffers(1)%count])
        to%first = data(1)
      end if
    end if
    to%outputs = size(tutti_operation_outputs(operation))
  end subroutine

  subroutine on_after(operation, user) bind(C)
    type(tutti_operation), intent(in) :: operation
    type(c_ptr), value :: user
    type(note), pointer :: to

    call c_f_pointer(user, to)
    to%after = to%after + 1
    to%id_after = operation%id
  end subroutine

  subroutine on_aborted(operation, why, user) bind(C)
    type(tutti_operation), intent(in) :: operation
    type(tutti_error), intent(in) :: why
    type(c_ptr), value :: user
    type(note), pointer :: to

    call c_f_pointer(user, to)
    to%aborted = to%aborted + 1
    to%status = why%status
    to%why = tutti_error_message(why)
    to%tag_name = tutti_c_string(operation%tag_name)
  end subroutine

  subroutine on_released(user) bind(C)
    type(c_ptr), value :: user
    type(note), pointer :: to

    call c_f_pointer(user, to)
    to%released = to%released + 1
  end subroutine
end module hook_notes

program hooks_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use hook_notes
  implicit none
  type(note), target :: heard
  type(tutti_call_options) :: options
  character(5, kind=c_char), target :: name = "loss" // c_null_char
  integer(int64) :: id
  integer :: rank, ranks, status
  real :: x(3)
  character(500) :: message

  call tutti_init_process_group(timeout_ms=60000)
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call tutti_hooks_add(id, on_before, on_after, on_aborted, c_loc(heard), on_released)
  options%tag_name = c_loc(name)
  x = [real(rank) + 1, 0.0, 0.0]
  call tutti_all_reduce(x, TUTTI_MAX, options=options)
  call check(heard%before == 1 .and. heard%after == 1 .and. heard%aborted == 0, "each once")
  call check(heard%id > 0 .and. heard%id == heard%id_after, "the same number")
  call check(heard%number == 1, "the first collective")
  call check(heard%name == "all_reduce", heard%name)
  call check(heard%tag_name == "loss", heard%tag_name)
  call check(heard%rank == rank .and. heard%world_size == ranks .and. heard%peer == -1, "the ranks")
  call check(heard%dtype == TUTTI_FLOAT32 .and. heard%length == 3, "the input")
  call check(nint(heard%first) == rank + 1, "its first element")
  call check(heard%outputs == 1, "the output")
  call check(heard%op == TUTTI_MAX%number, "the op")
  call tutti_barrier()
  call check(heard%before == 2 .and. heard%name == "barrier", "a barrier")
  call check(heard%outputs == 0 .and. heard%tag_name == "", "which has no buffers and no name")
  if (ranks > 1) then
    call tutti_all_reduce(x(1:rank + 1), options=options, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_MISMATCH, "ranks that disagree")
    call check_message(message, '"loss"')
    call check(heard%aborted == 1 .and. heard%status == TUTTI_ERR_MISMATCH, "it is heard")
    call check_message(heard%why, '"loss"')
  end if
  call tutti_hooks_remove(id)
  call check(heard%released == 1, "the hooks are given back")
  call tutti_hooks_remove(id, ierr=status)
  call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "once")
  call tutti_hooks_add(id, ierr=status)
  call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no hook")
  call tutti_destroy_process_group()
  call passed()
end program hooks_test
