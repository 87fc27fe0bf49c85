//! Going on after a rank has died, and ending a group's operations.
use crate::error::{c_text_or_null, check, pointer, Error, Result};
use crate::group::Group;
use crate::new_group::c_ranks;
use crate::raw;
use crate::timeout::Timeout;
use crate::work::{Handle, Work};
use std::mem::size_of;
use std::ptr::null_mut;

/// Options of [`Group::shrink`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ShrinkOptions<'a> {
    /// Running operations of the group end first, on all ranks; else they go on until the new group
    /// is made.
    pub abort: bool,
    /// The group's name in errors; the other group's and the new size if it is not given.
    pub description: Option<&'a str>,
    /// The fewest ranks that the new group may have: if fewer are left, none is made. The highest of
    /// all ranks counts.
    pub min_size: usize,
    /// The timeout of making the group; the other group's by default.
    pub timeout: Timeout,
}

impl ShrinkOptions<'_> {
    fn to_c(self) -> Result<raw::tutti_shrink_options> {
        let too_large = |_| Error::argument(format!("options.min_size is {}", self.min_size));
        Ok(raw::tutti_shrink_options {
            struct_size: size_of::<raw::tutti_shrink_options>() as u32,
            min_size: u32::try_from(self.min_size).map_err(too_large)?,
            timeout_ms: self.timeout.milliseconds(),
        })
    }
}

impl Group {
    /// Makes a group of those ranks of this one that are alive, whether or not it has failed, and
    /// without a store; ranks may also die during the call. Every rank that is alive and not
    /// excluded calls it; those to exclude, the same on all of them, shall not be members though they
    /// may be alive. All get the same group, or all get an error and may call again. The ranks keep
    /// their order.
    ///
    /// Afterwards calls on this group fail with [`Status::ABORTED`](crate::Status::ABORTED), on the
    /// excluded ranks as well. If it was made from another group, destroy it any time; if it is a
    /// first one, the new group belongs to it, so destroy it last. The group of all ranks is another
    /// one afterwards: what is returned, and every [`world`](crate::world) there is, have its rank
    /// and size then.
    pub fn shrink(&self, ranks_to_exclude: &[usize], options: &ShrinkOptions<'_>) -> Result<Group> {
        let excluded = c_ranks(ranks_to_exclude, "ranks_to_exclude")?;
        let description = c_text_or_null(options.description, "options.description")?;
        let flags = if options.abort { raw::TUTTI_SHRINK_ABORT } else { raw::TUTTI_SHRINK_DEFAULT };
        let (options, mut made) = (options.to_c()?, null_mut());
        check(|error| unsafe {
            let out = if self.is_world() { null_mut() } else { &mut made as *mut _ };
            raw::tutti_shrink_group(
                self.raw(),
                excluded.as_ptr(),
                excluded.len() as i64,
                flags,
                pointer(&description),
                &options,
                out,
                error,
            )
        })?;
        if self.is_world() {
            return Ok(self.plain());
        }
        let gone = || Error::argument("the new group has ended already");
        unsafe { Group::adopt(made) }.ok_or_else(gone)
    }

    /// The bits that are set in the flags of all ranks of this group that are alive, for instance
    /// whether a step has succeeded everywhere. It works whether or not the group has failed; ranks
    /// may also die during the call, and the flags of such a rank may count. Every rank that is alive
    /// calls it, and all get the same. The timeout is that of [`Group::with_timeout`].
    pub fn agree(&self, flags: u64) -> Result<u64> {
        let (mut agreed, limit) = (flags, self.limit().milliseconds());
        check(|error| unsafe { raw::tutti_group_agree(self.raw(), &mut agreed, limit, error) })?;
        Ok(agreed)
    }

    /// Ends the group on all its ranks: running operations end, and later ones fail, with
    /// [`Status::ABORTED`](crate::Status::ABORTED) and the reason. So a rank that has found that the
    /// group cannot go on frees the others from waiting for it. The group can then be shrunk. Does
    /// nothing if the group has failed before.
    pub fn revoke(&self, reason: Option<&str>) -> Result<()> {
        let reason = c_text_or_null(reason, "reason")?;
        check(|error| unsafe { raw::tutti_group_revoke(self.raw(), pointer(&reason), error) })
    }

    /// Ends the operations of this rank on the group at once, with
    /// [`Status::ABORTED`](crate::Status::ABORTED), and waits for no other rank. Memory is free again
    /// when its operation has ended, which takes milliseconds. Those of the other ranks fail as with
    /// [`Group::revoke`]. Does nothing if the group has failed before.
    pub fn abort(&self) -> Result<()> {
        check(|error| unsafe { raw::tutti_group_abort(self.raw(), error) })
    }

    /// A work that ends when the group cannot go on: its error says why, and names the rank. So a
    /// program learns of a death without an operation on the group, for instance by [`Work::then`]
    /// or [`wait_any`](crate::wait_any). If the group is destroyed first, it ends with
    /// [`Status::ABORTED`](crate::Status::ABORTED).
    pub fn failure(&self) -> Result<Work<'static, ()>> {
        let mut work = null_mut();
        check(|error| unsafe { raw::tutti_group_failure(self.raw(), &mut work, error) })?;
        Ok(Work::new(Handle::new(work), Box::new(|_| Ok(())), None))
    }
}
