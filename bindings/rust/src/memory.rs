//! The memory of callers, as C is told of it.
use crate::buffer::Buffer;
use crate::device::{device_of, DeviceSlice};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::raw::{self, DeviceType, Dtype};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::raw::c_void;
use std::ptr::null_mut;
use std::slice;

/// A piece of memory for C. It borrows nothing in Rust's eyes: who makes one sees to that.
pub(crate) type CBuffer = raw::tutti_buffer;

pub(crate) fn buffer_at(data: *const c_void, count: usize, dtype: Dtype) -> CBuffer {
    CBuffer {
        data: if count == 0 { null_mut() } else { data as *mut c_void },
        count: count as i64,
        dtype,
        device_type: DeviceType::CPU,
        device_index: 0,
        reserved_0: 0,
        reserved: [0; 4],
    }
}

/// A buffer that is only read.
pub(crate) fn reading<T: Element>(data: &[T]) -> CBuffer {
    buffer_at(data.as_ptr().cast(), data.len(), T::DTYPE)
}

/// A buffer that is written.
pub(crate) fn writing<T: Element>(data: &mut [T]) -> CBuffer {
    buffer_at(data.as_mut_ptr().cast::<c_void>(), data.len(), T::DTYPE)
}

/// A buffer that is only read, wherever it is.
fn reading_of<B: Readable>(data: &B) -> CBuffer {
    data.on_device().map_or_else(|| reading(data.elements()), DeviceSlice::buffer)
}

/// A buffer that is written, wherever it is.
fn writing_of<B: Writable>(data: &mut B) -> CBuffer {
    match data.on_device() {
        Some(slice) => slice.buffer(),
        None => writing(data.elements_mut()),
    }
}

/// An error that names `owner` if the elements of a buffer are of another type.
pub(crate) fn check_dtype<T: Element>(
    buffer: &CBuffer,
    owner: impl FnOnce() -> String,
) -> Result<()> {
    if buffer.dtype == T::DTYPE {
        return Ok(());
    }
    let message = format!("{} is of {:?}, not {:?}", owner(), buffer.dtype, T::DTYPE);
    Err(Error::argument(message))
}

/// The elements of a buffer that C has filled in; an error that names `owner` if they are of another
/// type, or on a device.
///
/// # Safety
/// The memory is there as long as the lifetime says, and nobody else has access to it.
pub(crate) unsafe fn elements_of<'a, T: Element>(
    buffer: &CBuffer,
    owner: impl Fn() -> String,
) -> Result<&'a mut [T]> {
    check_dtype::<T>(buffer, &owner)?;
    if buffer.device_type != DeviceType::CPU {
        let message = format!("{} is on {:?}, not on the CPU", owner(), device_of(buffer));
        return Err(Error::argument(message));
    }
    match buffer.count {
        0 => Ok(&mut []),
        count => Ok(slice::from_raw_parts_mut(buffer.data.cast(), count as usize)),
    }
}

pub(crate) fn reading_each<T: Element>(list: &[&[T]]) -> Vec<CBuffer> {
    list.iter().map(|data| reading(data)).collect()
}

pub(crate) fn writing_each<T: Element>(list: &mut [&mut [T]]) -> Vec<CBuffer> {
    list.iter_mut().map(|data| writing(data)).collect()
}

/// Memory that an operation may read while the caller goes on: a `Vec` or [`Buffer`], which it owns
/// until it is done, or a slice, array, `Vec` or [`Buffer`] that is borrowed for as long; or memory
/// of a device, a [`DeviceSlice`] or [`DeviceBuffer`](crate::DeviceBuffer).
///
/// # Safety
/// What `elements` and `on_device` return stays where it is, and readable, when the value is moved.
pub unsafe trait Readable: Send {
    /// The parts it is made of.
    type Element: Element;
    /// The elements; none if they are on a device.
    fn elements(&self) -> &[Self::Element];
    /// The elements, if they are on a device.
    fn on_device(&self) -> Option<DeviceSlice<Self::Element>> {
        None
    }
}

/// Memory that an operation may write while the caller goes on: a `Vec` or [`Buffer`], or a slice,
/// array, `Vec` or [`Buffer`] that is borrowed mutably; or memory of a device.
///
/// # Safety
/// What `elements_mut` returns is what `elements` does, and nobody else has access to it.
pub unsafe trait Writable: Readable {
    /// The elements.
    fn elements_mut(&mut self) -> &mut [Self::Element];
}

macro_rules! readable {
    ($({$($generic:tt)*} $kind:ty;)*) => {$(
        unsafe impl<$($generic)*> Readable for $kind {
            type Element = T;
            fn elements(&self) -> &[T] {
                &self[..]
            }
        }
    )*};
}

macro_rules! writable {
    ($({$($generic:tt)*} $kind:ty;)*) => {$(
        readable! { {$($generic)*} $kind; }
        unsafe impl<$($generic)*> Writable for $kind {
            fn elements_mut(&mut self) -> &mut [T] {
                &mut self[..]
            }
        }
    )*};
}

readable! {
    {T: Element} &[T];
    {T: Element} &Vec<T>;
    {T: Element} &Buffer<T>;
    {T: Element, const N: usize} &[T; N];
}

writable! {
    {T: Element} Vec<T>;
    {T: Element} &mut [T];
    {T: Element} &mut Vec<T>;
    {T: Element} Buffer<T>;
    {T: Element} &mut Buffer<T>;
    {T: Element, const N: usize} &mut [T; N];
}

/// The values that an operation holds until it is done. Moving it moves no more than bytes: in
/// Rust's eyes the library's pointers into it stay good.
pub(crate) struct Borrowed<B> {
    value: MaybeUninit<B>,
    owner: PhantomData<B>,
}

impl<B> Borrowed<B> {
    pub(crate) fn new(value: B) -> Borrowed<B> {
        Borrowed { value: MaybeUninit::new(value), owner: PhantomData }
    }

    pub(crate) fn give_back(self) -> B {
        let held = ManuallyDrop::new(self);
        unsafe { held.value.as_ptr().read() }
    }

    pub(crate) fn get(&self) -> &B {
        unsafe { self.value.assume_init_ref() }
    }

    fn get_mut(&mut self) -> &mut B {
        unsafe { self.value.assume_init_mut() }
    }
}

impl<B: Readable> Borrowed<B> {
    pub(crate) fn reading(&self) -> CBuffer {
        reading_of(self.get())
    }
}

impl<B: Writable> Borrowed<B> {
    pub(crate) fn writing(&mut self) -> CBuffer {
        writing_of(self.get_mut())
    }
}

impl<B: Readable> Borrowed<Vec<B>> {
    pub(crate) fn reading_each(&self) -> Vec<CBuffer> {
        self.get().iter().map(reading_of).collect()
    }
}

impl<B: Writable> Borrowed<Vec<B>> {
    pub(crate) fn writing_each(&mut self) -> Vec<CBuffer> {
        self.get_mut().iter_mut().map(writing_of).collect()
    }
}

impl<B> Drop for Borrowed<B> {
    fn drop(&mut self) {
        unsafe { self.value.assume_init_drop() }
    }
}
