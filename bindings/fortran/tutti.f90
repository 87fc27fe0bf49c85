!> tutti for Fortran: collective communication between processes. Ranks begin at 0, as in MPI; what
!> is counted, dimensions and places in lists, begins at 1.
!>
!> Every call that may fail takes `ierr` and `errmsg` last. Without `ierr` a failure stops the
!> program with its message; with it, it receives a status, TUTTI_OK or one of TUTTI_ERR_...
module tutti
  use tutti_constants, &
    c_sum => TUTTI_SUM, c_avg => TUTTI_AVG, c_product => TUTTI_PRODUCT, c_min => TUTTI_MIN, &
    c_max => TUTTI_MAX, c_band => TUTTI_BAND, c_bor => TUTTI_BOR, c_bxor => TUTTI_BXOR, &
    c_premul_sum => TUTTI_PREMUL_SUM, c_world => TUTTI_GROUP_WORLD, &
    c_non_member => TUTTI_GROUP_NON_MEMBER, c_no_timeout => TUTTI_NO_TIMEOUT, &
    c_default_timeout => TUTTI_DEFAULT_TIMEOUT
  use tutti_base, only: TUTTI_NO_TIMEOUT, TUTTI_DEFAULT_TIMEOUT, tutti_status_name, &
                        tutti_last_error, tutti_error_message, tutti_set_error_message, &
                        tutti_c_string, tutti_text
  use tutti_arrays, only: tutti_buffer_of, tutti_pieces, tutti_device_buffer
  use tutti_byte_strings
  use tutti_collectives
  use tutti_group_creation
  use tutti_group_failures
  use tutti_group_reconfiguring
  use tutti_groups
  use tutti_hook_calls
  use tutti_memory
  use tutti_meshes
  use tutti_messages
  use tutti_multigpu
  use tutti_object_creation
  use tutti_object_exchange
  use tutti_objects
  use tutti_piece_collectives
  use tutti_process
  use tutti_reduce_ops
  use tutti_reducers
  use tutti_store_creation
  use tutti_stores
  use tutti_works
  implicit none
  public
  private :: c_sum, c_avg, c_product, c_min, c_max, c_band, c_bor, c_bxor, c_premul_sum
  private :: c_world, c_non_member, c_no_timeout, c_default_timeout
  private :: group_handle, op_number, options_of, tag_of
end module tutti
