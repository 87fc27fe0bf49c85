//! Device meshes: the ranks of a group in rows and columns of any number of dimensions, with a
//! group along each of them.
use crate::error::{c_int, c_text, c_text_or_null, c_texts, check, pointer, Error, Result, Status};
use crate::gate::Gate;
use crate::group::Group;
use crate::init::GroupOptions;
use crate::new_group::c_ranks;
use crate::raw;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A mesh of ranks (torch: `DeviceMesh`). It is given back when it is dropped; its groups live as
/// long as anything holds them.
pub struct Mesh {
    handle: *mut raw::tutti_mesh,
    gates: Arc<Mutex<Gates>>,
}

unsafe impl Send for Mesh {}
unsafe impl Sync for Mesh {}

/// One gate for each dimension of a mesh and of its slices: the group along it is asked for many
/// times, each time with a new handle.
type Gates = HashMap<Along, Arc<Gate>>;

/// A dimension of a mesh and of its slices: by its number only where it has no name.
#[derive(PartialEq, Eq, Hash)]
enum Along {
    Number(usize),
    Name(String),
}

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

impl Dim<'_> {
    fn to_c(self) -> Result<(i32, Option<CString>)> {
        Ok(match self {
            Dim::Only => (-1, None),
            Dim::Number(number) => (c_int(number, "dim")?, None),
            Dim::Name(name) => (-1, Some(c_text(name, "dim")?)),
        })
    }
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
        device_type: &str,
        shape: &[usize],
        dim_names: &[&str],
        options: GroupOptions,
    ) -> Result<Mesh> {
        let device = c_text(device_type, "device_type")?;
        let (shape, names) = (c_ranks(shape, "shape")?, c_texts(dim_names, "dim_names")?);
        let (places, options, mut handle) = (pointers(&names), options.to_c(), null_mut());
        let place = names_for(&places, shape.len())?;
        check(|error| unsafe {
            let parent = group.map_or(raw::TUTTI_GROUP_WORLD, Group::raw);
            let (device, ndim, options) = (device.as_ptr(), shape.len(), &options);
            let (shape, out) = (shape.as_ptr(), &mut handle);
            raw::tutti_init_device_mesh(parent, device, shape, ndim, place, options, out, error)
        })?;
        Ok(Mesh { handle, gates: Arc::default() })
    }

    /// Makes a mesh of groups that are there already, one for each dimension: the ranks that differ
    /// from this one in that dimension alone. `ranks` are the mesh's, row by row. Nothing is sent.
    pub fn from_group(
        groups: &[&Group],
        device_type: &str,
        ranks: &[usize],
        shape: &[usize],
        dim_names: &[&str],
    ) -> Result<Mesh> {
        let device = c_text(device_type, "device_type")?;
        let names = c_texts(dim_names, "dim_names")?;
        let (ranks, shape) = (c_ranks(ranks, "ranks")?, c_ranks(shape, "shape")?);
        let (places, mut handle) = (pointers(&names), null_mut());
        let place = names_for(&places, shape.len())?;
        check_layout(groups, &ranks, &shape)?;
        let handles: Vec<_> = groups.iter().map(|group| group.raw()).collect();
        check(|error| unsafe {
            let (handles, device, ndim) = (handles.as_ptr(), device.as_ptr(), shape.len());
            let (ranks, shape, out) = (ranks.as_ptr(), shape.as_ptr(), &mut handle);
            raw::tutti_mesh_from_group(handles, device, ranks, shape, ndim, place, out, error)
        })?;
        let mesh = Mesh { handle, gates: Arc::default() };
        for (number, group) in groups.iter().enumerate() {
            mesh.gates().insert(mesh.along(Dim::Number(number)), group.gate().clone());
        }
        Ok(mesh)
    }

    fn gates(&self) -> MutexGuard<'_, Gates> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn along(&self, dim: Dim<'_>) -> Along {
        let number = match dim {
            Dim::Only => 0,
            Dim::Number(number) => number,
            Dim::Name(name) => return Along::Name(name.to_owned()),
        };
        self.dim_name(number).map_or(Along::Number(number), |name| Along::Name(name.to_owned()))
    }

    fn adopt_group(&self, handle: *mut raw::tutti_group, dim: Dim<'_>) -> Option<Group> {
        let gate = self.gates().entry(self.along(dim)).or_default().clone();
        unsafe { Group::adopt(handle, gate) }
    }

    /// The group along one dimension, the same each time; `None` on a rank that is not in the mesh.
    pub fn group<'a>(&self, dim: impl Into<Dim<'a>>) -> Result<Option<Group>> {
        let (dim, mut group) = (dim.into(), null_mut());
        let (number, name) = dim.to_c()?;
        check(|error| unsafe {
            raw::tutti_mesh_get_group(self.handle, number, pointer(&name), &mut group, error)
        })?;
        Ok(self.adopt_group(group, dim))
    }

    /// The groups along all dimensions; empty on a rank that is not in the mesh.
    pub fn all_groups(&self) -> Result<Vec<Group>> {
        let mut groups = vec![null_mut(); self.ndim()];
        check(|error| unsafe {
            let (out, count) = (groups.as_mut_ptr(), groups.len());
            raw::tutti_mesh_get_all_groups(self.handle, out, count, error)
        })?;
        let groups = groups.into_iter().enumerate();
        Ok(groups.filter_map(|(dim, group)| self.adopt_group(group, Dim::Number(dim))).collect())
    }

    /// This rank's place along one dimension; `None` if it is not in the mesh.
    pub fn local_rank<'a>(&self, dim: impl Into<Dim<'a>>) -> Result<Option<usize>> {
        let ((number, name), mut rank) = (dim.into().to_c()?, -1);
        check(|error| unsafe {
            raw::tutti_mesh_get_local_rank(self.handle, number, pointer(&name), &mut rank, error)
        })?;
        Ok(usize::try_from(rank).ok())
    }

    /// This rank's place along all dimensions; `None` if it is not in the mesh.
    pub fn coordinate(&self) -> Result<Option<Vec<usize>>> {
        let mut places = vec![-1; self.ndim()];
        check(|error| unsafe {
            let (out, count) = (places.as_mut_ptr(), places.len());
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
        let count = self.ndim();
        self.numbers(count, |out, error| unsafe {
            raw::tutti_mesh_shape(self.handle, out, count, error)
        })
    }

    /// The global ranks of the mesh, row by row.
    pub fn ranks(&self) -> Result<Vec<usize>> {
        let count = self.size();
        self.numbers(count, |out, error| unsafe {
            raw::tutti_mesh_ranks(self.handle, out, count, error)
        })
    }

    fn numbers(
        &self,
        count: usize,
        call: impl FnOnce(*mut i32, *mut raw::tutti_error) -> Status,
    ) -> Result<Vec<usize>> {
        let mut numbers = vec![0; count];
        check(|error| call(numbers.as_mut_ptr(), error))?;
        Ok(numbers.into_iter().map(|number| number as usize).collect())
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
            let (place, count) = (names.0.as_ptr(), names.0.len());
            raw::tutti_mesh_slice(self.handle, place, count, &mut handle, error)
        })?;
        Ok(Mesh { handle, gates: self.gates.clone() })
    }

    /// The mesh in one dimension, with a group of all its ranks. All ranks of the mesh call it; it
    /// is then known there by its name, or if that is `None` by the dimensions' joined by "_".
    pub fn flatten(&self, dim_name: Option<&str>, options: GroupOptions) -> Result<Mesh> {
        let name = c_text_or_null(dim_name, "dim_name")?;
        let (options, mut handle) = (options.to_c(), null_mut());
        check(|error| unsafe {
            raw::tutti_mesh_flatten(self.handle, pointer(&name), &options, &mut handle, error)
        })?;
        Ok(Mesh { handle, gates: self.gates.clone() })
    }
}

/// C reads as many as the shape says.
fn check_layout(groups: &[&Group], ranks: &[i32], shape: &[i32]) -> Result<()> {
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
