//! n-dimensional arrays among values.
use crate::element::{dtype_size, Dtype, Element};
use crate::error::{Error, Result};
use std::fmt;
use std::os::raw::c_void;

/// An n-dimensional array: elements of one type, row after row (the last index moves fastest).
#[derive(Clone)]
pub struct Array {
    dtype: Dtype,
    shape: Vec<i64>,
    words: Vec<u64>, // the elements; words, so that they are aligned
    bytes: usize,
}

impl Array {
    /// An array of this shape. There must be as many elements as it says.
    pub fn new<T: Element>(shape: &[usize], elements: &[T]) -> Result<Array> {
        let shape = c_shape(shape, elements.len())?;
        let bytes = std::mem::size_of_val(elements);
        Ok(unsafe { Array::copy(T::DTYPE, shape, elements.as_ptr().cast(), bytes) })
    }

    /// # Safety
    /// There are so many bytes, and as many as the shape says.
    unsafe fn copy(dtype: Dtype, shape: Vec<i64>, data: *const u8, bytes: usize) -> Array {
        let mut words = vec![0_u64; (bytes + 7) / 8];
        if bytes > 0 {
            data.copy_to_nonoverlapping(words.as_mut_ptr().cast(), bytes);
        }
        Array { dtype, shape, words, bytes }
    }

    /// An array that C has: so many elements at `data`.
    ///
    /// # Safety
    /// They are there.
    pub(crate) unsafe fn from_c(
        dtype: Dtype,
        shape: Vec<i64>,
        data: *const c_void,
        count: usize,
    ) -> Array {
        Array::copy(dtype, shape, data.cast(), count * dtype_size(dtype))
    }

    /// The type of its elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Its extents; none is one element.
    pub fn shape(&self) -> Vec<usize> {
        self.shape.iter().map(|&extent| extent as usize).collect()
    }

    pub(crate) fn c_shape(&self) -> &[i64] {
        &self.shape
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.bytes / dtype_size(self.dtype).max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The elements as the bytes they are in memory.
    pub fn as_bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// The elements; an error if they are of another type.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if self.dtype != T::DTYPE {
            let (are, wanted) = (self.dtype, T::DTYPE);
            return Err(Error::argument(format!(
                "the array's elements are {are:?}, not {wanted:?}"
            )));
        }
        // Words are aligned for every element, which takes any bits.
        Ok(unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len()) })
    }
}

/// A shape for C, if it is one of so many elements.
pub(crate) fn c_shape(shape: &[usize], given: usize) -> Result<Vec<i64>> {
    let count = shape.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent));
    let extents = shape.iter().map(|&extent| i64::try_from(extent).ok());
    match extents.collect() {
        Some(extents) if count == Some(given) => Ok(extents),
        _ => {
            let message = format!("shape is {shape:?}, but elements has {given} of them");
            Err(Error::argument(message))
        }
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        (self.dtype, &self.shape, self.as_bytes()) == (other.dtype, &other.shape, other.as_bytes())
    }
}

impl Eq for Array {}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({:?} {:?})", self.dtype, self.shape)
    }
}
