!> Meshes of ranks: of two dimensions where there are six ranks, of any number where there is one.
program mesh_test
  use checks
  use tutti
  implicit none
  integer :: rank, ranks, rows
  type(tutti_mesh) :: mesh

  call tutti_init_device_mesh(mesh, [1], dim_names=["all"])  ! makes the world
  call mesh%release()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  rows = merge(2, 1, ranks == 6)
  call tutti_init_device_mesh(mesh, [rows, ranks / rows], dim_names=["row   ", "column"])
  call facts()
  call sums()
  call parts()
  call of_groups()
  call any_layout()
  call failures()
  call mesh%release()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine facts()
    integer, allocatable :: numbers(:)
    integer :: i, place

    call check([mesh%ndim() == 2, mesh%size() == ranks], "two dimensions of all ranks")
    call check([mesh%size(1) == rows, mesh%size(2) == ranks / rows], "their lengths")
    call check([mesh%size(3) == -1, mesh%size(0) == -1], "no others")
    call mesh%shape(numbers)
    call check(all(numbers == [rows, ranks / rows]), "the shape")
    call mesh%ranks(numbers)
    call check(all(numbers == [(i, i=0, ranks - 1)]), "row by row")
    call mesh%get_coordinate(numbers)
    call check(all(numbers == [rank / (ranks / rows), mod(rank, ranks / rows)]), "the place")
    call mesh%get_local_rank(place, dim=2)
    call check(place == numbers(2), "by number")
    call mesh%get_local_rank(place, dim_name="row")
    call check(place == numbers(1), "by name")
    call check(mesh%get_rank() == rank, "the global rank")
    call check([mesh%dim_name(2) == "column", mesh%dim_name(3) == ""], "names")
  end subroutine

  subroutine sums()
    type(tutti_group) :: row
    type(tutti_group), allocatable :: groups(:)
    integer :: x

    call mesh%get_group(row, dim_name="column")
    x = 1
    call tutti_all_reduce(x, group=row)
    call check(x == ranks / rows, "the ranks of a row differ in their columns")
    call row%release()
    call mesh%get_all_groups(groups)
    x = 1
    call tutti_all_reduce(x, group=groups(1))
    call check(size(groups) == 2 .and. x == rows, "the ranks of a column")
    call groups%release()
  end subroutine

  subroutine parts()
    type(tutti_mesh) :: part, flat
    type(tutti_group) :: group
    integer :: x

    call mesh%slice(["column"], part)
    call check([part%ndim() == 1, part%size() == ranks / rows], "a slice")
    call part%release()
    call mesh%flatten(flat)
    call check(flat%dim_name(1) == "row_column", "joined names")
    call flat%get_group(group)
    x = 1
    call tutti_all_reduce(x, group=group)
    call check(x == ranks, "all of them in one dimension")
    call group%release()
    call flat%release()
    call mesh%flatten(flat, dim_name="line")
    call check(flat%size(1) == ranks, "a name of one's own")
    call flat%release()
  end subroutine

  subroutine of_groups()
    type(tutti_group), allocatable :: groups(:)
    type(tutti_mesh) :: again, line
    integer, allocatable :: ranks_there(:), shape_there(:)

    call mesh%get_all_groups(groups)
    call mesh%ranks(ranks_there)
    call mesh%shape(shape_there)
    call tutti_mesh_from_group(groups, again, ranks_there, shape_there, ["a", "b"])
    call check([again%size() == ranks, again%dim_name(2) == "b"], "a mesh of groups")
    call again%release()
    call tutti_mesh_from_group([TUTTI_GROUP_WORLD], line)
    call check([line%ndim() == 1, line%size() == ranks], "the ranks of one group")
    call line%release()
    call groups%release()
  end subroutine

  !> A mesh whose ranks are in the caller's order: a rank's place is its rank in the group.
  subroutine any_layout()
    type(tutti_mesh) :: backwards
    type(tutti_group) :: line
    integer, allocatable :: place(:)
    integer :: i, dim

    call tutti_mesh_create(backwards, [(ranks - i, i=1, ranks)], [ranks], dim_names=["line"])
    call backwards%get_coordinate(place)
    call check(place == [ranks - 1 - rank], "the first of the mesh is the last rank")
    call backwards%get_group(line)
    call check(tutti_get_rank(line) == place(1), "and so it is in its group")
    call backwards%find_dim("line", dim)
    call check([dim == 1, backwards%device_type() == TUTTI_CPU], "its dimension and device")
    call line%release()
    call backwards%release()
  end subroutine

  subroutine failures()
    type(tutti_mesh) :: none
    type(tutti_group) :: group
    integer :: status
    character(200) :: message

    call tutti_init_device_mesh(none, [1, 1], dim_names=["x"], ierr=status, errmsg=message)
    call check_message(message, "dim_names must be as many as the dimensions")
    call tutti_mesh_from_group([TUTTI_GROUP_WORLD], none, shape=[1], ierr=status, errmsg=message)
    call check_message(message, "ranks and shape must be given together")
    call tutti_mesh_from_group([TUTTI_GROUP_WORLD], none, [integer ::], [0], ierr=status, &
                               errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a mesh of no ranks")
    call check_message(message, "shape")
    call tutti_mesh_create(none, [integer ::], [integer ::], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a mesh of no dimensions")
    call tutti_mesh_from_group([tutti_group ::], none, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a mesh of no groups")
    call tutti_init_device_mesh(none, [ranks + 1], ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "too large a mesh")
    call mesh%get_group(group, dim=9, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no such dimension")
    call mesh%get_group(group, dim_name="depth", ierr=status, errmsg=message)
    call check_message(message, "depth")
    call tutti_init_device_mesh(none, [1], device_type=TUTTI_XPU, ierr=status, errmsg=message)
    call check_message(message, "device")
    call none%get_group(group, dim=1, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "no mesh")
    call check(none%ndim() == -1, "which has no dimensions")
  end subroutine
end program mesh_test
