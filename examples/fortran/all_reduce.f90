! Every rank gives one number, every rank gets the sum. Start it with
!     tuttirun --nproc-per-node 4 fortran_all_reduce
program all_reduce
  use tutti
  implicit none
  double precision :: sum
  integer :: rank, size

  call tutti_init_process_group()
  rank = tutti_get_rank()
  size = tutti_get_world_size()

  sum = rank + 1
  call tutti_all_reduce(sum)
  print '(a, i0, a, i0, a, i0)', "rank ", rank, " of ", size, ": sum = ", nint(sum)
  if (nint(sum) /= size * (size + 1) / 2) error stop "the sum is wrong"

  call tutti_destroy_process_group()
end program all_reduce
