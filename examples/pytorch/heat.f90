! Heat spreads over plates of wood, faster along the grain than across, and learn_heat.py learns how while this runs.
! Rank 0 is learn_heat.py. Each of the others has a strip of the plate: in every step the edges of the strip travel to
! the neighbours, and the strip to rank 0. At the end rank 0 broadcasts what it learned. README.md says how to start.
program heat
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32
  use tutti
  implicit none
  integer, parameter :: plates = 300, steps = 9, cells = 64
  real(real32), parameter :: along = 0.24, across = 0.08, stays = 1 - 2 * (along + across)
  real(real32), parameter :: wood(3, 3) = &  ! what a cell gets of the heat around it and of its own
    reshape([0.0, along, 0.0, across, stays, across, 0.0, along, 0.0], [3, 3])

  type(tutti_group) :: simulation  ! all ranks but 0
  type(tutti_work) :: sending
  real(real32), allocatable, asynchronous :: now(:, :), strip(:, :)
  integer(int64) :: checksum = 0
  character(200) :: host, text
  integer :: port, place, length, first, last, plate, step

  call join()
  call lay_out()
  do plate = 1, plates
    call heat_some_cells()
    do step = 1, steps
      strip = now(1:cells, first:last)
      call tutti_send(strip, 0, work=sending)  ! travels during the step
      call advance()
      call sending%wait()
      call sending%release()
      checksum = checksum + sum(int(transfer(strip, [0_int32]), int64))
    end do
  end do
  call report()
  call simulation%release()
  call tutti_destroy_process_group()
contains
  ! The default group is that of torch.distributed, and meets where PyTorch looks for it. The simulation has one of its
  ! own, which meets at the same store.
  subroutine join()
    type(tutti_store) :: whole, part

    call find_place()
    call tutti_tcp_store_create(host, port, whole, world_size=length + 1)
    call tutti_prefix_store_create(whole, "default_pg/0//cpu/", part)
    call tutti_init_process_group(part, place + 1, length + 1)
    call part%release()
    call tutti_prefix_store_create(whole, "simulation", part)
    call tutti_group_create(part, place, length, simulation, description="simulation")
    call part%release()
    call whole%release()
  end subroutine

  ! Started with rank 0, or as a job of its own that is told where rank 0 is.
  subroutine find_place()
    place = number_of("RANK") - 1
    length = number_of("WORLD_SIZE") - 1
    port = number_of("MASTER_PORT")
    call get_environment_variable("MASTER_ADDR", host)
    if (command_argument_count() == 2) then
      place = place + 1
      length = length + 1
      call get_command_argument(1, host)
      call get_command_argument(2, text)
      read (text, *) port
    end if
    if (place < 0) error stop "rank 0 is learn_heat.py; or give its host and port: pytorch_heat HOST PORT"
  end subroutine

  ! The strips are those of torch.tensor_split. The plate's rim stays cold.
  subroutine lay_out()
    integer :: sizes(3)

    sizes = [plates, steps, cells]
    call tutti_broadcast(sizes, 1)
    first = place * (cells / length) + min(place, mod(cells, length)) + 1
    last = (place + 1) * (cells / length) + min(place + 1, mod(cells, length))
    if (last < first) error stop "too many ranks for this plate"
    allocate (now(0:cells + 1, first - 1:last + 1), source=0.0_real32)
    allocate (strip(cells, first:last))
    call random_init(repeatable=.true., image_distinct=.false.)
  end subroutine

  ! A new plate, the same for any number of ranks: one cell of twenty is hot.
  subroutine heat_some_cells()
    real(real32) :: chance(cells, cells)

    call random_number(chance)
    now(1:cells, first:last) = merge(1.0, 0.0, chance(:, first:last) < 0.05)
  end subroutine

  subroutine advance()
    real(real32) :: next(cells, first:last)
    integer :: i, j

    call exchange()
    do j = first, last
      do i = 1, cells
        next(i, j) = sum(wood * now(i - 1:i + 1, j - 1:j + 1))
      end do
    end do
    now(1:cells, first:last) = next
  end subroutine

  ! The edges of the strip for those of the neighbours. The tag says where to: 1 before, 2 behind.
  subroutine exchange()
    type(tutti_work) :: works(4)
    integer :: started

    started = 0
    if (place > 0) then
      call tutti_recv(now(:, first - 1), place - 1, tag=2, group=simulation, work=works(1))
      call tutti_send(now(:, first), place - 1, tag=1, group=simulation, work=works(2))
      started = 2
    end if
    if (place < length - 1) then
      call tutti_recv(now(:, last + 1), place + 1, tag=1, group=simulation, work=works(started + 1))
      call tutti_send(now(:, last), place + 1, tag=2, group=simulation, work=works(started + 2))
      started = started + 2
    end if
    call tutti_wait_all(works(:started))
    call works(:started)%release()
  end subroutine

  subroutine report()
    real(real32) :: learned(3, 3)

    call tutti_broadcast(learned, 0)
    call tutti_reduce(checksum, 0, group=simulation)
    if (place > 0) return
    print '(a, i0)', "simulation: checksum of all fields ", checksum
    print '(a, f8.6)', "simulation: the wood differs from what was learned by ", maxval(abs(learned - wood))
  end subroutine

  integer function number_of(variable)
    character(*), intent(in) :: variable
    integer :: ierr

    call get_environment_variable(variable, text)
    read (text, *, iostat=ierr) number_of
    if (ierr /= 0) error stop variable // " must be set to a number"
  end function
end program heat
