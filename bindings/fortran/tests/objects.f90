!> Objects: building and reading every kind, MessagePack, and the collectives.
program objects_test
  use, intrinsic :: iso_fortran_env
  use checks
  use tutti
  implicit none
  integer :: rank, ranks

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call scalars()
  call containers()
  call arrays()
  call arrays_of_other_types()
  call edges_of_numbers()
  call many()
  call messages()
  call failures()
  call gathered()
  call broadcast_and_scattered()
  call between_two()
  call tutti_destroy_process_group()
  call passed()
contains
  !> One value of each kind in a list, and back.
  subroutine scalars()
    type(tutti_object) :: list
    logical :: flag
    integer(int32) :: small
    integer(int64) :: wide, seconds
    real(real32) :: single
    real(real64) :: double
    character(:), allocatable :: text
    integer(int8), allocatable :: bytes(:)
    integer :: nanoseconds

    call tutti_object_create(list)
    call list%begin_list()
    call list%add_nil()
    call list%add(.true._int16)
    call list%add(-5)
    call list%add(2_int64**60)
    call list%add(1.5)
    call list%add(2.25d0)
    call list%add("grüße  ")
    call list%add_bytes([0_int8, 1_int8, -1_int8])
    call list%add_timestamp(1700000000_int64, 5)
    call list%add_uint64(-1_int64)
    call list%end()

    call check([list%kind() == TUTTI_OBJECT_LIST, list%length() == 10], "a list of ten")
    call check(list%kind(list%at(1)) == TUTTI_OBJECT_NIL, "nil")
    call list%get(flag, list%at(2))
    call list%get(small, list%at(3))
    call list%get(wide, list%at(4))
    call list%get(single, list%at(5))
    call list%get(double, list%at(6))
    call list%get(text, list%at(7))
    call list%get(bytes, list%at(8))
    call list%get_timestamp(seconds, nanoseconds, list%at(9))
    call check(flag .and. small == -5 .and. wide == 2_int64**60, "logical and integers")
    call check(abs(single - 1.5) < 1e-6 .and. abs(double - 2.25d0) < 1e-12, "reals")
    call check(text == "grüße" .and. all(bytes == [0_int8, 1_int8, -1_int8]), "text and bytes")
    call check(seconds == 1700000000_int64 .and. nanoseconds == 5, "a timestamp")
    call list%get_uint64(wide, list%at(10))
    call check(wide == -1, "2^64 - 1")
    call list%get(double, list%at(3))
    call check(nint(double) == -5, "an integer as a real")
    call check(list%at(11) == -1, "no eleventh value")
    call list%release()
  end subroutine

  subroutine containers()
    type(tutti_object) :: map, copy
    integer(int64) :: node
    integer :: value
    logical :: same
    character(:), allocatable :: json

    call tutti_object_create(map)
    call map%begin_map()
    call map%put("name", "Fortran")
    call map%put(7, 8)
    call map%add_key("list")
    call map%begin_list()
    call map%add_elements([1, 2, 3])
    call map%end()
    call map%end()

    call check(map%length() == 3, "three pairs")
    node = map%find("list")
    call map%get(value, map%at(3, node))
    call check(value == 3, "the third of the list in the map")
    call map%get(value, map%find(7))
    call check(value == 8, "an integer key")
    call check(map%find("nothing") == -1, "no such key")
    call check([map%next() == 10, map%next(node) == 10], "what is behind")
    call map%to_json(json)
    call check(json == '{"name": "Fortran", "7": 8, "list": [1, 2, 3]}', json)

    call map%copy(copy, node)
    call copy%equal(map, same, other_node=node)
    call check(same, "a copy of the list")
    call copy%equal(map, same)
    call check(.not. same, "which is not the map")
    call copy%release()
    call tutti_object_create(copy)
    call copy%begin_list()
    call copy%add_object(map, node)
    call copy%add_object(map)
    call copy%end()
    call copy%equal(map, same, node=copy%at(2))
    call check(same, "the map in a list")
    call copy%release()
    call map%release()
  end subroutine

  !> Fortran's (3,2) is 2 rows of 3 for others.
  subroutine arrays()
    type(tutti_object) :: object
    integer(int32) :: a(3, 2), b(3, 2), dtype, status
    logical :: flags(2), read(2)
    integer(int64), allocatable :: extents(:)
    type(tutti_object_item) :: items(1)
    character(:), allocatable :: json
    character(100) :: message
    real :: r(3, 2)

    a = reshape([0, 1, 2, 3, 4, 5], [3, 2])
    call tutti_object_create(object)
    call object%add_array(a)
    call object%array_shape(dtype, extents)
    call check(dtype == TUTTI_INT32 .and. all(extents == [3, 2]), "its shape")
    b = 0
    call object%get_array(b)
    call check(all(a == b), "an array")
    b = 0
    call object%get_array(b(3:1:-1, :))
    call check(all(a == b(3:1:-1, :)), "into a section")
    call object%to_json(json)
    call check(index(json, '"shape": [2, 3]') > 0, json)
    call object%read(items, status)
    call check(status == 1 .and. items(1)%dimensions == 2, "its item")
    call object%get_array(r, ierr=status, errmsg=message)
    call check_message(message, "array is float32 of 4 bytes, but the array in the object is int32")
    call object%get_array(b(1:2, :), ierr=status, errmsg=message)
    call check_message(message, "array has the extent 2 in dimension 1")
    call object%get_array(b(:, 1), ierr=status, errmsg=message)
    call check_message(message, "array has 1 dimensions")
    call object%release()

    flags = [.true., .false.]
    call tutti_object_create(object)
    call object%add_array(flags)
    read = .not. flags
    call object%get_array(read)
    call check(all(read .eqv. flags), "an array of logicals")
    call object%release()

    call tutti_object_create(object)
    call object%add_array(a(1, 1))
    call object%array_shape(dtype, extents)
    call check(size(extents) == 0, "an array of no dimensions")
    call object%release()
    call tutti_object_create(object)
    call object%add_array(["ab", "cd"], ierr=status)
    call check_message(tutti_error_message(tutti_last_error()), "array has characters")
    call object%release()
  end subroutine

  !> The largest and smallest numbers, and those one beyond.
  subroutine edges_of_numbers()
    type(tutti_object) :: list
    integer(int64), parameter :: large = 2_int64**31
    integer(int64) :: wide
    integer(int32) :: small, status
    real(real32) :: single
    character(100) :: message

    call tutti_object_create(list)
    call list%begin_list()
    call list%add_elements([-large, large - 1, -large - 1, large, -huge(large) - 1_int64])
    call list%add(1d300)
    call list%end()
    call list%get(small, list%at(1))
    call check(small < 0 .and. small + 1 == -huge(small), "-2^31")
    call list%get(small, list%at(2))
    call check(small == huge(small), "2^31 - 1")
    do wide = 3, 5
      call list%get(small, list%at(int(wide)), ierr=status, errmsg=message)
      call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an integer beyond 32 bits")
      call check_message(message, "value has too few bits")
    end do
    call list%get(wide, list%at(5))
    call check(wide < 0 .and. wide + 1 == -huge(wide), "-2^63")
    call list%get(single, list%at(6), ierr=status, errmsg=message)
    call check_message(message, "value has too small a range")
    call list%release()
  end subroutine

  !> Bits of another meaning are refused, but for those that Fortran has no type for.
  subroutine arrays_of_other_types()
    type(tutti_object) :: object
    integer(int32) :: whole(2), status
    integer(int16) :: half(2)
    character(1) :: letters(3)
    character(8) :: words(3)
    character(100) :: message

    call tutti_object_create(object)
    call object%begin_list()
    call object%add_array([1.0, 2.0])
    call object%add_array([15360_int16, 0_int16], dtype=TUTTI_FLOAT16)
    call object%add_array([97_int8, 98_int8, 99_int8], dtype=TUTTI_UINT8)
    call object%end()
    whole = 7
    call object%get_array(whole, object%at(1), ierr=status, errmsg=message)
    call check_message(message, "array is int32 of 4 bytes, but the array in the object is float32")
    call check(whole == 7, "nothing is written")
    call object%get_array(half, object%at(2))
    call check(half == [15360_int16, 0_int16], "float16 as integers of its size")
    call object%get_array(letters, object%at(3))
    call check(letters == ["a", "b", "c"], "bytes as single characters")
    words = "--------"
    call object%get_array(words, object%at(3), ierr=status)
    call check_message(tutti_error_message(tutti_last_error()), "array is uint8 of 8 bytes")
    call check(words == "--------", "longer characters are refused")
    call object%release()
  end subroutine

  subroutine many()
    type(tutti_object) :: object, again
    type(tutti_object_item) :: items(4)
    real(real64) :: numbers(3), steps(6)
    integer :: count
    logical :: same

    call tutti_object_create(object)
    call object%begin_list()
    call object%add_elements([1.5d0, 2.5d0, 3.5d0])
    call object%end()
    call object%get_elements(numbers)
    call check(nint(sum(numbers) * 2) == 15, "three numbers")
    steps = 0
    call object%get_elements(steps(1:4:3), first=2)
    call check(nint(steps(1) * 2) == 5 .and. nint(steps(4) * 2) == 7, "into a section")
    call object%read(items, count)
    call check(count == 4 .and. items(1)%size == 3, "a list and three values")
    call tutti_object_create(again)
    call again%add_items(items)
    call again%equal(object, same)
    call check(same, "what was read, added again")
    call again%release()
    call object%release()
  end subroutine

  subroutine messages()
    type(tutti_object) :: object, again
    type(tutti_object_options) :: options
    integer(int8), allocatable :: message(:)
    integer :: status
    logical :: same

    call tutti_object_create(object)
    call object%add("text")
    call object%encode(message)
    call check(size(message) == 5, "MessagePack of a text of four bytes")
    options%max_bytes = 100
    call tutti_object_decode(message, again, options)
    call again%equal(object, same)
    call check(same, "there and back")
    call again%release()
    call object%release()
    call tutti_object_decode([-63_int8], again, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no MessagePack")
  end subroutine

  subroutine failures()
    type(tutti_object) :: object
    integer :: status, value
    character(200) :: message
    character(:), allocatable :: text

    call tutti_object_create(object)
    call object%add((1.0, 2.0), status, message)
    call check_message(message, "value must be")
    call object%begin_map()
    call object%add(.true., status, message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a logical key")
    call object%put("a", 1, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a spoiled object")
    call object%release()
    call tutti_object_create(object)
    call object%add(2_int64**40)
    call object%get(value, ierr=status, errmsg=message)
    call check_message(message, "value has too few bits")
    call object%get(text, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no text")
    call check(len(text) == 0, "an empty text then")
    call object%release()
    call object%get(value, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "an object that was released")
  end subroutine

  subroutine gathered()
    type(tutti_object) :: mine, sparse(2 * ranks)
    type(tutti_object), target, asynchronous :: all_of(0:ranks - 1)
    type(tutti_work) :: work
    integer :: i, number, status
    character(100) :: message

    call tutti_object_create(mine)
    call mine%begin_map()
    call mine%put("rank", rank)
    call mine%end()
    call tutti_all_gather_object(mine, all_of)
    do i = 0, ranks - 1
      call all_of(i)%get(number, all_of(i)%find("rank"))
      call check(number == i, "all_gather_object")
    end do
    call all_of%release()
    call tutti_all_gather_object(mine, work=work)
    call work%wait()
    call tutti_work_take_objects(work, all_of)
    call tutti_work_take_objects(work, all_of, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "objects are taken once")
    call work%release()
    call all_of(ranks - 1)%get(number, all_of(ranks - 1)%find("rank"))
    call check(number == ranks - 1, "with a work")
    call all_of%release()
    call tutti_all_gather_object(mine, all_of, work=work, ierr=status, errmsg=message)
    call check_message(message, "objects and work are both given")
    call tutti_all_gather_object(mine, sparse, ierr=status, errmsg=message)
    call check_message(message, "objects must be as many as the ranks of the group")
    call tutti_gather_object(mine, rank, ierr=status, errmsg=message)
    call check_message(message, "objects must be as many as the ranks of the group")
    if (ranks > 1) then
      call tutti_all_gather_object(mine, sparse(1::2), ierr=status, errmsg=message)
      call check_message(message, "objects is not contiguous")
    end if

    if (rank == 0) then
      call tutti_gather_object(mine, 0, all_of)
      call all_of(ranks - 1)%get(number, all_of(ranks - 1)%find("rank"))
      call check(number == ranks - 1, "gather_object")
      call all_of%release()
    else
      call tutti_gather_object(mine, 0)
    end if
    call mine%release()
  end subroutine

  subroutine broadcast_and_scattered()
    type(tutti_object) :: pair(2), again(2), mine, for_all(ranks), taken(1)
    logical :: same
    type(tutti_work) :: work
    character(:), allocatable :: text
    character(100) :: message
    integer :: i, number, status

    if (rank == 0) then
      call tutti_object_create(pair(1))
      call pair(1)%add("hello")
      call tutti_object_create(pair(2))
      call pair(2)%add_nil()
    end if
    call tutti_broadcast_object_list(pair, 0)
    call pair(1)%get(text)
    call check([text == "hello", pair(2)%kind() == TUTTI_OBJECT_NIL], "broadcast_object_list")
    call tutti_broadcast_object_list(pair, 0, work=work)
    call work%wait()
    if (rank /= 0) then
      call tutti_work_take_objects(work, again)
      call again(1)%equal(pair(1), same)
      call check(same, "with a work")
      call again%release()
    end if
    call work%release()
    call pair%release()

    if (rank == 0) then
      do i = 1, ranks
        call tutti_object_create(for_all(i))
        call for_all(i)%add(i)
      end do
      call tutti_scatter_object_list(mine, 0, for_all)
      call tutti_scatter_object_list(group_src=0, objects=for_all, work=work)
      call work%wait()
      call for_all%release()
    else
      call tutti_scatter_object_list(mine, 0)
      call tutti_scatter_object_list(group_src=0, work=work)
      call work%wait()
    end if
    call mine%get(number)
    call check(number == rank + 1, "scatter_object_list")
    call tutti_work_take_objects(work, taken)
    call work%release()
    call mine%equal(taken(1), same)
    call check(same, "with a work")
    call mine%release()
    call taken%release()
    call tutti_scatter_object_list(mine, 0, work=work, ierr=status, errmsg=message)
    call check_message(message, "either object or work must be given")
  end subroutine

  subroutine between_two()
    type(tutti_object) :: out(2), in(2)
    integer :: source, number
    type(tutti_work) :: work
    type(tutti_object_options) :: options

    if (ranks == 1) return
    call tutti_object_create(out(1))
    call out(1)%add(rank)
    call tutti_object_create(out(2))
    call out(2)%add("second")
    options%compress = TUTTI_OBJECT_COMPRESS_NEVER
    call tutti_send_object_list(out, mod(rank + 1, ranks), 4, object_options=options, work=work)
    call tutti_recv_object_list(in, TUTTI_ANY_RANK, 4, out_group_src=source)
    call work%wait()
    call work%release()
    call in(1)%get(number)
    call check(number == source .and. source == mod(rank + ranks - 1, ranks), "a list of objects")
    call in%release()
    call out%release()
  end subroutine
end program objects_test
