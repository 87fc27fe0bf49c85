//! Collective communication in the shape of torch.distributed: stores to meet at, process groups,
//! collectives that run while the program calculates, messages with tags, values of any shape.
//!
//! ```no_run
//! use tutti::{init_process_group, Init, ReduceOp};
//!
//! fn main() -> tutti::Result<()> {
//!     let world = init_process_group(&Init::default())?; // tuttirun tells where to meet
//!     let mut sum = [world.rank() as f64 + 1.0];
//!     world.all_reduce(&mut sum, ReduceOp::SUM)?;
//!     println!("rank {} of {}: sum = {}", world.rank(), world.world_size(), sum[0]);
//!     world.destroy()
//! }
//! ```
//!
//! Calls on a [`Group`] return when they are done. [`Group::start`] has the same calls for memory
//! that they own until they are done, [`scope`] for memory that they borrow, and
//! [`Group::on_device`] for memory of devices.
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

mod array;
mod bucket;
mod buffer;
mod builder;
mod byte_collectives;
mod bytes;
mod callback;
mod calls;
mod coalesce;
mod collectives;
mod create_group;
mod device;
mod element;
mod error;
mod group;
mod hooks;
mod init;
mod map;
mod memory;
mod mesh;
mod multigpu;
mod new_group;
mod node;
mod object;
mod object_calls;
mod object_collectives;
mod object_options;
mod on_device;
mod outgoing;
mod outstanding;
mod pass;
mod point_to_point;
mod reconfigure;
mod reduce_op;
mod reducer;
mod scope;
mod shrink;
mod spawn;
mod start;
mod start_collectives;
mod store;
mod store_queries;
mod timeout;
mod value;
mod version;
mod work;

pub use array::Array;
pub use bucket::{Bucket, BucketMut};
pub use buffer::Buffer;
pub use builder::ObjectBuilder;
pub use bytes::Bytes;
pub use device::{Device, DeviceBuffer, DeviceSlice, DeviceType};
pub use element::{bf16, dtype_size, f16, Bool, Complex, Dtype, Element};
pub use error::{status_name, Error, Result, Status};
pub use group::{world, Group};
pub use hooks::{Hooks, HooksId, Operand, Operation};
pub use init::{
    check_backend_available, default_backend_for_device, init_process_group,
    init_process_group_with_store, is_backend_available, is_initialized, is_torchelastic_launched,
    pg_count, GroupOptions, Init,
};
pub use map::{Key, Map};
pub use memory::{Readable, Writable};
pub use mesh::{Dim, Mesh};
pub use new_group::NewGroupOptions;
pub use node::Node;
pub use object::Object;
pub use object_options::{Compress, ObjectOptions};
pub use on_device::OnDevice;
pub use outgoing::Outgoing;
pub use pass::{Finishing, Gradient, Pass};
pub use point_to_point::{P2pOp, Source};
pub use raw::ObjectKind;
pub use reconfigure::{reconfigure_handle, reconfigure_world};
pub use reduce_op::{CustomOp, Operator, ReduceOp};
pub use reducer::{Compression, Parameter, PowerSgdOptions, Reducer, ReducerOptions};
pub use scope::{scope, Scope};
pub use shrink::ShrinkOptions;
pub use spawn::{spawn, spawn_and_go_on, SpawnOptions, Spawned};
pub use start::Start;
pub use store::{Store, TcpStoreOptions};
pub use timeout::Timeout;
/// What the C headers declare, as they declare it. Every function is unsafe to call.
pub use tutti_sys as raw;
pub use value::{Timestamp, Value};
pub use version::{
    debug_level, reset_log_callback, set_debug_level, set_debug_level_from_env, set_log_callback,
    settings, version, version_string, DebugLevel, LogLevel,
};
pub use work::{wait_all, wait_any, Pending, Work};

/// The programs of README.md, which are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// And those that are not to be.
#[cfg(doctest)]
#[doc = include_str!("../tests/must_not_compile.md")]
mod must_not_compile {}
