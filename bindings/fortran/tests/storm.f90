!> A hundred thousand asynchronous operations with thousands of them under way at once, from memory
!> that is taken and given back all the time.
program storm
  use checks
  use tutti
  implicit none
  integer, parameter :: operations = 100000, under_way = 4000

  !> An operation, and the memory it works in.
  type :: pending
    type(tutti_work) :: work
    integer, allocatable :: data(:)
  end type

  type(pending), allocatable, target :: ring(:)
  integer :: rank, ranks, i, slot, wrong

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  allocate (ring(0:under_way - 1))
  wrong = 0
  do i = 1, operations
    slot = mod(i, under_way)
    if (i > under_way) call finish(ring(slot), i - under_way)
    call start(ring(slot), i)
  end do
  do i = operations + 1, operations + under_way
    call finish(ring(mod(i, under_way)), i - under_way)
  end do
  call check(wrong == 0, "every operation gave what it should")
  call late_handles()
  deallocate (ring)
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine start(this, number)
    type(pending), target, intent(inout) :: this
    integer, intent(in) :: number

    allocate (this%data(1 + mod(number, 7)))
    this%data = number + rank
    select case (mod(number, 3))
    case (0)
      call tutti_all_reduce(this%data, TUTTI_MAX, work=this%work)
    case (1)
      call tutti_broadcast(this%data, mod(number, ranks), work=this%work)
    case default
      if (rank == 0) then
        call tutti_send(this%data, 1, work=this%work)
      else
        call tutti_recv(this%data, 0, work=this%work)
      end if
    end select
  end subroutine

  subroutine finish(this, number)
    type(pending), target, intent(inout) :: this
    integer, intent(in) :: number
    integer :: expected

    call this%work%wait()
    call this%work%release()
    select case (mod(number, 3))
    case (0)
      expected = number + ranks - 1
    case (1)
      expected = number + mod(number, ranks)
    case default
      expected = number
    end select
    if (size(this%data) /= 1 + mod(number, 7) .or. any(this%data /= expected)) wrong = wrong + 1
    deallocate (this%data)
  end subroutine

  !> Works that were released are refused, each of them.
  subroutine late_handles()
    type(tutti_work) :: work, copy
    integer :: status, tries

    do tries = 1, 1000
      call tutti_barrier(work=work)
      copy = work
      call work%wait()
      call work%release()
      call copy%wait(ierr=status)
      call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a copy of a released work")
      call copy%release()
    end do
  end subroutine
end program storm
