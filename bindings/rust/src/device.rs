//! Memory of devices, which the CPU does not read: where it is, and what says so.
use crate::element::Element;
use crate::error::{c_int, check, Error, Result};
use crate::group::Group;
use crate::memory::{buffer_at, check_dtype, CBuffer, Readable, Writable};
use crate::raw;
use std::fmt;
use std::mem::size_of;
use std::ops::Range;
use std::ptr::{null_mut, NonNull};

pub use crate::raw::DeviceType;

/// A device that memory is on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    /// The kind of the device.
    pub kind: DeviceType,
    /// Its number, as the device's own library counts.
    pub index: usize,
}

impl Device {
    /// A device of NVIDIA.
    pub const fn cuda(index: usize) -> Device {
        Device { kind: DeviceType::CUDA, index }
    }

    pub(crate) fn c_index(self) -> Result<i32> {
        c_int(self.index, "device.index")
    }
}

/// A device that a group may be bound to, for C.
pub(crate) fn to_c(device: Option<Device>) -> Result<(DeviceType, i32)> {
    device.map_or(Ok((DeviceType::CPU, 0)), |device| Ok((device.kind, device.c_index()?)))
}

/// Where a buffer is that C has filled in.
pub(crate) fn device_of(buffer: &CBuffer) -> Device {
    Device { kind: buffer.device_type, index: buffer.device_index as usize }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            DeviceType::CPU => "cpu",
            DeviceType::CUDA => "cuda",
            DeviceType::XPU => "xpu",
            _ => return write!(f, "Device({}, {})", self.kind.0, self.index),
        };
        write!(f, "{name}:{}", self.index)
    }
}

/// Elements in the memory of a device. They go in and out where they are: [`Group::on_device`] and
/// [`Start`](crate::Start) take them. It is copied as a pointer is, and owns nothing.
///
/// ```no_run
/// # let (world, pointer) = (tutti::world()?, 0x7f00_0000_u64);
/// use tutti::{Device, DeviceSlice, ReduceOp};
///
/// // What cudarc's `device_ptr()` and cust's `as_device_ptr().as_raw()` give is a number.
/// let gradients =
///     unsafe { DeviceSlice::<f32>::new(pointer as *mut f32, 1000, Device::cuda(0)) };
/// world.on_device().all_reduce(gradients, ReduceOp::AVG)?;
/// let work = world.start().all_reduce(gradients, ReduceOp::SUM)?;
/// work.wait()?;
/// # Ok::<(), tutti::Error>(())
/// ```
pub struct DeviceSlice<T: Element> {
    data: *mut T,
    len: usize,
    device: Device,
}

// An address is a number to everyone but the device.
unsafe impl<T: Element> Send for DeviceSlice<T> {}
unsafe impl<T: Element> Sync for DeviceSlice<T> {}

impl<T: Element> Clone for DeviceSlice<T> {
    fn clone(&self) -> DeviceSlice<T> {
        *self
    }
}

impl<T: Element> Copy for DeviceSlice<T> {}

impl<T: Element> DeviceSlice<T> {
    /// `len` elements at an address of a device.
    ///
    /// # Safety
    /// From each call that takes it until the operation is done, or until the stream on which the
    /// operation was enqueued has come past it: the memory is there, on that device; nothing
    /// writes it; and if it is an output, nothing else reads it.
    pub const unsafe fn new(data: *mut T, len: usize, device: Device) -> DeviceSlice<T> {
        DeviceSlice { data, len, device }
    }

    /// Some of the elements. Panics if they are not all among these.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> DeviceSlice<T> {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "elements {range:?} are not all among {}",
            self.len
        );
        let data = self.data.wrapping_add(range.start);
        DeviceSlice { data, len: range.end - range.start, device: self.device }
    }

    /// Where the first element is, as the device has it.
    pub fn as_ptr(self) -> *mut T {
        self.data
    }

    /// How many elements there are.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Where they are.
    pub fn device(self) -> Device {
        self.device
    }

    /// A buffer that C has filled in; an error that names `owner` if its elements are of another
    /// type.
    pub(crate) fn of(buffer: &CBuffer, owner: impl FnOnce() -> String) -> Result<DeviceSlice<T>> {
        check_dtype::<T>(buffer, owner)?;
        let device = device_of(buffer);
        Ok(DeviceSlice { data: buffer.data.cast(), len: buffer.count as usize, device })
    }

    pub(crate) fn buffer(self) -> CBuffer {
        let mut buffer = buffer_at(self.data.cast(), self.len, T::DTYPE);
        buffer.device_type = self.device.kind;
        // No device has a number that large, so C refuses it.
        buffer.device_index = i32::try_from(self.device.index).unwrap_or(-1);
        buffer
    }
}

impl<T: Element> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlice({:?}, {} on {:?})", self.data, self.len, self.device)
    }
}

unsafe impl<T: Element> Readable for DeviceSlice<T> {
    type Element = T;
    fn elements(&self) -> &[T] {
        &[]
    }
    fn on_device(&self) -> Option<DeviceSlice<T>> {
        Some(*self)
    }
}

unsafe impl<T: Element> Writable for DeviceSlice<T> {
    fn elements_mut(&mut self) -> &mut [T] {
        &mut []
    }
}

/// Elements in memory of a device that the library has allocated ([`Group::alloc_on`]), given back
/// when it is dropped. What runs in the background takes it as it takes a `Vec`.
pub struct DeviceBuffer<T: Element> {
    data: NonNull<T>,
    len: usize,
    device: Device,
}

unsafe impl<T: Element> Send for DeviceBuffer<T> {}
unsafe impl<T: Element> Sync for DeviceBuffer<T> {}

impl Group {
    /// As [`Group::alloc`], in the memory of a device: so many elements, all zero. Every rank calls
    /// it, in the same order as the group's collectives.
    pub fn alloc_on<T: Element>(&self, device: Device, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let beyond = || Error::argument(format!("len is {len}, more than memory can hold"));
        let (bytes, mut memory) = (bytes.ok_or_else(beyond)?, null_mut());
        let mut options = self.memory_options();
        options.device_type = device.kind;
        options.device_index = device.c_index()?;
        check(|error| unsafe {
            raw::tutti_memory_alloc(self.raw(), bytes as i64, &options, &mut memory, error)
        })?;
        let data = NonNull::new(memory.cast()).expect("memory that C has given is somewhere");
        Ok(DeviceBuffer { data, len, device })
    }
}

impl<T: Element> DeviceBuffer<T> {
    /// The elements, for calls that take a [`DeviceSlice`].
    ///
    /// # Safety
    /// As for [`DeviceSlice::new`]: the buffer outlives what is done with the slice.
    pub unsafe fn slice(&self) -> DeviceSlice<T> {
        DeviceSlice::new(self.data.as_ptr(), self.len, self.device)
    }

    /// Where the first element is, as the device has it.
    pub fn as_ptr(&self) -> *mut T {
        self.data.as_ptr()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

unsafe impl<T: Element> Readable for DeviceBuffer<T> {
    type Element = T;
    fn elements(&self) -> &[T] {
        &[]
    }
    fn on_device(&self) -> Option<DeviceSlice<T>> {
        Some(unsafe { self.slice() })
    }
}

unsafe impl<T: Element> Writable for DeviceBuffer<T> {
    fn elements_mut(&mut self) -> &mut [T] {
        &mut []
    }
}

impl<T: Element> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({:?}, {} on {:?})", self.data, self.len, self.device)
    }
}

impl<T: Element> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        unsafe { raw::tutti_memory_release(self.data.as_ptr().cast()) };
    }
}
