!> Typed values that every language understands: nil, logical, integer, real, text, bytes, lists,
!> maps, points in time and arrays. An object is built once, front to back, and then only read.
!> The values in it are numbered in the order in which they were added: the outermost one is node
!> 0, which is what every call means that is given no node.
module tutti_objects
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tutti_constants, only: tutti_error, tutti_object_item, tutti_object_options
  use tutti_base
  use tutti_functions
  implicit none
  private
  public :: tutti_object

  !> A handle of an object: a value that may be copied, and is released once.
  type :: tutti_object
    integer(c_intptr_t) :: handle = 0
  contains
    ! Building.
    procedure, private :: put_named, put_numbered
    procedure :: add, add_nil, add_key, add_uint64, add_bytes, add_timestamp, add_array
    procedure :: add_elements, add_items, add_object, begin_list, begin_map, end
    !> put(key, value): adds a key, character or integer, and its value to the map that is open.
    generic :: put => put_named, put_numbered
    ! Reading.
    procedure, private :: find_named, find_numbered
    procedure, private :: get_logical, get_int32, get_int64, get_real32, get_real64, get_text
    procedure, private :: get_bytes
    procedure :: kind => kind_of
    procedure :: length, next, at
    !> find(key, node): the value of a character or integer key of a map: its node, or -1 if there
    !> is no such key.
    generic :: find => find_named, find_numbered
    !> get(value, node): reads a logical, an integer, a real (from an integer, too, if it is exact),
    !> a text or bytes; the last two into allocatable variables.
    generic :: get => get_logical, get_int32, get_int64, get_real32, get_real64, get_text, get_bytes
    procedure :: get_uint64, get_timestamp, array_shape, get_array, get_elements, read
    ! All of it.
    procedure :: equal, copy, to_json, encode
    procedure :: release
  end type

  interface
    !> Adds a value: logical, integer, real or character of any kind that C has. Character values
    !> lose their trailing blanks; an integer or a character is a key where a key is due.
    module subroutine add(self, value, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      class(*), intent(in) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds a key and its value to the map that is open.
    module subroutine put_named(self, key, value, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      character(*), intent(in) :: key
      class(*), intent(in) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds an integer key and its value to the map that is open.
    module subroutine put_numbered(self, key, value, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      integer, intent(in) :: key
      class(*), intent(in) :: value
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds bytes, copied: the memory of an array of any kind.
    module subroutine add_bytes(self, data, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(*), dimension(..), target, asynchronous, intent(in) :: data
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds a point in time: seconds since 1970-01-01 00:00 UTC, and nanoseconds after it.
    module subroutine add_timestamp(self, seconds, nanoseconds, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      integer(int64), intent(in) :: seconds
      integer, optional, intent(in) :: nanoseconds
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds an array of any kind and rank, copied. Its memory stays as it is, so other languages see
    !> the extents in reverse: an array (3,2) is 2 rows of 3 to them.
    module subroutine add_array(self, array, dtype, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(*), dimension(..), target, asynchronous, intent(in) :: array
      integer, optional, intent(in) :: dtype
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds each element of an array to the list that is open.
    module subroutine add_elements(self, array, dtype, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(*), dimension(..), target, asynchronous, intent(in) :: array
      integer, optional, intent(in) :: dtype
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds many values with one call, in the order in which read gives them, copied.
    module subroutine add_items(self, items, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(tutti_object_item), intent(in) :: items(:)
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Adds a copy of a value of another object; `node` absent: all of it.
    module subroutine add_object(self, from, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(tutti_object), intent(in) :: from
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine
  end interface

  interface
    !> The kind of a value: TUTTI_OBJECT_NIL, TUTTI_OBJECT_MAP, ...; -1 if there is no such node.
    module integer function kind_of(self, node)
      class(tutti_object), intent(in) :: self
      integer(int64), optional, intent(in) :: node
    end function

    !> How much is in a value: values of a list, pairs of a map, bytes of a text or bytes, elements
    !> of an array; -1 if there is no such node.
    module function length(self, node) result(count)
      class(tutti_object), intent(in) :: self
      integer(int64), optional, intent(in) :: node
      integer(int64) :: count
    end function

    !> The node behind a value and all it contains; -1 if there is no such node. The first value
    !> inside node n is node n + 1; in a map, keys and values alternate.
    module function next(self, node) result(behind)
      class(tutti_object), intent(in) :: self
      integer(int64), optional, intent(in) :: node
      integer(int64) :: behind
    end function

    module function find_named(self, key, node) result(found)
      class(tutti_object), intent(in) :: self
      character(*), intent(in) :: key
      integer(int64), optional, intent(in) :: node
      integer(int64) :: found
    end function

    module function find_numbered(self, key, node) result(found)
      class(tutti_object), intent(in) :: self
      integer, intent(in) :: key
      integer(int64), optional, intent(in) :: node
      integer(int64) :: found
    end function

    !> The value at a place, from 1 on, of a list: its node, or -1 if there is none.
    module function at(self, index, node) result(found)
      class(tutti_object), intent(in) :: self
      integer, intent(in) :: index
      integer(int64), optional, intent(in) :: node
      integer(int64) :: found
    end function

    module subroutine get_int32(self, value, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      integer(int32), intent(out) :: value
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine get_real32(self, value, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      real(real32), intent(out) :: value
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine get_text(self, value, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      character(:), allocatable, intent(out) :: value
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    module subroutine get_bytes(self, value, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      integer(int8), allocatable, intent(out) :: value(:)
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> The dtype of an array and its extents, in Fortran's order: what an array to read it into must
    !> have.
    module subroutine array_shape(self, dtype, extents, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      integer, intent(out) :: dtype
      integer(int64), allocatable, intent(out) :: extents(:)
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Copies an array into one of the same type and extents.
    module subroutine get_array(self, array, node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(*), dimension(..), intent(inout) :: array
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Copies as many numbers of a list as the array has elements, the first one of place `first`,
    !> from 1 on; absent: 1.
    module subroutine get_elements(self, array, first, node, dtype, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(*), dimension(..), target, asynchronous, intent(inout) :: array
      integer, optional, intent(in) :: first
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(in) :: dtype
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Reads as many values as `items` has room for, in the order of their nodes, and tells how
    !> many. What they point to is there until the object is released.
    module subroutine read(self, items, count, first, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(tutti_object_item), intent(inout) :: items(:)
      integer, intent(out) :: count
      integer(int64), optional, intent(in) :: first
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine
  end interface

  interface
    !> Whether two values are the same.
    module subroutine equal(self, other, same, node, other_node, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      type(tutti_object), intent(in) :: other
      logical, intent(out) :: same
      integer(int64), optional, intent(in) :: node, other_node
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine

    !> Writes a value as JSON for people: with `indent` spaces for each level, and about `limit`
    !> bytes of it; 0 or absent: one line, all of it.
    module subroutine to_json(self, json, node, indent, limit, ierr, errmsg)
      class(tutti_object), intent(in) :: self
      character(:), allocatable, intent(out) :: json
      integer(int64), optional, intent(in) :: node
      integer, optional, intent(in) :: indent, limit
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
    end subroutine
  end interface
contains
  !> Adds nil.
  wrap tutti_object_add_nil(self) as add_nil

  !> Adds a character key where a key is due.
  wrap tutti_object_add_key(self, key) as add_key

  !> Adds an integer whose 64 bits are read without a sign.
  wrap tutti_object_add_uint64(self, int64 bits) as add_uint64

  !> Begins a list: what is added until end is in it.
  wrap tutti_object_begin_list(self) as begin_list

  !> Begins a map: keys and values are added in turn until end.
  wrap tutti_object_begin_map(self) as begin_map

  !> Ends the list or map that was begun last.
  wrap tutti_object_end(self) as end

  wrap tutti_object_get_bool(self, logical value, [int64 node]) as get_logical

  wrap tutti_object_get_int64(self, int64 value, [int64 node]) as get_int64

  !> Reads an integer from 0 to 2^64 - 1 as 64 bits: those from 2^63 on are negative numbers here.
  wrap tutti_object_get_uint64(self, int64 bits, [int64 node]) as get_uint64

  wrap tutti_object_get_float64(self, value, [int64 node]) as get_real64

  !> Reads a point in time.
  wrap tutti_object_get_timestamp(self, int64 seconds, nanoseconds, [int64 node]) as get_timestamp

  !> Copies a value into an object of its own.
  wrap tutti_object_copy(self, object, [int64 node]) as copy

  !> Writes the object as MessagePack; `options` absent: not compressed.
  wrap tutti_object_encode(self, bytes message, [options]) as encode

  !> Gives an object back, or each of several. What was released, or never made, is passed over.
  impure elemental subroutine release(self)
    class(tutti_object), intent(inout) :: self
    call c_tutti_object_release(self%handle)
    self%handle = 0
  end subroutine
end module tutti_objects
