!> Device meshes: the ranks of a group in rows and columns of any number of dimensions, with a group
!> along each of them. Dimensions are numbered from 1, places and ranks from 0; the last dimension
!> varies fastest, as torch lays ranks out.
module tutti_meshes
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_group_options, TUTTI_CPU, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_groups, only: tutti_group, group_handle
  implicit none
  private
  public :: tutti_mesh, tutti_init_device_mesh, tutti_mesh_create, tutti_mesh_from_group

  !> A handle of a mesh: a value that may be copied, and is released once.
  type :: tutti_mesh
    integer(c_intptr_t) :: handle = 0
  contains
    procedure :: get_group, get_all_groups, get_local_rank, get_coordinate, get_rank
    procedure :: size => mesh_size
    procedure :: ndim, shape => mesh_shape, ranks, dim_name, find_dim, device_type
    procedure :: slice, flatten
    procedure :: release
  end type
contains
  !> Lays the first ranks of a group, absent: the world, out as a mesh, and makes the groups along
  !> its dimensions. Every rank of the group calls it with the same arguments. Without a world yet,
  !> it is made, by "env://". With `device_index` the groups are bound to that device of
  !> `device_type`, which is not the CPU; without it, as the group.
  subroutine tutti_init_device_mesh(mesh, shape, dim_names, group, device_type, device_index, &
                                    timeout_ms, reproducible, ierr, errmsg)
    type(tutti_mesh), intent(out) :: mesh
    integer, intent(in) :: shape(:)
    character(*), optional, intent(in) :: dim_names(:)
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: device_type, device_index, timeout_ms
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    type(text_list), target :: names
    type(tutti_group_options) :: options

    options = options_of(timeout_ms, reproducible, device_type, device_index)
    call take_names(dim_names, size(shape), names, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_init_device_mesh( &
        group_handle(group), int(shape, c_int64_t), int(size(shape), c_int32_t), names%addresses, &
        device_of(device_type), options, mesh%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes a mesh of any layout: `ranks` are ranks of a group, absent: of the world, row by row;
  !> `shape` has the lengths of the dimensions. Every rank of the group calls it with the same
  !> arguments.
  subroutine tutti_mesh_create(mesh, ranks, shape, dim_names, group, device_type, device_index, &
                               timeout_ms, reproducible, ierr, errmsg)
    type(tutti_mesh), intent(out) :: mesh
    integer, intent(in) :: ranks(:), shape(:)
    character(*), optional, intent(in) :: dim_names(:)
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: device_type, device_index, timeout_ms
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    type(text_list), target :: names
    type(tutti_group_options) :: options

    options = options_of(timeout_ms, reproducible, device_type, device_index)
    call take_names(dim_names, size(shape), names, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_mesh_create( &
        group_handle(group), ranks, size(ranks, kind=c_int64_t), int(shape, c_int64_t), &
        int(size(shape), c_int32_t), names%addresses, device_of(device_type), options, &
        mesh%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes a mesh of groups that are there already, one for each dimension. `ranks` are the global
  !> ranks of the mesh, row by row, `shape` its lengths; both absent: those of the only group.
  !> `timeout_ms` and `reproducible` are those of groups that its `flatten` makes.
  subroutine tutti_mesh_from_group(groups, mesh, ranks, shape, dim_names, device_type, &
                                   device_index, timeout_ms, reproducible, ierr, errmsg)
    type(tutti_group), intent(in) :: groups(:)
    type(tutti_mesh), intent(out) :: mesh
    integer, optional, intent(in) :: ranks(:), shape(:)
    character(*), optional, intent(in) :: dim_names(:)
    integer, optional, intent(in) :: device_type, device_index, timeout_ms
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    integer(c_int64_t), allocatable :: lengths(:)
    type(text_list), target :: names
    type(tutti_group_options) :: options

    options = options_of(timeout_ms, reproducible, device_type, device_index)
    call take_names(dim_names, size(groups), names, status, error)
    call check_ranks(size(groups), ranks, shape, status, error)
    if (present(shape)) allocate (lengths, source=int(shape, c_int64_t))
    if (status == TUTTI_OK) &
      status = c_tutti_mesh_from_group( &
        groups%handle, ranks, lengths, int(size(groups), c_int32_t), names%addresses, &
        device_of(device_type), options, mesh%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  subroutine check_ranks(groups, ranks, shape, status, error)
    integer, intent(in) :: groups
    integer, optional, intent(in) :: ranks(:), shape(:)
    integer(c_int32_t), intent(inout) :: status
    type(tutti_error), intent(inout) :: error

    if (present(ranks) .neqv. present(shape)) then
      call refuse(status, error, "ranks and shape must be given together")
    else if (present(shape)) then
      if (size(shape) /= groups) call refuse(status, error, "shape must be as many as groups")
      if (product(shape) /= size(ranks)) &
        call refuse(status, error, "ranks must be as many as the lengths in shape multiplied")
    end if
  end subroutine

  !> The names of the dimensions for C; not allocated, which is absent for C, if there are none.
  subroutine take_names(dim_names, ndim, names, status, error)
    character(*), optional, intent(in) :: dim_names(:)
    integer, intent(in) :: ndim
    type(text_list), target, intent(out) :: names
    integer(c_int32_t), intent(out) :: status
    type(tutti_error), intent(inout) :: error

    status = TUTTI_OK
    if (.not. present(dim_names)) return
    call list_texts(dim_names, names)
    if (size(dim_names) /= ndim) &
      call refuse(status, error, "dim_names must be as many as the dimensions")
  end subroutine

  pure type(tutti_group_options) function options_of(timeout_ms, reproducible, device_type, &
                                                     device_index)
    integer, optional, intent(in) :: timeout_ms, device_type, device_index
    logical, optional, intent(in) :: reproducible
    options_of%timeout_ms = milliseconds(timeout_ms)
    options_of%reproducible = number(reproducible)
    if (present(device_index)) then
      options_of%device_type = device_of(device_type)
      options_of%device_index = int(device_index, c_int32_t)
    end if
  end function

  !> C's device type of one that may be absent, which then is TUTTI_CPU.
  pure integer(c_int32_t) function device_of(device_type)
    integer, optional, intent(in) :: device_type
    device_of = TUTTI_CPU
    if (present(device_type)) device_of = int(device_type, c_int32_t)
  end function

  !> A dimension as C numbers it: from 0; absent: -1.
  pure integer(c_int32_t) function number_of(dim)
    integer, optional, intent(in) :: dim
    number_of = -1
    if (present(dim)) number_of = merge(int(dim, c_int32_t) - 1, -2, dim > 0)
  end function

  !> The number that C has for a dimension that the caller names or numbers; -1 if neither is given.
  subroutine choose_dim(self, dim, dim_name, chosen, status, error)
    class(tutti_mesh), intent(in) :: self
    integer, optional, intent(in) :: dim
    character(*), optional, intent(in) :: dim_name
    integer(c_int32_t), intent(out) :: chosen, status
    type(tutti_error), intent(inout) :: error

    chosen = number_of(dim)
    status = TUTTI_OK
    if (.not. present(dim_name)) return
    if (present(dim)) then
      call refuse(status, error, "dim and dim_name are both given")
    else
      status = c_tutti_mesh_find_dim(self%handle, to_c(dim_name), chosen, error)
    end if
  end subroutine

  !> The number of the dimension of a name, also of one that was flattened.
  subroutine find_dim(self, dim_name, dim, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    character(*), intent(in) :: dim_name
    integer, intent(out) :: dim
    include "error.inc"
    integer(c_int32_t) :: found

    found = -1
    status = c_tutti_mesh_find_dim(self%handle, to_c(dim_name), found, error)
    dim = found + 1
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The group along one dimension, by number or by name; absent: the only one. To be released;
  !> TUTTI_GROUP_NON_MEMBER on a rank that is not in the mesh.
  subroutine get_group(self, group, dim, dim_name, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    type(tutti_group), intent(out) :: group
    integer, optional, intent(in) :: dim
    character(*), optional, intent(in) :: dim_name
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_error) :: error
    integer(c_int32_t) :: chosen, status

    call choose_dim(self, dim, dim_name, chosen, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_mesh_get_group(self%handle, chosen, group%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The groups along all dimensions, in their order; each is to be released.
  subroutine get_all_groups(self, groups, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    type(tutti_group), allocatable, intent(out) :: groups(:)
    include "error.inc"
    integer(c_intptr_t) :: handles(max(self%ndim(), 0))

    handles = 0
    status = c_tutti_mesh_get_all_groups(self%handle, handles, size(handles, kind=c_int64_t), error)
    allocate (groups(size(handles)))
    groups%handle = handles
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> This rank's place along one dimension, by number or by name; -1 on a rank that is not in the
  !> mesh.
  subroutine get_local_rank(self, rank, dim, dim_name, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    integer, intent(out) :: rank
    integer, optional, intent(in) :: dim
    character(*), optional, intent(in) :: dim_name
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_error) :: error
    integer(c_int32_t) :: chosen, status, found

    found = -1
    call choose_dim(self, dim, dim_name, chosen, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_mesh_get_local_rank(self%handle, chosen, found, error)
    rank = found
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> This rank's place along all dimensions; -1 each on a rank that is not in the mesh.
  subroutine get_coordinate(self, coordinate, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    integer, allocatable, intent(out) :: coordinate(:)
    include "error.inc"

    allocate (coordinate(max(self%ndim(), 0)), source=-1)
    status = c_tutti_mesh_get_coordinate(self%handle, coordinate, &
                                         size(coordinate, kind=c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The global rank of this process, in the mesh or not; -1 if the mesh is not valid.
  integer function get_rank(self)
    class(tutti_mesh), intent(in) :: self
    get_rank = c_tutti_mesh_get_rank(self%handle)
  end function

  !> The length of one dimension; absent: how many ranks the mesh has; -1 if there is no such one.
  integer function mesh_size(self, dim)
    class(tutti_mesh), intent(in) :: self
    integer, optional, intent(in) :: dim
    mesh_size = int(c_tutti_mesh_size(self%handle, number_of(dim)))
  end function

  !> How many dimensions the mesh has; -1 if it is not valid.
  integer function ndim(self)
    class(tutti_mesh), intent(in) :: self
    ndim = c_tutti_mesh_ndim(self%handle)
  end function

  !> The device type that the mesh was made with, for instance TUTTI_CPU; -1 if it is not valid.
  integer function device_type(self)
    class(tutti_mesh), intent(in) :: self
    device_type = c_tutti_mesh_device_type(self%handle)
  end function

  !> The length of every dimension.
  subroutine mesh_shape(self, lengths, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    integer, allocatable, intent(out) :: lengths(:)
    include "error.inc"
    integer(c_int64_t), allocatable :: found(:)

    allocate (found(max(self%ndim(), 0)), source=-1_c_int64_t)
    status = c_tutti_mesh_shape(self%handle, found, size(found, kind=c_int64_t), error)
    lengths = int(found)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The global ranks of the mesh, row by row.
  subroutine ranks(self, numbers, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    integer, allocatable, intent(out) :: numbers(:)
    include "error.inc"

    allocate (numbers(max(self%size(), 0)), source=-1)
    status = c_tutti_mesh_ranks(self%handle, numbers, size(numbers, kind=c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The name of a dimension; empty if it has none.
  function dim_name(self, dim) result(name)
    class(tutti_mesh), intent(in) :: self
    integer, intent(in) :: dim
    character(text_length(c_tutti_mesh_dim_name(self%handle, number_of(dim)))) :: name
    name = from_c(c_tutti_mesh_dim_name(self%handle, number_of(dim)))
  end function

  !> The part of the mesh that this rank sees along the dimensions of these names.
  wrap tutti_mesh_slice(self, dim_names, mesh) as slice

  !> The mesh in one dimension, with a group of all its ranks; all of them call it. `dim_name`
  !> absent: the names of the dimensions, joined by "_".
  subroutine flatten(self, mesh, dim_name, timeout_ms, reproducible, ierr, errmsg)
    class(tutti_mesh), intent(in) :: self
    type(tutti_mesh), intent(out) :: mesh
    character(*), optional, intent(in) :: dim_name
    integer, optional, intent(in) :: timeout_ms
    logical, optional, intent(in) :: reproducible
    include "error.inc"
    character(:, kind=c_char), allocatable :: name
    type(tutti_group_options) :: options

    call name_or_null(dim_name, name)
    options%timeout_ms = milliseconds(timeout_ms)
    options%reproducible = number(reproducible)
    status = c_tutti_mesh_flatten(self%handle, name, options, mesh%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Gives a mesh back, or each of several. What was released, or never made, is passed over.
  impure elemental subroutine release(self)
    class(tutti_mesh), intent(inout) :: self
    call c_tutti_mesh_release(self%handle)
    self%handle = 0
  end subroutine
end module tutti_meshes
