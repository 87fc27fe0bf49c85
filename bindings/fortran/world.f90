!> One rank of a world of several languages: every rank does the same, and checks what all of them
!> gave. Start it with tuttirun.
module world_checks
  use, intrinsic :: iso_fortran_env
  use tutti
  implicit none
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, 2a)') "Fortran rank ", tutti_get_rank(), ": ", what
    error stop 1
  end subroutine

  !> The value that this rank sends of itself.
  function introduction(rank) result(map)
    integer, intent(in) :: rank
    type(tutti_object) :: map
    integer(int32) :: k

    call tutti_object_create(map)
    call map%begin_map()
    call map%put("language", "fortran")
    call map%put("rank", rank)
    call map%add_key("values")
    call map%begin_list()
    call map%add(1)
    call map%add(2.5d0)
    call map%add(.true.)
    call map%add_nil()
    call map%add("text ü")
    call map%end()
    call map%add_key("bytes")
    call map%add_bytes([0_int8, 1_int8, -1_int8])
    call map%add_key("array")
    call map%add_array(reshape([(k + rank, k=0, 5)], [3, 2]))
    call map%end()
  end function

  !> Checks what another rank, of any language, tells of itself.
  subroutine check_introduction(map, rank)
    type(tutti_object), intent(in) :: map
    integer, intent(in) :: rank
    character(:), allocatable :: language, text
    integer(int8), allocatable :: bytes(:)
    integer(int32) :: number, array(3, 2), k
    integer(int64) :: values
    real(real64) :: half
    logical :: flag

    call map%get(language, map%find("language"))
    call expect(len(language) > 0, "a rank without a language")
    call map%get(number, map%find("rank"))
    call expect(number == rank, language // ": rank")
    values = map%find("values")
    call map%get(number, map%at(1, values))
    call map%get(half, map%at(2, values))
    call map%get(flag, map%at(3, values))
    call map%get(text, map%at(5, values))
    call expect(number == 1 .and. abs(half - 2.5d0) < 1d-12 .and. flag, language // ": numbers")
    number = map%kind(map%at(4, values))
    call expect(number == TUTTI_OBJECT_NIL, language // ": nil")
    call expect(text == "text ü", language // ": text")
    call map%get(bytes, map%find("bytes"))
    call expect(size(bytes) == 3, language // ": how many bytes")
    call expect(all(bytes == [0_int8, 1_int8, -1_int8]), language // ": bytes")
    call map%get_array(array, map%find("array"))
    call expect(all(array == reshape([(k + rank, k=0, 5)], [3, 2])), language // ": array")
  end subroutine
end module world_checks

program world
  use, intrinsic :: iso_fortran_env
  use tutti
  use world_checks
  implicit none
  integer :: rank, ranks
  logical :: is_with_pytorch

  call meet()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call sums()
  call introductions()
  call broadcast()
  call maximum()
  call ring()
  if (.not. is_with_pytorch) call another_world()
  call sums()
  call tutti_barrier()
  print '(a, i0, a, i0, a)', "fortran rank ", rank, " of ", ranks, ": ok"
  call tutti_destroy_process_group()
contains
  ! As the launcher says; or, with WORLD_PREFIX in the environment, at that prefix of the store, where ranks of PyTorch's
  ! meet.
  subroutine meet()
    type(tutti_store) :: whole, part
    character(200) :: host, prefix
    integer :: length

    call get_environment_variable("WORLD_PREFIX", prefix, length)
    is_with_pytorch = length > 0
    if (.not. is_with_pytorch) then
      call tutti_init_process_group()
      return
    end if
    call get_environment_variable("MASTER_ADDR", host)
    call tutti_tcp_store_create(trim(host), number_of("MASTER_PORT"), whole, world_size=number_of("WORLD_SIZE"))
    call tutti_prefix_store_create(whole, trim(prefix), part)
    call tutti_init_process_group(part, number_of("RANK"), number_of("WORLD_SIZE"))
    call part%release()
    call whole%release()
  end subroutine

  integer function number_of(name)
    character(*), intent(in) :: name
    character(20) :: text

    call get_environment_variable(name, text)
    read (text, *) number_of
  end function

  subroutine sums()
    real(real64) :: values(1000)
    integer :: i

    values = [(real(i, real64) * (rank + 1), i=1, 1000)]
    call tutti_all_reduce(values)
    call expect(all(nint(values) == [(i * ranks * (ranks + 1) / 2, i=1, 1000)]), "all_reduce")
  end subroutine

  subroutine introductions()
    type(tutti_object) :: mine, all_of(0:ranks - 1)
    integer :: i

    mine = introduction(rank)
    call tutti_all_gather_object(mine, all_of)
    do i = 0, ranks - 1
      call check_introduction(all_of(i), i)
    end do
    call all_of%release()
    call mine%release()
  end subroutine

  subroutine broadcast()
    type(tutti_object) :: objects(3)
    character(:), allocatable :: text
    integer :: first, kind
    integer(int64) :: second

    if (rank == 0) then
      call tutti_object_create(objects(1))
      call objects(1)%add("hello")
      call tutti_object_create(objects(2))
      call objects(2)%begin_map()
      call objects(2)%put(1, -1)
      call objects(2)%add(2)
      call objects(2)%add_uint64(-1_int64)
      call objects(2)%end()
      call tutti_object_create(objects(3))
      call objects(3)%add_nil()
    end if
    call tutti_broadcast_object_list(objects, 0)
    call objects(1)%get(text)
    call objects(2)%get(first, objects(2)%find(1))
    call objects(2)%get_uint64(second, objects(2)%find(2))
    kind = objects(3)%kind()
    call expect(text == "hello", "broadcast_object_list: text")
    call expect(first == -1 .and. second == -1_int64, "broadcast_object_list: map")
    call expect(kind == TUTTI_OBJECT_NIL, "broadcast_object_list: nil")
    call objects%release()
  end subroutine

  subroutine maximum()
    integer(int64), asynchronous :: value
    type(tutti_work) :: work

    value = rank
    call tutti_all_reduce(value, TUTTI_MAX, work=work)
    call work%wait()
    call work%release()
    call expect(value == ranks - 1, "asynchronous all_reduce")
  end subroutine

  subroutine ring()
    real(real32), asynchronous :: mine(3), his(3)
    type(tutti_work) :: works(2)
    integer :: left

    left = mod(rank + ranks - 1, ranks)
    mine = [rank + 0.0, rank + 0.5, rank + 0.25]
    call tutti_send(mine, mod(rank + 1, ranks), work=works(1))
    call tutti_recv(his, left, work=works(2))
    call tutti_wait_all(works)
    call works%release()
    call expect(all(abs(his - [left + 0.0, left + 0.5, left + 0.25]) < 1e-6), "around the ring")
  end subroutine

  !> The same processes in the opposite order; the next barrier is theirs.
  subroutine another_world()
    type(tutti_bytes) :: all_of(ranks)
    type(tutti_group) :: group
    character(:), allocatable :: mine
    character(1000) :: handles(ranks)
    integer :: i

    call tutti_get_reconfigure_handle(mine)
    call tutti_all_gather_bytes(mine, all_of)
    do i = 1, ranks
      handles(ranks + 1 - i) = all_of(i)%text()
    end do
    call all_of%release()
    call tutti_group_reconfigure(group, 1_int64, handles)
    call expect(tutti_get_rank() == ranks - 1 - rank, "the rank in the opposite order")
    rank = tutti_get_rank()
  end subroutine
end program world
