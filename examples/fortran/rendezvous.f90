! Ranks meet at a store with nothing but its address: each leaves its name there, takes a number,
! and rank 0 greets them all. Start it with
!     tuttirun --nproc-per-node 4 fortran_rendezvous
! or as several processes by hand, with MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE set.
program rendezvous
  use tutti
  implicit none
  type(tutti_store) :: store
  integer :: rank, size

  rank = number_of("RANK")
  size = number_of("WORLD_SIZE")
  call meet()
  call leave_name()
  if (rank == 0) call greet()
  call store%barrier("the end", size)
  call store%release()
contains
  ! The store is one that tuttirun serves, or that rank 0 serves itself. A run has keys of its own.
  subroutine meet()
    type(tutti_store) :: served
    character(200) :: host, serves
    integer :: length

    call get_environment_variable("MASTER_ADDR", host)
    call get_environment_variable("TORCHELASTIC_USE_AGENT_STORE", serves, length)
    call tutti_tcp_store_create(host, number_of("MASTER_PORT"), served, &
                                is_master=rank == 0 .and. serves /= "True", &
                                wait_for_workers=.false.)
    call tutti_prefix_store_create(served, "rendezvous", store)
    call served%release()
  end subroutine

  subroutine leave_name()
    character(20) :: key, name
    integer :: arrived

    write (key, '(a, i0)') "name/", rank
    write (name, '(a, i0)') "process ", rank
    call store%set(key, name)
    call store%add("arrived", 1, arrived)
    if (arrived > size) error stop "more have come than there are"
  end subroutine

  ! Waits for every name.
  subroutine greet()
    character(20) :: keys(size)
    type(tutti_text), allocatable :: names(:)
    character(:), allocatable :: line
    integer :: i

    do i = 1, size
      write (keys(i), '(a, i0)') "name/", i - 1
    end do
    call store%multi_get(keys, names)
    line = names(1)%text
    do i = 2, size
      line = line // ", " // names(i)%text
    end do
    print '(i0, 2a)', size, " met: ", line
  end subroutine

  integer function number_of(variable)
    character(*), intent(in) :: variable
    character(20) :: value
    integer :: ierr

    call get_environment_variable(variable, value)
    read (value, *, iostat=ierr) number_of
    if (ierr /= 0) error stop variable // " must be set to a number"
  end function
end program rendezvous
