//! Device meshes: the ranks of a group in rows and columns of any number of dimensions, with a
//! group along each of them.
use crate::error::{c_int, c_text, c_text_or_null, c_texts, check, pointer, Error, Result};
use crate::group::Group;
use crate::init::GroupOptions;
use crate::new_group::c_ranks;
use crate::raw::{self, DeviceType};
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::ptr::{null, null_mut};

/// A mesh of ranks (torch: `DeviceMesh`). It is given back when it is dropped; its groups live as
/// long as anything holds them.
pub struct Mesh {
    handle: *mut raw::tutti_mesh,
}

unsafe impl Send for Mesh {}
unsafe impl Sync for Mesh {}

/// Which dimension of a mesh is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim<'a> {
    /// The only one.
    Only,
    /// By its number, from 0.
    Number(usize),
    /// By its name, or by one that [`Mesh::flatten`] gave.
    Name(&'a str),
}

impl From<usize> for Dim<'_> {
    fn from(number: usize) -> Self {
        Dim::Number(number)
    }
}

impl<'a> From<&'a str> for Dim<'a> {
    fn from(name: &'a str) -> Dim<'a> {
        Dim::Name(name)
    }
}

/// Lengths for C; one that is too large is refused there.
fn lengths(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&length| i64::try_from(length).unwrap_or(-1)).collect()
}

fn pointers(names: &[CString]) -> Vec<*const c_char> {
    names.iter().map(|name| name.as_ptr()).collect()
}

/// Where the names are; NULL if there are none. There must be as many as dimensions.
fn names_for(names: &[*const c_char], dims: usize) -> Result<*const *const c_char> {
    match names.len() {
        0 => Ok(null()),
        count if count == dims => Ok(names.as_ptr()),
        count => Err(Error::argument(format!("dim_names has {count} names for {dims} dimensions"))),
    }
}

impl Mesh {
    /// Lays the first ranks of a group out, row by row, and makes the groups along the dimensions
    /// (torch: `init_device_mesh`). Every rank of the group calls it with the same arguments.
    /// `dim_names` may be empty. `None` is the group of all ranks, which is made if there is none.
    pub fn init(
        group: Option<&Group>,
        device_type: DeviceType,
        shape: &[usize],
        dim_names: &[&str],
        options: GroupOptions<'_>,
    ) -> Result<Mesh> {
        let (shape, names) = (lengths(shape), c_texts(dim_names, "dim_names")?);
        let (places, options, mut handle) = (pointers(&names), options.to_c()?, null_mut());
        let place = names_for(&places, shape.len())?;
        check(|error| unsafe {
            let parent = group.map_or(raw::TUTTI_GROUP_WORLD, Group::raw);
            let (ndim, options) = (shape.len() as i32, &options);
            let (shape, device, out) = (shape.as_ptr(), device_type, &mut handle);
            raw::tutti_init_device_mesh(parent, shape, ndim, place, device, options, out, error)
        })?;
        Ok(Mesh { handle })
    }

    /// Makes a mesh of any layout (torch: `DeviceMesh`): `ranks` are ranks of the group, row by row,
    /// in any order. A rank's place along a dimension is its rank in that dimension's group. Every
    /// rank of the group calls it with the same arguments.
    pub fn create(
        group: Option<&Group>,
        device_type: DeviceType,
        ranks: &[usize],
        shape: &[usize],
        dim_names: &[&str],
        options: GroupOptions<'_>,
    ) -> Result<Mesh> {
        let (ranks, shape) = (c_ranks(ranks, "ranks")?, lengths(shape));
        let names = c_texts(dim_names, "dim_names")?;
        let (places, options, mut handle) = (pointers(&names), options.to_c()?, null_mut());
        let place = names_for(&places, shape.len())?;
        check(|error| unsafe {
            raw::tutti_mesh_create(
                group.map_or(raw::TUTTI_GROUP_WORLD, Group::raw),
                ranks.as_ptr(),
                ranks.len() as i64,
                shape.as_ptr(),
                shape.len() as i32,
                place,
                device_type,
                &options,
                &mut handle,
                error,
            )
        })?;
        Ok(Mesh { handle })
    }

    /// Makes a mesh of groups that are there already, one for each dimension: the ranks that differ
    /// from this one in that dimension alone. `ranks` are the mesh's, row by row. Nothing is sent.
    pub fn from_group(
        groups: &[&Group],
        device_type: DeviceType,
        ranks: &[usize],
        shape: &[usize],
        dim_names: &[&str],
        options: GroupOptions<'_>,
    ) -> Result<Mesh> {
        let names = c_texts(dim_names, "dim_names")?;
        let (ranks, shape) = (c_ranks(ranks, "ranks")?, lengths(shape));
        let (places, options, mut handle) = (pointers(&names), options.to_c()?, null_mut());
        let place = names_for(&places, shape.len())?;
        check_layout(groups, &ranks, &shape)?;
        let handles: Vec<_> = groups.iter().map(|group| group.raw()).collect();
        check(|error| unsafe {
            let (groups, ndim, options) = (handles.as_ptr(), shape.len() as i32, &options);
            let (ranks, shape, device, out) =
                (ranks.as_ptr(), shape.as_ptr(), device_type, &mut handle);
            raw::tutti_mesh_from_group(
                groups, ranks, shape, ndim, place, device, options, out, error,
            )
        })?;
        Ok(Mesh { handle })
    }

    /// The number that C has for a dimension; -1 is the only one.
    fn c_dim(&self, dim: Dim<'_>) -> Result<i32> {
        match dim {
            Dim::Only => Ok(-1),
            Dim::Number(number) => c_int(number, "dim"),
            Dim::Name(name) => c_int(self.find_dim(name)?, "dim"),
        }
    }

    /// The number of the dimension of a name, also of one that [`Mesh::flatten`] made.
    pub fn find_dim(&self, name: &str) -> Result<usize> {
        let (name, mut dim) = (c_text(name, "name")?, -1);
        check(|error| unsafe {
            raw::tutti_mesh_find_dim(self.handle, name.as_ptr(), &mut dim, error)
        })?;
        Ok(dim as usize)
    }

    /// The device type that the mesh was made with.
    pub fn device_type(&self) -> DeviceType {
        unsafe { raw::tutti_mesh_device_type(self.handle) }
    }

    /// The group along one dimension, the same each time; `None` on a rank that is not in the mesh.
    pub fn group<'a>(&self, dim: impl Into<Dim<'a>>) -> Result<Option<Group>> {
        let (dim, mut group) = (self.c_dim(dim.into())?, null_mut());
        check(|error| unsafe { raw::tutti_mesh_get_group(self.handle, dim, &mut group, error) })?;
        Ok(unsafe { Group::adopt(group) })
    }

    /// The groups along all dimensions; empty on a rank that is not in the mesh.
    pub fn all_groups(&self) -> Result<Vec<Group>> {
        let mut groups = vec![null_mut(); self.ndim()];
        check(|error| unsafe {
            let (out, count) = (groups.as_mut_ptr(), groups.len() as i64);
            raw::tutti_mesh_get_all_groups(self.handle, out, count, error)
        })?;
        Ok(groups.into_iter().filter_map(|group| unsafe { Group::adopt(group) }).collect())
    }

    /// This rank's place along one dimension; `None` if it is not in the mesh.
    pub fn local_rank<'a>(&self, dim: impl Into<Dim<'a>>) -> Result<Option<usize>> {
        let (dim, mut rank) = (self.c_dim(dim.into())?, -1);
        check(|error| unsafe {
            raw::tutti_mesh_get_local_rank(self.handle, dim, &mut rank, error)
        })?;
        Ok(usize::try_from(rank).ok())
    }

    /// This rank's place along all dimensions; `None` if it is not in the mesh.
    pub fn coordinate(&self) -> Result<Option<Vec<usize>>> {
        let mut places = vec![-1; self.ndim()];
        check(|error| unsafe {
            let (out, count) = (places.as_mut_ptr(), places.len() as i64);
            raw::tutti_mesh_get_coordinate(self.handle, out, count, error)
        })?;
        Ok(places.into_iter().map(|place| usize::try_from(place).ok()).collect())
    }

    /// The global rank of this process, in the mesh or not.
    pub fn rank(&self) -> usize {
        unsafe { raw::tutti_mesh_get_rank(self.handle) as usize }
    }

    /// How many ranks the mesh has.
    pub fn size(&self) -> usize {
        unsafe { raw::tutti_mesh_size(self.handle, -1) as usize }
    }

    /// How many dimensions the mesh has.
    pub fn ndim(&self) -> usize {
        unsafe { raw::tutti_mesh_ndim(self.handle) as usize }
    }

    /// The length of every dimension.
    pub fn shape(&self) -> Result<Vec<usize>> {
        let mut lengths = vec![0; self.ndim()];
        check(|error| unsafe {
            let (out, count) = (lengths.as_mut_ptr(), lengths.len() as i64);
            raw::tutti_mesh_shape(self.handle, out, count, error)
        })?;
        Ok(lengths.into_iter().map(|length| length as usize).collect())
    }

    /// The global ranks of the mesh, row by row.
    pub fn ranks(&self) -> Result<Vec<usize>> {
        let mut ranks = vec![0; self.size()];
        check(|error| unsafe {
            let (out, count) = (ranks.as_mut_ptr(), ranks.len() as i64);
            raw::tutti_mesh_ranks(self.handle, out, count, error)
        })?;
        Ok(ranks.into_iter().map(|rank| rank as usize).collect())
    }

    /// The name of a dimension, if it has one.
    pub fn dim_name(&self, dim: usize) -> Option<&str> {
        let dim = i32::try_from(dim).ok()?;
        let name = unsafe { raw::tutti_mesh_dim_name(self.handle, dim) };
        if name.is_null() {
            return None;
        }
        unsafe { CStr::from_ptr(name) }.to_str().ok()
    }

    /// The part of the mesh that this rank sees along some of its dimensions, in their order
    /// (torch: `mesh["name"]`).
    pub fn slice(&self, dim_names: &[&str]) -> Result<Mesh> {
        let (names, mut handle) = (c_texts(dim_names, "dim_names")?, null_mut());
        let names = (pointers(&names), names);
        check(|error| unsafe {
            let (place, count) = (names.0.as_ptr(), names.0.len() as i64);
            raw::tutti_mesh_slice(self.handle, place, count, &mut handle, error)
        })?;
        Ok(Mesh { handle })
    }

    /// The mesh in one dimension, with a group of all its ranks. All ranks of the mesh call it; it
    /// is then known there by its name, or if that is `None` by the dimensions' joined by "_".
    pub fn flatten(&self, dim_name: Option<&str>, options: GroupOptions<'_>) -> Result<Mesh> {
        let name = c_text_or_null(dim_name, "dim_name")?;
        let (options, mut handle) = (options.to_c()?, null_mut());
        check(|error| unsafe {
            raw::tutti_mesh_flatten(self.handle, pointer(&name), &options, &mut handle, error)
        })?;
        Ok(Mesh { handle })
    }
}

/// C reads as many as the shape says.
fn check_layout(groups: &[&Group], ranks: &[i32], shape: &[i64]) -> Result<()> {
    if groups.len() != shape.len() {
        let (given, dims) = (groups.len(), shape.len());
        let message = format!("groups has {given} groups for {dims} dimensions of shape");
        return Err(Error::argument(message));
    }
    let places = shape
        .iter()
        .try_fold(1_usize, |places, &length| places.checked_mul(usize::try_from(length).ok()?));
    if places != Some(ranks.len()) {
        let given = ranks.len();
        return Err(Error::argument(format!("ranks has {given} ranks, but shape is {shape:?}")));
    }
    Ok(())
}

impl Drop for Mesh {
    fn drop(&mut self) {
        unsafe { raw::tutti_mesh_release(self.handle) }
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh({:?})", self.shape().unwrap_or_default())
    }
}
