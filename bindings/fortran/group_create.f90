!> Making groups, and ending them.
module tutti_group_creation
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_group_options, tutti_new_group_options, &
                             tutti_destroy_options, tutti_allgather_callback, TUTTI_OK, &
                             TUTTI_CPU, TUTTI_CUDA
  use tutti_base
  use tutti_functions
  use tutti_groups
  use tutti_stores, only: tutti_store
  implicit none
  private
  public :: tutti_init_process_group, tutti_is_initialized, tutti_destroy_process_group
  public :: tutti_group_create, tutti_group_create_with_allgather
  public :: tutti_new_group, tutti_split_group, tutti_get_pg_count, options_of

  !> Makes the default group, TUTTI_GROUP_WORLD: every rank calls this once, and all meet where
  !> `init_method` says (absent: "env://", as tuttirun starts programs), or at a store.
  interface tutti_init_process_group
    module procedure init_by_method, init_with_store
  end interface

  !> Makes a group of some ranks of `group` (absent: the world). All ranks of `group` call this with
  !> the same arguments, also those not in `ranks`, which get TUTTI_GROUP_NON_MEMBER. `ranks`
  !> absent: all. With `use_local_synchronization` only the members
  !> call. `reproducible` is TUTTI_AS_PARENT, TUTTI_REPRODUCIBLE or TUTTI_NOT_REPRODUCIBLE.
  interface tutti_new_group
    ! Not one procedure with optional ranks: gfortran takes `[integer ::]` for an absent argument.
    module procedure group_of_all, group_of_ranks
  end interface
contains
  !> `backend`: "tcp", "gloo", "shm", "hierarchy" or "loopback"; absent: what suits the ranks best.
  !> `device_type` and `device_index`: the one device that this rank works on, see
  !> tutti_group_get_bound_device; one of them absent: TUTTI_CUDA, 0; both: none.
  subroutine init_by_method(backend, init_method, rank, world_size, description, timeout_ms, &
                            reproducible, device_type, device_index, ierr, errmsg)
    character(*), optional, intent(in) :: backend, init_method
    character(*), optional, intent(in) :: description
    integer, optional, intent(in) :: rank, world_size, timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_method, c_description

    call name_or_null(backend, c_backend)
    call name_or_null(init_method, c_method)
    call name_or_null(description, c_description)
    status = c_tutti_init_process_group( &
      c_backend, c_method, c_description, given(rank), given(world_size), &
      options_of(timeout_ms, reproducible, device_type, device_index), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  subroutine init_with_store(store, rank, world_size, backend, description, timeout_ms, &
                             reproducible, device_type, device_index, ierr, errmsg)
    type(tutti_store), intent(in) :: store
    integer, intent(in) :: rank, world_size
    character(*), optional, intent(in) :: backend, description
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_description

    call name_or_null(backend, c_backend)
    call name_or_null(description, c_description)
    status = c_tutti_init_process_group_with_store( &
      c_backend, store%handle, c_description, int(rank, c_int32_t), &
      int(world_size, c_int32_t), &
      options_of(timeout_ms, reproducible, device_type, device_index), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Whether the default group exists in this process.
  logical function tutti_is_initialized()
    tutti_is_initialized = c_tutti_is_initialized() /= 0
  end function

  !> Ends `group`; absent: the world and all groups made from it. Operations still running end with
  !> TUTTI_ERR_ABORTED. Every rank calls it; none waits for the others. `timeout_ms` limits how long
  !> what was sent may take to arrive; absent: 2,000.
  subroutine tutti_destroy_process_group(group, timeout_ms, ierr, errmsg)
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"
    type(tutti_destroy_options) :: options

    options%timeout_ms = milliseconds(timeout_ms)
    status = c_tutti_destroy_process_group(group_handle(group), options, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes a group with no global state: several may live in one process.
  subroutine tutti_group_create(store, rank, world_size, group, backend, description, timeout_ms, &
                                reproducible, device_type, device_index, ierr, errmsg)
    type(tutti_store), intent(in) :: store
    integer, intent(in) :: rank, world_size
    type(tutti_group), intent(out) :: group
    character(*), optional, intent(in) :: backend, description
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_description

    call name_or_null(backend, c_backend)
    call name_or_null(description, c_description)
    status = c_tutti_group_create( &
      c_backend, store%handle, c_description, int(rank, c_int32_t), &
      int(world_size, c_int32_t), &
      options_of(timeout_ms, reproducible, device_type, device_index), group%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes a group without a store: ranks meet by a bind(C) procedure that all-gathers bytes,
  !> with MPI_Allgather for instance. `user` is handed to it as it is.
  subroutine tutti_group_create_with_allgather(callback, rank, world_size, group, user, backend, &
                                               description, timeout_ms, reproducible, &
                                               device_type, device_index, ierr, errmsg)
    procedure(tutti_allgather_callback) :: callback
    integer, intent(in) :: rank, world_size
    type(tutti_group), intent(out) :: group
    type(c_ptr), optional, intent(in) :: user
    character(*), optional, intent(in) :: backend, description
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_description

    call name_or_null(backend, c_backend)
    call name_or_null(description, c_description)
    status = c_tutti_group_create_with_allgather( &
      c_backend, c_funloc(callback), or_null(user), c_description, int(rank, c_int32_t), &
      int(world_size, c_int32_t), &
      options_of(timeout_ms, reproducible, device_type, device_index), group%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  subroutine group_of_all(new_group, group, backend, description, timeout_ms, &
                          use_local_synchronization, reproducible, device_type, device_index, &
                          ierr, errmsg)
    include "new_group.inc"
    call make_group(new_group, group=group, backend=backend, description=description, &
                    timeout_ms=timeout_ms, use_local_synchronization=use_local_synchronization, &
                    reproducible=reproducible, device_type=device_type, &
                    device_index=device_index, ierr=ierr, errmsg=errmsg)
  end subroutine

  subroutine group_of_ranks(new_group, ranks, group, backend, description, timeout_ms, &
                            use_local_synchronization, reproducible, device_type, &
                            device_index, ierr, errmsg)
    integer, intent(in) :: ranks(:)
    include "new_group.inc"
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    if (size(ranks) == 0) then
      call refuse(status, error, "ranks is empty: leave it out for a group of all ranks")
      call finish(status, error, ierr, errmsg)
    else
      call make_group(new_group, ranks, group, backend, description, timeout_ms, &
                      use_local_synchronization, reproducible, device_type, device_index, &
                      ierr, errmsg)
    end if
  end subroutine

  subroutine make_group(new_group, ranks, group, backend, description, timeout_ms, &
                        use_local_synchronization, reproducible, device_type, device_index, &
                        ierr, errmsg)
    integer, optional, intent(in) :: ranks(:)
    include "new_group.inc"
    character(:, kind=c_char), allocatable :: c_backend, c_description
    type(tutti_new_group_options) :: options
    integer(c_int64_t) :: count
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    call name_or_null(backend, c_backend)
    call name_or_null(description, c_description)
    options%timeout_ms = milliseconds(timeout_ms)
    options%use_local_synchronization = number(use_local_synchronization)
    if (present(reproducible)) options%reproducible = reproducible
    options%device_type = bound_type(device_type, device_index)
    if (present(device_index)) options%device_index = int(device_index, c_int32_t)
    count = 0
    if (present(ranks)) count = size(ranks, kind=c_int64_t)
    status = c_tutti_new_group(group_handle(group), ranks, count, c_backend, c_description, &
                               options, new_group%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes several groups that share no rank out of one, in one step: the first sizes(1) of `ranks`
  !> are the first group, the next sizes(2) the second. Each rank receives the one it is in.
  subroutine tutti_split_group(new_group, ranks, sizes, group, description, timeout_ms, &
                               reproducible, device_type, device_index, ierr, errmsg)
    type(tutti_group), intent(out) :: new_group
    integer, intent(in) :: ranks(:), sizes(:)
    type(tutti_group), optional, intent(in) :: group
    character(*), optional, intent(in) :: description
    integer, optional, intent(in) :: timeout_ms, reproducible, device_type, device_index
    include "error.inc"
    character(:, kind=c_char), allocatable :: c_description
    type(tutti_new_group_options) :: options

    status = TUTTI_OK
    if (sum(sizes) /= size(ranks)) &
      call refuse(status, error, "sizes must add up to the number of ranks")
    call name_or_null(description, c_description)
    options%timeout_ms = milliseconds(timeout_ms)
    if (present(reproducible)) options%reproducible = reproducible
    options%device_type = bound_type(device_type, device_index)
    if (present(device_index)) options%device_index = int(device_index, c_int32_t)
    if (status == TUTTI_OK) &
      status = c_tutti_split_group(group_handle(group), ranks, size(ranks, kind=c_int64_t), &
                                   int(sizes, c_int64_t), size(sizes, kind=c_int64_t), &
                                   c_description, options, new_group%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> How many groups this process is in: the default group and those made from it.
  integer function tutti_get_pg_count()
    tutti_get_pg_count = c_tutti_get_pg_count()
  end function

  !> C's options of a group that is made without a parent.
  pure type(tutti_group_options) function options_of(timeout_ms, reproducible, device_type, &
                                                     device_index)
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    options_of%timeout_ms = milliseconds(timeout_ms)
    options_of%reproducible = number(reproducible)
    options_of%device_type = bound_type(device_type, device_index)
    if (present(device_index)) options_of%device_index = int(device_index, c_int32_t)
  end function

  !> The type of the device that a group is bound to: either argument alone says that there is one.
  pure integer(c_int32_t) function bound_type(device_type, device_index)
    integer, optional, intent(in) :: device_type, device_index
    bound_type = TUTTI_CPU
    if (present(device_index)) bound_type = TUTTI_CUDA
    if (present(device_type)) bound_type = int(device_type, c_int32_t)
  end function

  !> A number that the init method tells if it is absent.
  pure integer(c_int32_t) function given(value)
    integer, optional, intent(in) :: value
    given = -1
    if (present(value)) given = int(value, c_int32_t)
  end function
end module tutti_group_creation
