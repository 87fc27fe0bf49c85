! The sum over a group of one rank, by the Fortran module.
program sums
  use tutti
  implicit none
  type(tutti_store) :: store
  type(tutti_group) :: group
  integer :: x(3)

  call tutti_hash_store_create(store)
  call tutti_group_create(store, 0, 1, group)
  x = [1, 2, 3]
  call tutti_all_reduce(x, group=group)
  if (any(x /= [1, 2, 3])) error stop "the sum over one rank is not its own array"
  call tutti_destroy_process_group(group)
  call group%release()
  call store%release()
end program sums
