//! The group of all ranks, and facts of this process.
use crate::device::{self, Device};
use crate::error::{c_int, c_text, c_text_or_null, check, pointer, static_text, Result};
use crate::group::{world, Group};
use crate::raw;
use crate::store::Store;
use crate::timeout::Timeout;
use std::ffi::CString;
use std::mem::size_of;

/// Options of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupOptions<'a> {
    /// The group's name in messages; the library gives it a name if it is not given. A mesh and
    /// [`Mesh::flatten`](crate::Mesh::flatten) do not take one.
    pub description: Option<&'a str>,
    /// The one device that this rank works on ([`Group::bound_device`]); for a mesh: as its group
    /// if it is not given.
    pub device: Option<Device>,
    /// Sums of floating-point and complex numbers are exact and rounded once
    /// ([`Group::is_reproducible`]); the same on all ranks.
    pub reproducible: bool,
    /// The timeout of making the group, and the default of its operations; 30 minutes if it is not
    /// given.
    pub timeout: Timeout,
}

impl GroupOptions<'_> {
    pub(crate) fn c_description(&self) -> Result<Option<CString>> {
        c_text_or_null(self.description, "options.description")
    }

    pub(crate) fn to_c(self) -> Result<raw::tutti_group_options> {
        let (device_type, device_index) = device::to_c(self.device)?;
        Ok(raw::tutti_group_options {
            struct_size: size_of::<raw::tutti_group_options>() as u32,
            reproducible: self.reproducible.into(),
            timeout_ms: self.timeout.milliseconds(),
            device_type,
            device_index,
        })
    }
}

/// How and where the ranks meet; as it is by default, the launcher's environment tells all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Init<'a> {
    /// "tcp", "gloo", "shm", "hierarchy" or "loopback"; the best one for where the ranks are if it
    /// is not given.
    pub backend: Option<&'a str>,
    /// "env://" (if it is not given), "tcp://host:port" or "file:///path".
    pub init_method: Option<&'a str>,
    /// This process's rank; the init method tells it if it is not given.
    pub rank: Option<usize>,
    /// How many ranks there are; the init method tells it if it is not given.
    pub world_size: Option<usize>,
    /// The timeout of the group.
    pub options: GroupOptions<'a>,
}

/// Makes the group of all ranks: every rank calls this once, and all meet.
///
/// ```no_run
/// let world = tutti::init_process_group(&tutti::Init::default())?;
/// let mut sum = [world.rank() as f64];
/// world.all_reduce(&mut sum, tutti::ReduceOp::SUM)?;
/// world.destroy()?;
/// # Ok::<(), tutti::Error>(())
/// ```
pub fn init_process_group(init: &Init<'_>) -> Result<Group> {
    let backend = c_text_or_null(init.backend, "backend")?;
    let method = c_text_or_null(init.init_method, "init_method")?;
    let rank = init.rank.map_or(Ok(-1), |rank| c_int(rank, "rank"))?;
    let size = init.world_size.map_or(Ok(-1), |size| c_int(size, "world_size"))?;
    let (description, options) = (init.options.c_description()?, init.options.to_c()?);
    check(|error| unsafe {
        let (backend, method, name) = (pointer(&backend), pointer(&method), pointer(&description));
        raw::tutti_init_process_group(backend, method, name, rank, size, &options, error)
    })?;
    world()
}

/// Makes the group of all ranks, meeting at a store that the caller has.
pub fn init_process_group_with_store(
    backend: Option<&str>,
    store: &Store,
    rank: usize,
    world_size: usize,
    options: GroupOptions<'_>,
) -> Result<Group> {
    let backend = c_text_or_null(backend, "backend")?;
    let (rank, size) = (c_int(rank, "rank")?, c_int(world_size, "world_size")?);
    let (description, options) = (options.c_description()?, options.to_c()?);
    check(|error| unsafe {
        let (backend, store, name) = (pointer(&backend), store.raw(), pointer(&description));
        raw::tutti_init_process_group_with_store(backend, store, name, rank, size, &options, error)
    })?;
    world()
}

/// Whether the group of all ranks exists in this process.
pub fn is_initialized() -> bool {
    unsafe { raw::tutti_is_initialized() != 0 }
}

/// How many groups this process is in: that of all ranks, and those made from it.
pub fn pg_count() -> usize {
    unsafe { raw::tutti_get_pg_count() as usize }
}

/// Whether torchrun or tuttirun started this process.
pub fn is_torchelastic_launched() -> bool {
    unsafe { raw::tutti_is_torchelastic_launched() != 0 }
}

/// The backend that torch would choose for tensors on a device, "cpu" or "cuda:1".
pub fn default_backend_for_device(device: &str) -> Option<&'static str> {
    let device = c_text(device, "device").ok()?;
    unsafe { static_text(raw::tutti_get_default_backend_for_device(device.as_ptr())) }
}

/// Whether a group can be made with the backend of this name.
pub fn is_backend_available(name: &str) -> bool {
    c_text(name, "name")
        .map_or(false, |name| unsafe { raw::tutti_is_backend_available(name.as_ptr()) != 0 })
}

/// Fails, and says why, if no group can be made with the backend of this name.
pub fn check_backend_available(name: &str) -> Result<()> {
    let name = c_text(name, "name")?;
    check(|error| unsafe { raw::tutti_check_backend_available(name.as_ptr(), error) })
}
