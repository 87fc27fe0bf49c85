!> Process groups: a handle of one, and what it knows of itself. Ranks begin at 0.
module tutti_groups
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, world => TUTTI_GROUP_WORLD, &
                             non_member => TUTTI_GROUP_NON_MEMBER
  use tutti_base
  use tutti_functions
  implicit none
  private
  public :: tutti_group, group_handle, operator(==), operator(/=)
  public :: tutti_get_rank, tutti_get_world_size, tutti_get_backend, tutti_group_is_reproducible
  public :: tutti_get_group_rank, tutti_get_global_rank, tutti_get_process_group_ranks
  public :: tutti_get_backend_for_device, tutti_get_backend_config, tutti_group_get_bound_device
  public :: tutti_group_set_timeout, tutti_group_get_timeout, tutti_group_get_name
  public :: tutti_group_retain, tutti_get_failed_ranks

  !> A handle of a group: a value that may be copied, and is released once.
  type :: tutti_group
    integer(c_intptr_t) :: handle = 0
    !> Whether tutti_coalescing_begin made it.
    logical :: coalesces = .false.
  contains
    procedure :: release
  end type

  !> The group of all ranks that tutti_init_process_group made, which is what every call means that
  !> is given none; it is destroyed, never released.
  type(tutti_group), parameter, public :: TUTTI_GROUP_WORLD = tutti_group(world)

  !> A rank that is in none of the new groups receives this instead of one.
  type(tutti_group), parameter, public :: TUTTI_GROUP_NON_MEMBER = tutti_group(non_member)

  !> tutti_get_backend(group): the name of the group's backend, for instance "shm"; empty if the
  !> group is not valid.
  interface tutti_get_backend
    module procedure backend_of_world, backend_of
  end interface

  interface operator(==)
    module procedure equal
  end interface
  interface operator(/=)
    module procedure different
  end interface
contains
  elemental logical function equal(a, b)
    type(tutti_group), intent(in) :: a, b
    equal = a%handle == b%handle
  end function

  elemental logical function different(a, b)
    type(tutti_group), intent(in) :: a, b
    different = a%handle /= b%handle
  end function

  !> The handle of a group that may be absent, which then is the world.
  pure integer(c_intptr_t) function group_handle(group)
    type(tutti_group), optional, intent(in) :: group
    group_handle = world
    if (present(group)) group_handle = group%handle
  end function

  !> Gives a group back, or each of several; one that was not destroyed ends in the background. The
  !> world, and what was released or never made, are passed over.
  impure elemental subroutine release(self)
    class(tutti_group), intent(inout) :: self
    if (self%handle == world) return
    call c_tutti_group_release(self%handle)
    self%handle = 0
  end subroutine

  !> This process's rank in the group; -1 if it has none or the group is not valid.
  integer function tutti_get_rank(group)
    type(tutti_group), optional, intent(in) :: group
    tutti_get_rank = c_tutti_get_rank(group_handle(group))
  end function

  !> How many ranks the group has; -1 if it is not valid.
  integer function tutti_get_world_size(group)
    type(tutti_group), optional, intent(in) :: group
    tutti_get_world_size = c_tutti_get_world_size(group_handle(group))
  end function

  function backend_of_world() result(name)
    character(text_length(c_tutti_get_backend(world))) :: name
    name = from_c(c_tutti_get_backend(world))
  end function

  function backend_of(group) result(name)
    type(tutti_group), intent(in) :: group
    character(text_length(c_tutti_get_backend(group%handle))) :: name
    name = from_c(c_tutti_get_backend(group%handle))
  end function

  !> The name of the backend for the group's buffers on a type of device, TUTTI_CPU or TUTTI_CUDA;
  !> empty if the group refuses them.
  function tutti_get_backend_for_device(device_type, group) result(name)
    integer, intent(in) :: device_type
    type(tutti_group), optional, intent(in) :: group
    character(:), allocatable :: name
    name = from_c(c_tutti_get_backend_for_device(group_handle(group), int(device_type, c_int32_t)))
  end function

  !> The group's backends by type of device, "cpu:gloo,cuda:gloo", with the settings of each: a text
  !> by which another group is made.
  wrap tutti_get_backend_config(config, group)

  !> Whether the group's sums are exact and rounded once: made with `reproducible`.
  logical function tutti_group_is_reproducible(group)
    type(tutti_group), optional, intent(in) :: group
    tutti_group_is_reproducible = c_tutti_group_is_reproducible(group_handle(group)) > 0
  end function

  !> The one device that this rank works on in the group, absent: in the world: that with which it,
  !> or the group that it was made from, was made; TUTTI_CPU and 0 if there is none. Calls with
  !> buffers on another device of that type are refused.
  wrap tutti_group_get_bound_device(device_type, device_index, group)

  !> The rank in the group of a global rank; -1 if it is not a member.
  integer function tutti_get_group_rank(global_rank, group)
    integer, intent(in) :: global_rank
    type(tutti_group), optional, intent(in) :: group
    tutti_get_group_rank = c_tutti_get_group_rank(group_handle(group), int(global_rank, c_int32_t))
  end function

  !> The global rank of a rank of the group; -1 if there is no such rank.
  integer function tutti_get_global_rank(group_rank, group)
    integer, intent(in) :: group_rank
    type(tutti_group), optional, intent(in) :: group
    tutti_get_global_rank = c_tutti_get_global_rank(group_handle(group), int(group_rank, c_int32_t))
  end function

  !> The global ranks of a group's members, in the order of their ranks in the group.
  subroutine tutti_get_process_group_ranks(ranks, group, ierr, errmsg)
    integer, allocatable, intent(out) :: ranks(:)
    type(tutti_group), optional, intent(in) :: group
    include "error.inc"

    allocate (ranks(max(tutti_get_world_size(group), 0)), source=-1)
    status = c_tutti_get_process_group_ranks(group_handle(group), ranks, &
                                             size(ranks, kind=c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Sets the timeout of the group's operations from the next one on: above 0, or TUTTI_NO_TIMEOUT.
  wrap tutti_group_set_timeout(timeout_ms, group)

  !> The timeout of the group's operations in milliseconds, or TUTTI_NO_TIMEOUT.
  wrap tutti_group_get_timeout(timeout_ms, group)

  !> The name of the group in messages: its description, or a name that tutti gave it.
  wrap tutti_group_get_name(name, group)

  !> Another handle of the same group, which ends when the last of them is released.
  wrap tutti_group_retain(another, group)

  !> The ranks of the group that are known to be lost: they died, or were silent for too long. Ranks
  !> that left by destroying the group are not among them.
  subroutine tutti_get_failed_ranks(ranks, group, ierr, errmsg)
    integer, allocatable, intent(out) :: ranks(:)
    type(tutti_group), optional, intent(in) :: group
    include "error.inc"
    integer, allocatable :: found(:)
    integer(c_int64_t) :: count

    allocate (found(max(tutti_get_world_size(group), 0)))
    count = 0
    status = c_tutti_get_failed_ranks(group_handle(group), found, size(found, kind=c_int64_t), &
                                      count, error)
    ranks = found(:int(count))
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_groups
