//! Process groups: what they are, and how calls are made on them.
use crate::bytes::Bytes;
use crate::device::Device;
use crate::error::{c_text, check, static_text, Error, Result, Status};
use crate::object_options::ObjectOptions;
use crate::raw::{self, DeviceType};
use crate::timeout::Timeout;
use std::ffi::CStr;
use std::fmt;
use std::mem::size_of;
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A process group. It is copied by reference; when the last copy is dropped, a group that was not
/// destroyed is ended in the background. The group of all ranks stays until [`Group::destroy`].
///
/// Ranks in calls are ranks of the group, from 0 to [`Group::world_size`] - 1. Any thread may call;
/// collectives take effect in the order in which they arrive, which must be the same on all ranks.
#[derive(Clone)]
pub struct Group {
    own: Arc<Own>,
    timeout: Timeout,
    stream: Stream,
    tag: Option<Arc<CStr>>,
    objects: ObjectOptions,
}

/// A stream of a device, as C knows it; NULL: none.
#[derive(Clone, Copy)]
struct Stream(*mut c_void);

// It is only handed on.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

struct Own {
    handle: *mut raw::tutti_group,
    rank: usize,
    world_size: usize,
}

unsafe impl Send for Own {}
unsafe impl Sync for Own {}

impl Drop for Own {
    fn drop(&mut self) {
        unsafe { raw::tutti_group_release(self.handle) } // which leaves the world alone
    }
}

/// The arguments of a call in C beside its own.
pub(crate) struct Call {
    pub group: *mut raw::tutti_group,
    pub options: *const raw::tutti_call_options,
    pub work: *mut *mut raw::tutti_work,
    pub error: *mut raw::tutti_error,
}

/// The group of all ranks, which [`init_process_group`](crate::init_process_group) made.
pub fn world() -> Result<Group> {
    let group = unsafe { Group::adopt(raw::TUTTI_GROUP_WORLD) };
    group.ok_or_else(|| {
        Error::new(Status::INVALID_HANDLE, "there is no default group: call init_process_group")
    })
}

impl Group {
    /// Takes over what C has handed out; nothing if this process is not a member.
    ///
    /// # Safety
    /// The handle is owned, and nobody else's.
    pub(crate) unsafe fn adopt(handle: *mut raw::tutti_group) -> Option<Group> {
        let rank = usize::try_from(raw::tutti_get_rank(handle)).ok();
        let world_size = usize::try_from(raw::tutti_get_world_size(handle)).ok();
        let own = rank
            .zip(world_size)
            .map(|(rank, world_size)| Arc::new(Own { handle, rank, world_size }));
        if own.is_none() {
            raw::tutti_group_release(handle);
        }
        let (timeout, objects) = Default::default();
        own.map(|own| Group { own, timeout, stream: Stream(null_mut()), tag: None, objects })
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_group {
        self.own.handle
    }

    pub(crate) fn object_options(&self) -> &ObjectOptions {
        &self.objects
    }

    /// This group, with another timeout for the calls that are made through it.
    pub fn with_timeout(&self, timeout: impl Into<Timeout>) -> Group {
        Group { timeout: timeout.into(), ..self.clone() }
    }

    /// This group, with a stream of a device for the collectives and messages that are made through
    /// it: a `cudaStream_t` or `CUstream`, as cudarc's `cu_stream()` and cust's `as_inner()` give
    /// it; NULL: none. Calls of [`Group::on_device`] return when they are enqueued on it, and what
    /// is enqueued on it later finds their results. Works of [`Group::start`] begin behind what is
    /// enqueued on it now. A [`Reducer`](crate::Reducer) follows it. Calls with memory of the CPU are
    /// refused.
    ///
    /// # Safety
    /// The stream is one of the device that the memory is on, and there as long as it is used: by a
    /// reducer until that is dropped.
    pub unsafe fn with_stream(&self, stream: *mut c_void) -> Group {
        Group { stream: Stream(stream), ..self.clone() }
    }

    /// This group, with a name for the collectives and messages that are made through it: errors, hooks,
    /// traces and the flight recorder show it, which keeps its first 32 bytes.
    pub fn with_tag_name(&self, tag_name: &str) -> Result<Group> {
        let tag = Some(Arc::from(c_text(tag_name, "tag_name")?.as_c_str()));
        Ok(Group { tag, ..self.clone() })
    }

    /// The timeout of [`Group::with_timeout`].
    pub(crate) fn limit(&self) -> Timeout {
        self.timeout
    }

    /// The stream of [`Group::with_stream`].
    pub(crate) fn stream(&self) -> *mut c_void {
        self.stream.0
    }

    /// This group, with the default options of calls.
    pub(crate) fn plain(&self) -> Group {
        let (timeout, stream) = (Timeout::Default, Stream(null_mut()));
        Group { timeout, stream, tag: None, ..self.clone() }
    }

    /// This group, with other options for the objects and bytes that are sent through it.
    pub fn with_object_options(&self, objects: ObjectOptions) -> Group {
        Group { objects, ..self.clone() }
    }

    /// Calls C with this group's options.
    pub(crate) fn call<F>(&self, call: F, work: *mut *mut raw::tutti_work) -> Result<()>
    where
        F: FnOnce(&Call) -> Status,
    {
        let options = raw::tutti_call_options {
            struct_size: size_of::<raw::tutti_call_options>() as u32,
            reserved: 0,
            timeout_ms: self.timeout.milliseconds(),
            stream: self.stream.0,
            on_done: None,
            on_done_user: null_mut(),
            tag_name: self.tag.as_ref().map_or(null(), |tag| tag.as_ptr()),
        };
        let is_default =
            options.timeout_ms == 0 && options.stream.is_null() && options.tag_name.is_null();
        let options = if is_default { null() } else { &options as *const _ };
        check(|error| call(&Call { group: self.raw(), options, work, error }))
    }

    pub(crate) fn memory_options(&self) -> raw::tutti_memory_options {
        raw::tutti_memory_options {
            struct_size: size_of::<raw::tutti_memory_options>() as u32,
            device_type: raw::DeviceType::CPU,
            device_index: 0,
            reserved: 0,
            timeout_ms: self.timeout.milliseconds(),
        }
    }

    /// Makes a collective, and returns when it is done.
    pub(crate) fn run(&self, call: impl FnOnce(&Call) -> Status) -> Result<()> {
        self.call(call, null_mut())
    }

    /// Ends a group: what was sent arrives, operations still running fail with
    /// [`Status::ABORTED`]. Every rank calls it, also after a failure; none waits for the others.
    /// The group of all ranks, and one from [`Group::create`], take those made from them along. The
    /// timeout of [`Group::with_timeout`] limits how long it says goodbye.
    pub fn destroy(&self) -> Result<()> {
        let options = raw::tutti_destroy_options {
            struct_size: size_of::<raw::tutti_destroy_options>() as u32,
            reserved: 0,
            timeout_ms: self.timeout.milliseconds(),
        };
        check(|error| unsafe { raw::tutti_destroy_process_group(self.raw(), &options, error) })
    }

    /// The group's name in messages: its description, or a name that the library gave it.
    pub fn name(&self) -> Result<String> {
        let mut name = null_mut();
        check(|error| unsafe { raw::tutti_group_get_name(self.raw(), &mut name, error) })?;
        Ok(String::from_utf8_lossy(&unsafe { Bytes::adopt(name) }).into_owned())
    }

    /// The timeout of the group's operations.
    pub fn timeout(&self) -> Result<Timeout> {
        let mut limit = 0;
        check(|error| unsafe { raw::tutti_group_get_timeout(self.raw(), &mut limit, error) })?;
        Ok(Timeout::from_milliseconds(limit))
    }

    /// The ranks in the group that died, left or were cut off, as far as this rank knows.
    pub fn failed_ranks(&self) -> Result<Vec<usize>> {
        let (mut ranks, mut count) = (vec![0; self.world_size()], 0);
        check(|error| unsafe {
            let (out, room) = (ranks.as_mut_ptr(), ranks.len() as i64);
            raw::tutti_get_failed_ranks(self.raw(), out, room, &mut count, error)
        })?;
        Ok(ranks[..count as usize].iter().map(|&rank| rank as usize).collect())
    }

    /// This process's rank in the group.
    pub fn rank(&self) -> usize {
        self.now(raw::tutti_get_rank, self.own.rank)
    }

    /// How many ranks the group has.
    pub fn world_size(&self) -> usize {
        self.now(raw::tutti_get_world_size, self.own.world_size)
    }

    pub(crate) fn is_world(&self) -> bool {
        self.raw() == raw::TUTTI_GROUP_WORLD
    }

    /// A number that [`Group::shrink`] and [`Group::reconfigure`] change where this is the group of
    /// all ranks; what it was at first if that has ended.
    fn now(
        &self,
        ask: unsafe extern "C" fn(*mut raw::tutti_group) -> i32,
        at_first: usize,
    ) -> usize {
        if !self.is_world() {
            return at_first;
        }
        usize::try_from(unsafe { ask(self.raw()) }).unwrap_or(at_first)
    }

    /// The name of the group's backend, for instance "shm", also where it was chosen; nothing
    /// after the group was destroyed.
    pub fn backend(&self) -> Option<&'static str> {
        unsafe { static_text(raw::tutti_get_backend(self.raw())) }
    }

    /// The name of the backend for the group's slices on a type of device; nothing if the group
    /// refuses them.
    pub fn backend_for_device(&self, device: DeviceType) -> Option<&'static str> {
        unsafe { static_text(raw::tutti_get_backend_for_device(self.raw(), device)) }
    }

    /// The group's backends by type of device, "cpu:gloo,cuda:gloo", with the settings of each: a
    /// text by which another group is made.
    pub fn backend_config(&self) -> Result<String> {
        let mut config = null_mut();
        check(|error| unsafe { raw::tutti_get_backend_config(self.raw(), &mut config, error) })?;
        Ok(String::from_utf8_lossy(&unsafe { Bytes::adopt(config) }).into_owned())
    }

    /// Whether sums of floating-point and complex numbers are exact and rounded once: the same
    /// bits with every backend, size and order of ranks.
    pub fn is_reproducible(&self) -> bool {
        unsafe { raw::tutti_group_is_reproducible(self.raw()) == 1 }
    }

    /// The one device that this rank works on in the group; nothing if it was made without. Calls
    /// with slices of another one are refused.
    pub fn bound_device(&self) -> Result<Option<Device>> {
        let (mut kind, mut index) = (DeviceType::CPU, 0);
        check(|error| unsafe {
            raw::tutti_group_get_bound_device(self.raw(), &mut kind, &mut index, error)
        })?;
        let index = usize::try_from(index).unwrap_or(0);
        Ok((kind != DeviceType::CPU).then(|| Device { kind, index }))
    }

    /// A rank of the group, from its number among all ranks; nothing if it is not a member.
    pub fn group_rank(&self, global_rank: usize) -> Option<usize> {
        let rank = i32::try_from(global_rank).ok()?;
        usize::try_from(unsafe { raw::tutti_get_group_rank(self.raw(), rank) }).ok()
    }

    /// The number among all ranks of a rank of the group; nothing if there is no such rank.
    pub fn global_rank(&self, group_rank: usize) -> Option<usize> {
        let rank = i32::try_from(group_rank).ok()?;
        usize::try_from(unsafe { raw::tutti_get_global_rank(self.raw(), rank) }).ok()
    }

    /// The global ranks of the members, in the order of their ranks in the group (torch:
    /// `get_process_group_ranks`).
    pub fn ranks(&self) -> Result<Vec<usize>> {
        let mut ranks = vec![0; self.world_size()];
        check(|error| unsafe {
            let (out, count) = (ranks.as_mut_ptr(), ranks.len() as i64);
            raw::tutti_get_process_group_ranks(self.raw(), out, count, error)
        })?;
        Ok(ranks.into_iter().map(|rank| rank as usize).collect())
    }

    /// Sets the timeout of the group's operations from the next one on, on this rank.
    pub fn set_timeout(&self, timeout: impl Into<Timeout>) -> Result<()> {
        let limit = timeout.into().milliseconds();
        check(|error| unsafe { raw::tutti_group_set_timeout(self.raw(), limit, error) })
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group(rank {} of {})", self.rank(), self.world_size())
    }
}
