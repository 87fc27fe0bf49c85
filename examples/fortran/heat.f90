! Heat spreads over a square plate whose edges are kept at 0. The ranks form a mesh of rows and
! columns, and each has its part of the plate; in every step the temperatures at the edges of a
! part, its halo, travel to the four neighbours while the rank computes what lies inside.
!     tuttirun --nproc-per-node 6 fortran_heat
! The plate begins with one hump of a sine, which only sinks: in every step by the same factor. So
! the program knows the exact temperatures, and any number of ranks prints the same.
program heat
  use, intrinsic :: iso_fortran_env, only: real64
  use tutti
  implicit none
  integer, parameter :: cells = 120, steps = 1200
  real(real64), parameter :: speed = 0.2_real64, pi = acos(-1.0_real64)

  type :: halo
    real(real64), allocatable :: out(:), in(:)
  end type

  type(tutti_mesh) :: mesh
  type(tutti_group) :: groups(2)
  type(halo), target, asynchronous :: halos(2, 2)  ! along rows and columns, before and behind
  real(real64), allocatable :: now(:, :), next(:, :)
  integer :: first(2), last(2), place(2), length(2), step

  call tutti_init_process_group()
  call lay_out()
  call begin()
  do step = 1, steps
    call advance()
    if (mod(step, steps / 4) == 0) call report(step)
  end do
  deallocate (now, next)
  call groups%release()
  call mesh%release()
  call tutti_destroy_process_group()
contains
  ! The mesh is as square as the number of ranks allows; each rank has its part of rows and columns.
  subroutine lay_out()
    integer :: ranks, rows, dim

    ranks = tutti_get_world_size()
    rows = int(sqrt(real(ranks)))
    do while (mod(ranks, rows) /= 0)
      rows = rows - 1
    end do
    length = [rows, ranks / rows]
    call tutti_init_device_mesh(mesh, length, dim_names=["row   ", "column"])
    do dim = 1, 2
      call mesh%get_group(groups(dim), dim=dim)
      call mesh%get_local_rank(place(dim), dim=dim)
    end do
    first = cells * place / length + 1
    last = cells * (place + 1) / length
    if (any(cells / length < 2)) error stop "too many ranks for this plate"
  end subroutine

  subroutine begin()
    integer :: i, j, before_or_behind

    allocate (now(first(1) - 1:last(1) + 1, first(2) - 1:last(2) + 1), source=0.0_real64)
    allocate (next, source=now)
    do j = first(2), last(2)
      do i = first(1), last(1)
        now(i, j) = sin(pi * i / (cells + 1)) * sin(pi * j / (cells + 1))
      end do
    end do
    do before_or_behind = 1, 2
      allocate (halos(1, before_or_behind)%out(first(2):last(2)))
      allocate (halos(1, before_or_behind)%in(first(2):last(2)))
      allocate (halos(2, before_or_behind)%out(first(1):last(1)))
      allocate (halos(2, before_or_behind)%in(first(1):last(1)))
    end do
  end subroutine

  subroutine advance()
    type(tutti_work) :: works(8)
    real(real64), allocatable :: old(:, :)
    integer :: started

    started = 0
    halos(1, 1)%out = now(first(1), first(2):last(2))
    halos(1, 2)%out = now(last(1), first(2):last(2))
    halos(2, 1)%out = now(first(1):last(1), first(2))
    halos(2, 2)%out = now(first(1):last(1), last(2))
    call exchange(1, works, started)
    call exchange(2, works, started)
    call spread(first(1) + 1, last(1) - 1, first(2) + 1, last(2) - 1)

    call tutti_wait_all(works(:started))
    call works(:started)%release()
    if (place(1) > 0) now(first(1) - 1, first(2):last(2)) = halos(1, 1)%in
    if (place(1) < length(1) - 1) now(last(1) + 1, first(2):last(2)) = halos(1, 2)%in
    if (place(2) > 0) now(first(1):last(1), first(2) - 1) = halos(2, 1)%in
    if (place(2) < length(2) - 1) now(first(1):last(1), last(2) + 1) = halos(2, 2)%in
    call spread(first(1), first(1), first(2), last(2))
    call spread(last(1), last(1), first(2), last(2))
    call spread(first(1), last(1), first(2), first(2))
    call spread(first(1), last(1), last(2), last(2))

    call move_alloc(now, old)
    call move_alloc(next, now)
    call move_alloc(old, next)
  end subroutine

  ! Starts the messages to and from both neighbours along a dimension, in its group. The tag says
  ! where a message travels to: 1 to the neighbour before, 2 to the one behind.
  subroutine exchange(dim, works, started)
    integer, intent(in) :: dim
    type(tutti_work), intent(inout) :: works(:)
    integer, intent(inout) :: started
    integer :: side, neighbour

    do side = 1, 2
      neighbour = place(dim) + 2 * side - 3
      if (neighbour < 0 .or. neighbour >= length(dim)) cycle
      call tutti_recv(halos(dim, side)%in, neighbour, tag=3 - side, group=groups(dim), &
                      work=works(started + 1))
      call tutti_send(halos(dim, side)%out, neighbour, tag=side, group=groups(dim), &
                      work=works(started + 2))
      started = started + 2
    end do
  end subroutine

  subroutine spread(first_row, last_row, first_column, last_column)
    integer, intent(in) :: first_row, last_row, first_column, last_column
    integer :: i, j

    do j = first_column, last_column
      do i = first_row, last_row
        next(i, j) = now(i, j) + speed * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) &
                                          + now(i, j + 1) - 4 * now(i, j))
      end do
    end do
  end subroutine

  ! All ranks' warmest cell, and the largest distance from the exact temperatures.
  subroutine report(step)
    integer, intent(in) :: step
    real(real64) :: sunk, largest(2)
    integer :: i, j

    sunk = (1 - 8 * speed * sin(pi / 2 / (cells + 1))**2)**step
    largest = 0
    do j = first(2), last(2)
      do i = first(1), last(1)
        largest(1) = max(largest(1), now(i, j))
        largest(2) = max(largest(2), abs(now(i, j) - sunk * sin(pi * i / (cells + 1)) &
                                         * sin(pi * j / (cells + 1))))
      end do
    end do
    call tutti_all_reduce(largest, TUTTI_MAX)
    if (tutti_get_rank() == 0) &
      print '(a, i4, a, f15.12)', "step ", step, ": warmest cell ", largest(1)
    if (largest(2) > 1e-12_real64) error stop "the temperatures are not the exact ones"
  end subroutine
end program heat
