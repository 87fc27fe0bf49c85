!> Facts of the library, the debug level, the log, and processes made by tutti_spawn.
module in_processes
  use, intrinsic :: iso_c_binding
  use tutti
  implicit none
contains
  subroutine on_line(level, message, user) bind(C)
    integer(c_int32_t), value :: level
    type(c_ptr), value :: message, user
    print *, level, tutti_c_string(message), c_associated(user)
  end subroutine

  !> Every process gives its number; all agree on the sum, which `user` says.
  function sum_up(local_rank, user, error) bind(C) result(status)
    integer(c_int32_t), value :: local_rank
    type(c_ptr), value :: user
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    integer(c_int), pointer :: expected
    integer :: total, ierr

    call c_f_pointer(user, expected)
    total = local_rank
    call tutti_init_process_group(ierr=ierr)
    if (ierr == TUTTI_OK) call tutti_all_reduce(total, ierr=ierr)
    if (ierr == TUTTI_OK) call tutti_destroy_process_group(ierr=ierr)
    if (ierr == TUTTI_OK .and. total /= expected) ierr = TUTTI_ERR_INTERNAL
    status = int(ierr, c_int32_t)
    if (status /= TUTTI_OK) error = tutti_last_error()
  end function
end module in_processes

program process_test
  use, intrinsic :: iso_c_binding
  use checks
  use in_processes
  implicit none

  call facts()
  call debug_level()
  call processes()
  call log_level()
  call passed()
contains
  subroutine facts()
    integer :: status
    call check(tutti_version() >= 100, "a version")
    call check(index(tutti_version_string(), ".") > 0, tutti_version_string())
    call check(tutti_dtype_size(TUTTI_COMPLEX128) == 16, "the size of a dtype")
    call check(tutti_is_backend_available("shm"), "shm is there")
    call check(.not. tutti_is_backend_available("pigeon"), "pigeon is not")
    call tutti_check_backend_available("shm")
    call tutti_check_backend_available("pigeon", status)
    call check_status(status, TUTTI_ERR_UNSUPPORTED, "pigeon is not available")
    call check(tutti_get_default_backend_for_device("cpu") == "gloo", "for the CPU")
    call check(tutti_get_default_backend_for_device("abacus") == "", "for nothing else")
    call check(.not. tutti_is_torchelastic_launched(), "started by hand")
  end subroutine

  subroutine debug_level()
    type(tutti_object) :: settings
    integer :: status
    call tutti_set_debug_level(TUTTI_DEBUG_DETAIL)
    call check(tutti_get_debug_level() == TUTTI_DEBUG_DETAIL, "the debug level")
    call tutti_set_debug_level(17, status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no such level")
    call tutti_set_debug_level_from_env()
    call check(tutti_get_debug_level() == TUTTI_DEBUG_OFF, "as the environment says")
    call tutti_get_settings(settings)
    call check(settings%length(settings%find("TUTTI_LOG_LEVEL")) >= 3, "settings")
    call settings%release()
  end subroutine

  subroutine processes()
    integer(c_int), target :: expected
    type(tutti_spawn_options) :: options
    type(tutti_work) :: work
    integer :: status
    character(200) :: message

    expected = 3
    call tutti_spawn(sum_up, 3, c_loc(expected))
    options%timeout_ms = 60000
    call tutti_spawn(sum_up, 3, c_loc(expected), options, work)
    call work%wait()
    call work%release()
    expected = 4
    call tutti_spawn(sum_up, 3, c_loc(expected), ierr=status)
    call check(status /= TUTTI_OK, "the failure of a process is told")
    call tutti_spawn(sum_up, 0, ierr=status, errmsg=message)
    call check_message(message, "nprocs")
  end subroutine

  subroutine log_level()
    integer :: status
    call tutti_set_log_callback(on_line, 99, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no such level")
  end subroutine
end program process_test
