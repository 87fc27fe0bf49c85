//! Groups that are made from other groups.
use crate::device::{self, Device};
use crate::error::{c_int, c_text_or_null, check, pointer, Result};
use crate::group::Group;
use crate::raw;
use crate::timeout::Timeout;
use std::mem::size_of;
use std::ptr::{null, null_mut};

/// Options of [`Group::new_group`] and [`Group::split_group`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NewGroupOptions<'a> {
    /// As in [`Init`](crate::Init); that of the other group if it is not given.
    pub backend: Option<&'a str>,
    /// The group's name in errors; its parent's name and a number if it is not given.
    pub description: Option<&'a str>,
    /// The one device that this rank works on ([`Group::bound_device`]); that of the other group
    /// if it is not given.
    pub device: Option<Device>,
    /// Only the members of the new group call, and only they wait for each other.
    pub use_local_synchronization: bool,
    /// The timeout of making the group, and the default of its operations; the other group's by
    /// default.
    pub timeout: Timeout,
    /// See [`Group::is_reproducible`]; as the other group if it is not given.
    pub reproducible: Option<bool>,
}

impl NewGroupOptions<'_> {
    fn to_c(self) -> Result<raw::tutti_new_group_options> {
        let (device_type, device_index) = device::to_c(self.device)?;
        Ok(raw::tutti_new_group_options {
            struct_size: size_of::<raw::tutti_new_group_options>() as u32,
            use_local_synchronization: self.use_local_synchronization.into(),
            timeout_ms: self.timeout.milliseconds(),
            reproducible: match self.reproducible {
                None => raw::TUTTI_AS_PARENT,
                Some(true) => raw::TUTTI_REPRODUCIBLE,
                Some(false) => raw::TUTTI_NOT_REPRODUCIBLE,
            },
            device_type,
            device_index,
            reserved: 0,
        })
    }
}

/// Ranks for C; `argument` names the one that is too large.
pub(crate) fn c_ranks(ranks: &[usize], argument: &str) -> Result<Vec<i32>> {
    let name = |index| format!("{argument}[{index}]");
    ranks.iter().enumerate().map(|(index, &rank)| c_int(rank, &name(index))).collect()
}

fn member(group: *mut raw::tutti_group) -> Option<Group> {
    unsafe { Group::adopt(group) }
}

impl Group {
    /// Makes a group of some ranks of this one, in the order of their ranks here; `None` is all.
    /// Every rank calls it with the same arguments, in the same order among such calls, and those
    /// that are not members receive `None`.
    pub fn new_group(
        &self,
        ranks: Option<&[usize]>,
        options: &NewGroupOptions<'_>,
    ) -> Result<Option<Group>> {
        let backend = c_text_or_null(options.backend, "options.backend")?;
        let description = c_text_or_null(options.description, "options.description")?;
        let ranks = ranks.map(|ranks| c_ranks(ranks, "ranks")).transpose()?;
        let count = ranks.as_ref().map_or(0, |ranks| ranks.len() as i64);
        let place = ranks.as_ref().map_or(null(), |ranks| ranks.as_ptr());
        let (options, mut made) = (options.to_c()?, null_mut());
        check(|error| unsafe {
            let (group, options, out) = (self.raw(), &options, &mut made);
            let (backend, description) = (pointer(&backend), pointer(&description));
            raw::tutti_new_group(group, place, count, backend, description, options, out, error)
        })?;
        Ok(member(made))
    }

    /// Makes several groups that share no rank, in one step; every rank calls it with the same
    /// lists, and receives the group it is in.
    pub fn split_group(
        &self,
        groups: &[&[usize]],
        options: &NewGroupOptions<'_>,
    ) -> Result<Option<Group>> {
        if options.backend.is_some() {
            let message = "options.backend is given; groups that are split have their parent's";
            return Err(crate::Error::new(crate::Status::INVALID_ARGUMENT, message));
        }
        let description = c_text_or_null(options.description, "options.description")?;
        let ranks = c_ranks(&groups.concat(), "groups")?;
        let sizes: Vec<i64> = groups.iter().map(|ranks| ranks.len() as i64).collect();
        let (options, mut made) = (options.to_c()?, null_mut());
        check(|error| unsafe {
            let (description, options, out) = (pointer(&description), &options, &mut made);
            raw::tutti_split_group(
                self.raw(),
                ranks.as_ptr(),
                ranks.len() as i64,
                sizes.as_ptr(),
                sizes.len() as i64,
                description,
                options,
                out,
                error,
            )
        })?;
        Ok(member(made))
    }
}
