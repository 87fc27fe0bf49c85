!> The price of calls: nanoseconds of a raw call of tutti_get_rank, microseconds of a synchronous
!> all_reduce of 8 bytes and of 1 MiB. Start it with two ranks; rank 0 prints
!> fortran,get_rank_ns,8B_us,1MiB_us
program bench
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tutti
  use tutti_functions, only: c_tutti_get_rank
  implicit none
  real(real64), allocatable :: large(:)
  real(real64) :: small(1), call_ns, small_us, large_us

  call tutti_init_process_group()
  allocate (large(131072), source=0.0_real64)
  small = 0
  call_ns = raw_call()
  small_us = all_reduce(small, 20000)
  large_us = all_reduce(large, 500)
  if (tutti_get_rank() == 0) &
    print '(a, f0.2, a, f0.2, a, f0.2)', "fortran,", call_ns, ",", small_us, ",", large_us
  call tutti_destroy_process_group()
contains
  real(real64) function raw_call()
    integer, parameter :: calls = 10000000
    integer(int64) :: begin
    integer :: i, sum

    sum = 0
    begin = now()
    do i = 1, calls
      sum = sum + c_tutti_get_rank(TUTTI_GROUP_WORLD%handle)
    end do
    raw_call = real(now() - begin, real64) / calls
    if (sum < 0) error stop "no rank"
  end function

  real(real64) function all_reduce(values, calls)
    real(real64), contiguous, intent(inout) :: values(:)
    integer, intent(in) :: calls
    integer(int64) :: begin
    integer :: i

    do i = 1, calls / 10
      call tutti_all_reduce(values)
    end do
    call tutti_barrier()
    begin = now()
    do i = 1, calls
      call tutti_all_reduce(values)
    end do
    all_reduce = real(now() - begin, real64) / calls / 1000
  end function

  !> Nanoseconds.
  integer(int64) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = count * (1000000000_int64 / rate)
  end function
end program bench
