//! Groups of processes that know each other by handles.
use crate::bytes::Bytes;
use crate::create_group::member;
use crate::error::{c_text_or_null, c_texts, check, pointer, Result};
use crate::group::{world, Group};
use crate::init::GroupOptions;
use crate::raw;
use crate::store::pointers;
use std::ptr::null_mut;

/// The text by which other processes reach this one in [`reconfigure_world`] and
/// [`Group::reconfigure`]: pass it to them in any way, for instance by a store or a file. It stays
/// the same until the process ends. The first call opens a port.
pub fn reconfigure_handle() -> Result<String> {
    let mut handle = null_mut();
    check(|error| unsafe { raw::tutti_get_reconfigure_handle(&mut handle, error) })?;
    Ok(String::from_utf8_lossy(&unsafe { Bytes::adopt(handle) }).into_owned())
}

/// Makes the group of all ranks as [`Group::reconfigure`] makes one, whether this process had one or
/// not. Every [`world`] there is has the new rank and size then.
pub fn reconfigure_world<S: AsRef<str>>(
    id: u64,
    handles: &[S],
    backend: Option<&str>,
    options: GroupOptions<'_>,
) -> Result<Group> {
    reconfigure(raw::TUTTI_GROUP_WORLD, id, handles, backend, options)?;
    world()
}

impl Group {
    /// Makes a group of the processes whose handles are listed, in the order of the new ranks:
    /// those that are left of the group `before`, and new ones, which have none. So a group shrinks,
    /// grows or replaces its dead in one call, without a store. Each listed process makes the call
    /// with the same handles, backend and [`GroupOptions::reproducible`], and with an id with which
    /// none of them has called before; it returns when all have.
    ///
    /// If it fails, `before` is as it was: call again with a new id. Afterwards calls on `before`
    /// fail with [`Status::ABORTED`](crate::Status::ABORTED); it is still to be destroyed. If it is
    /// the group of all ranks, the new group is that, as with [`reconfigure_world`].
    pub fn reconfigure<S: AsRef<str>>(
        before: Option<&Group>,
        id: u64,
        handles: &[S],
        backend: Option<&str>,
        options: GroupOptions<'_>,
    ) -> Result<Group> {
        let before = before.map_or(raw::TUTTI_GROUP_NON_MEMBER, Group::raw);
        member(reconfigure(before, id, handles, backend, options)?)
    }
}

/// The new group, which takes the place of the one of all ranks if that is `before`.
fn reconfigure<S: AsRef<str>>(
    before: *mut raw::tutti_group,
    id: u64,
    handles: &[S],
    backend: Option<&str>,
    options: GroupOptions<'_>,
) -> Result<*mut raw::tutti_group> {
    let is_world = before == raw::TUTTI_GROUP_WORLD;
    let (texts, backend) = (c_texts(handles, "handles")?, c_text_or_null(backend, "backend")?);
    let handles = pointers(&texts);
    let (description, options) = (options.c_description()?, options.to_c()?);
    let mut made = before;
    check(|error| unsafe {
        let (list, count) = (handles.as_ptr(), handles.len() as i64);
        let (backend, name) = (pointer(&backend), pointer(&description));
        let out = if is_world { null_mut() } else { &mut made as *mut _ };
        raw::tutti_group_reconfigure(before, id, list, count, backend, name, &options, out, error)
    })?;
    Ok(made)
}
