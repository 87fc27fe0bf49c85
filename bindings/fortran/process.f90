!> The process and the library: facts, the debug level, the log, and a procedure in several
!> processes.
module tutti_process
  use, intrinsic :: iso_c_binding
  use tutti_constants
  use tutti_base
  use tutti_functions
  use tutti_objects, only: tutti_object
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_version, tutti_version_string, tutti_dtype_size, tutti_is_backend_available
  public :: tutti_check_backend_available
  public :: tutti_get_default_backend_for_device, tutti_is_torchelastic_launched
  public :: tutti_set_debug_level, tutti_set_debug_level_from_env, tutti_get_debug_level
  public :: tutti_get_settings, tutti_set_log_callback, tutti_spawn
contains
  !> The version of the loaded library as one number: major * 10000 + minor * 100 + patch.
  integer function tutti_version()
    tutti_version = c_tutti_version()
  end function

  !> The version of the loaded library, for instance "0.1.0".
  function tutti_version_string() result(text)
    character(text_length(c_tutti_version_string())) :: text
    text = from_c(c_tutti_version_string())
  end function

  !> Bytes of one element; 0 for a dtype that is not known.
  integer function tutti_dtype_size(dtype)
    integer, intent(in) :: dtype
    tutti_dtype_size = int(c_tutti_dtype_size(int(dtype, c_int32_t)))
  end function

  !> Whether a group can be made with the backend of this name.
  logical function tutti_is_backend_available(name)
    character(*), intent(in) :: name
    tutti_is_backend_available = c_tutti_is_backend_available(to_c(name)) /= 0
  end function

  !> Succeeds if a group can be made with the backend of this name, else says why not.
  wrap tutti_check_backend_available(name)

  !> The backend that torch would choose for a device, "cpu" or "cuda:1"; empty for others.
  function tutti_get_default_backend_for_device(device) result(name)
    character(*), intent(in) :: device
    character(text_length(c_tutti_get_default_backend_for_device(to_c(device)))) :: name
    name = from_c(c_tutti_get_default_backend_for_device(to_c(device)))
  end function

  !> Whether torchrun, or tuttirun, started this process.
  logical function tutti_is_torchelastic_launched()
    tutti_is_torchelastic_launched = c_tutti_is_torchelastic_launched() /= 0
  end function

  !> Sets the debug level of this process: TUTTI_DEBUG_OFF, TUTTI_DEBUG_INFO or TUTTI_DEBUG_DETAIL.
  wrap tutti_set_debug_level(level)

  !> Sets the debug level to what TORCH_DISTRIBUTED_DEBUG says.
  subroutine tutti_set_debug_level_from_env(ierr, errmsg)
    include "error.inc"

    status = c_tutti_set_debug_level_from_env(error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The debug level of this process.
  integer function tutti_get_debug_level()
    tutti_get_debug_level = c_tutti_get_debug_level()
  end function

  !> All settings of the library: a map from names to maps with "value", "source" ("default",
  !> "environment", "call", or "unknown" for a variable that begins with TUTTI_ and is none), and
  !> "default", "variable" or "nearest" where they apply. The object is released by the caller.
  wrap tutti_get_settings(settings)

  !> Sends the log, up to `level`, to a bind(C) procedure, which is called on a thread of the
  !> library; absent: to the standard error again. tutti_c_string reads its message. `release_user`
  !> is called with `user` once the procedure can no longer be called.
  subroutine tutti_set_log_callback(callback, level, user, release_user, ierr, errmsg)
    procedure(tutti_log_callback), optional :: callback
    integer, optional, intent(in) :: level
    type(c_ptr), optional, intent(in) :: user
    procedure(tutti_release_function), optional :: release_user
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(c_funptr) :: function, release
    integer(c_int32_t) :: heard, status
    type(tutti_error) :: error

    function = c_null_funptr
    if (present(callback)) function = c_funloc(callback)
    release = c_null_funptr
    if (present(release_user)) release = c_funloc(release_user)
    heard = TUTTI_LOG_INFO
    if (present(level)) heard = int(level, c_int32_t)
    status = c_tutti_set_log_callback(function, or_null(user), release, heard, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Runs a bind(C) procedure in `nprocs` new processes of this machine, made by fork, and waits for
  !> all, or with a `work` returns at once. At the call this process holds nothing of tutti. Each
  !> process finds its place in the environment, so "env://" makes them one group.
  subroutine tutti_spawn(function, nprocs, user, options, work, ierr, errmsg)
    procedure(tutti_spawn_function) :: function
    integer, intent(in) :: nprocs
    type(c_ptr), optional, intent(in) :: user
    type(tutti_spawn_options), optional, intent(in) :: options
    type(tutti_work), optional, intent(out) :: work
    include "error.inc"
    integer(c_intptr_t), pointer :: started
    integer(c_intptr_t), target :: handle

    handle = 0
    nullify (started)
    if (present(work)) started => handle
    status = c_tutti_spawn(c_funloc(function), or_null(user), int(nprocs, c_int32_t), options, &
                           started, error)
    if (present(work)) work%handle = handle
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_process
