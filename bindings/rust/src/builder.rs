//! Building objects part by part.
use crate::array::{c_shape, Array};
use crate::element::{Dtype, Element};
use crate::error::{c_text, check, Result, Status};
use crate::map::Key;
use crate::memory::reading;
use crate::node::Node;
use crate::object::{Object, EMPTY};
use crate::raw;
use crate::value::{Timestamp, Value};
use std::fmt;
use std::os::raw::c_void;
use std::ptr::null_mut;

const COPY: u32 = 0; // the flags of what is not borrowed

/// Builds an object front to back, without making a [`Value`] of it first. A call that fails spoils
/// the object: [`ObjectBuilder::finish`] then fails too, with the first reason.
///
/// ```
/// let mut builder = tutti::ObjectBuilder::new()?;
/// builder.begin_map()?.key("epoch")?.int(3)?.key("losses")?;
/// builder.begin_list()?.elements(&[0.5_f32, 0.25])?.end()?.end()?;
/// assert_eq!(builder.finish()?.root().find("epoch")?.unwrap().to_i64()?, 3);
/// # Ok::<(), tutti::Error>(())
/// ```
///
/// What is added is copied, but for what the calls named `borrow_...` are given: that must stay as
/// it is as long as the object.
///
/// ```compile_fail,E0506
/// let mut grid = vec![0.0_f64; 1_000_000];
/// let mut builder = tutti::ObjectBuilder::new()?;
/// builder.borrow_array(&[1000, 1000], &grid)?;
/// let object = builder.finish()?;
/// grid = Vec::new();
/// drop(object);
/// # Ok::<(), tutti::Error>(())
/// ```
pub struct ObjectBuilder<'a> {
    object: Object<'a>,
}

impl<'a> ObjectBuilder<'a> {
    /// An object that waits for its value.
    pub fn new() -> Result<ObjectBuilder<'a>> {
        let mut handle = null_mut();
        check(|error| unsafe { raw::tutti_object_create(&mut handle, error) })?;
        Ok(ObjectBuilder { object: unsafe { Object::adopt(handle) } })
    }

    fn add<F>(&mut self, call: F) -> Result<&mut ObjectBuilder<'a>>
    where
        F: FnOnce(*mut raw::tutti_object, *mut raw::tutti_error) -> Status,
    {
        let object = self.object.raw();
        check(|error| call(object, error))?;
        Ok(self)
    }

    /// Adds nil.
    pub fn nil(&mut self) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_add_nil(object, error) })
    }

    /// Adds a bool.
    pub fn bool(&mut self, value: bool) -> Result<&mut ObjectBuilder<'a>> {
        let value = value.into();
        self.add(|object, error| unsafe { raw::tutti_object_add_bool(object, value, error) })
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_add_int64(object, value, error) })
    }

    /// Adds an unsigned integer.
    pub fn uint(&mut self, value: u64) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_add_uint64(object, value, error) })
    }

    /// Adds a float.
    pub fn float(&mut self, value: f64) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_add_float64(object, value, error) })
    }

    /// Adds a text.
    pub fn string(&mut self, text: &str) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe {
            raw::tutti_object_add_string(object, text.as_ptr().cast(), text.len() as i64, error)
        })
    }

    /// Adds the key of the value that comes next, in a map.
    pub fn key(&mut self, key: impl Into<Key>) -> Result<&mut ObjectBuilder<'a>> {
        match key.into() {
            Key::Int(number) => self.int(number),
            Key::UInt(number) => self.uint(number),
            Key::String(text) if text.contains('\0') => self.string(&text),
            Key::String(text) => {
                let key = c_text(&text, "key")?;
                self.add(|object, error| unsafe {
                    raw::tutti_object_add_key(object, key.as_ptr(), error)
                })
            }
        }
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<&mut ObjectBuilder<'a>> {
        self.add_bytes(bytes, COPY)
    }

    /// Adds bytes that stay where they are.
    pub fn borrow_bytes(&mut self, bytes: &'a [u8]) -> Result<&mut ObjectBuilder<'a>> {
        self.add_bytes(bytes, raw::TUTTI_OBJECT_BORROW)
    }

    fn add_bytes(&mut self, bytes: &[u8], flags: u32) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe {
            raw::tutti_object_add_bytes(object, bytes.as_ptr().cast(), bytes.len(), flags, error)
        })
    }

    /// Adds a point in time.
    pub fn timestamp(&mut self, time: Timestamp) -> Result<&mut ObjectBuilder<'a>> {
        let nanoseconds = i32::try_from(time.nanoseconds).unwrap_or(-1);
        self.add(|object, error| unsafe {
            raw::tutti_object_add_timestamp(object, time.seconds, nanoseconds, error)
        })
    }

    /// Adds an array.
    pub fn array(&mut self, array: &Array) -> Result<&mut ObjectBuilder<'a>> {
        let data = array.as_bytes().as_ptr().cast();
        unsafe { self.add_array(data, array.dtype(), array.c_shape(), COPY) }
    }

    /// Adds an array whose elements stay where they are, row after row. There must be as many as
    /// the shape says.
    pub fn borrow_array<T: Element>(
        &mut self,
        shape: &[usize],
        elements: &'a [T],
    ) -> Result<&mut ObjectBuilder<'a>> {
        let (data, shape) = (elements.as_ptr().cast(), c_shape(shape, elements.len())?);
        unsafe { self.add_array(data, T::DTYPE, &shape, raw::TUTTI_OBJECT_BORROW) }
    }

    /// # Safety
    /// There are as many elements as the shape says; they live for `'a` if they are borrowed.
    unsafe fn add_array(
        &mut self,
        data: *const c_void,
        dtype: Dtype,
        shape: &[i64],
        flags: u32,
    ) -> Result<&mut ObjectBuilder<'a>> {
        let (place, dimensions) = (shape.as_ptr(), shape.len() as i32);
        self.add(|object, error| {
            raw::tutti_object_add_array(object, data, dtype, place, dimensions, flags, error)
        })
    }

    /// Begins a list: what is added until [`ObjectBuilder::end`] is in it.
    pub fn begin_list(&mut self) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_begin_list(object, error) })
    }

    /// Begins a map: keys and values are added in turn until [`ObjectBuilder::end`].
    pub fn begin_map(&mut self) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_begin_map(object, error) })
    }

    /// Ends the list or map that was begun last.
    pub fn end(&mut self) -> Result<&mut ObjectBuilder<'a>> {
        self.add(|object, error| unsafe { raw::tutti_object_end(object, error) })
    }

    /// Adds each of many numbers to the list that is open: integers, floats or bools.
    pub fn elements<T: Element>(&mut self, elements: &[T]) -> Result<&mut ObjectBuilder<'a>> {
        let buffer = reading(elements);
        self.add(|object, error| unsafe {
            let (data, count, dtype) = (buffer.data, buffer.count, buffer.dtype);
            raw::tutti_object_add_elements(object, data, count, dtype, error)
        })
    }

    /// Adds a value, with all that is in it.
    pub fn value(&mut self, value: &Value) -> Result<&mut ObjectBuilder<'a>> {
        self.add_items(value, COPY)
    }

    /// Adds a value, whose arrays and bytes stay where they are.
    pub fn borrow_value(&mut self, value: &'a Value) -> Result<&mut ObjectBuilder<'a>> {
        self.add_items(value, raw::TUTTI_OBJECT_BORROW)
    }

    fn add_items(&mut self, value: &Value, flags: u32) -> Result<&mut ObjectBuilder<'a>> {
        let items = crate::object::flatten(value);
        self.add(|object, error| unsafe {
            raw::tutti_object_add_items(object, items.as_ptr(), items.len() as i64, flags, error)
        })
    }

    /// Adds a copy of a value of another object.
    pub fn node(&mut self, node: Node<'_>) -> Result<&mut ObjectBuilder<'a>> {
        let (from, number) = node.place();
        self.add(|object, error| unsafe {
            raw::tutti_object_add_object(object, from.raw(), number, error)
        })
    }

    /// The object, if its outermost value is complete.
    pub fn finish(self) -> Result<Object<'a>> {
        self.object.read(0, &mut [EMPTY])?;
        Ok(self.object)
    }
}

impl fmt::Debug for ObjectBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectBuilder")
    }
}
