//! Building objects part by part.
use crate::array::Array;
use crate::element::Element;
use crate::error::{c_text, check, Result, Status};
use crate::map::Key;
use crate::memory::reading;
use crate::node::Node;
use crate::object::{Object, EMPTY};
use crate::raw;
use crate::value::{Timestamp, Value};
use std::fmt;
use std::ptr::null_mut;

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
pub struct ObjectBuilder {
    object: Object,
}

impl ObjectBuilder {
    /// An object that waits for its value.
    pub fn new() -> Result<ObjectBuilder> {
        let mut handle = null_mut();
        check(|error| unsafe { raw::tutti_object_create(&mut handle, error) })?;
        Ok(ObjectBuilder { object: unsafe { Object::adopt(handle) } })
    }

    fn add<F>(&mut self, call: F) -> Result<&mut ObjectBuilder>
    where
        F: FnOnce(*mut raw::tutti_object, *mut raw::tutti_error) -> Status,
    {
        let object = self.object.raw();
        check(|error| call(object, error))?;
        Ok(self)
    }

    /// Adds nil.
    pub fn nil(&mut self) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_add_nil(object, error) })
    }

    /// Adds a bool.
    pub fn bool(&mut self, value: bool) -> Result<&mut ObjectBuilder> {
        let value = value.into();
        self.add(|object, error| unsafe { raw::tutti_object_add_bool(object, value, error) })
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_add_int64(object, value, error) })
    }

    /// Adds an unsigned integer.
    pub fn uint(&mut self, value: u64) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_add_uint64(object, value, error) })
    }

    /// Adds a float.
    pub fn float(&mut self, value: f64) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_add_float64(object, value, error) })
    }

    /// Adds a text.
    pub fn string(&mut self, text: &str) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe {
            raw::tutti_object_add_string(object, text.as_ptr().cast(), text.len(), error)
        })
    }

    /// Adds the key of the value that comes next, in a map.
    pub fn key(&mut self, key: impl Into<Key>) -> Result<&mut ObjectBuilder> {
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
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe {
            raw::tutti_object_add_bytes(object, bytes.as_ptr().cast(), bytes.len(), 0, error)
        })
    }

    /// Adds a point in time.
    pub fn timestamp(&mut self, time: Timestamp) -> Result<&mut ObjectBuilder> {
        let nanoseconds = i32::try_from(time.nanoseconds).unwrap_or(-1);
        self.add(|object, error| unsafe {
            raw::tutti_object_add_timestamp(object, time.seconds, nanoseconds, error)
        })
    }

    /// Adds an array.
    pub fn array(&mut self, array: &Array) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe {
            let (data, shape) = (array.as_bytes().as_ptr().cast(), array.c_shape());
            let (place, dimensions) = (shape.as_ptr(), shape.len() as i32);
            raw::tutti_object_add_array(object, data, array.dtype(), place, dimensions, 0, error)
        })
    }

    /// Begins a list: what is added until [`ObjectBuilder::end`] is in it.
    pub fn begin_list(&mut self) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_begin_list(object, error) })
    }

    /// Begins a map: keys and values are added in turn until [`ObjectBuilder::end`].
    pub fn begin_map(&mut self) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_begin_map(object, error) })
    }

    /// Ends the list or map that was begun last.
    pub fn end(&mut self) -> Result<&mut ObjectBuilder> {
        self.add(|object, error| unsafe { raw::tutti_object_end(object, error) })
    }

    /// Adds each of many numbers to the list that is open: integers, floats or bools.
    pub fn elements<T: Element>(&mut self, elements: &[T]) -> Result<&mut ObjectBuilder> {
        let buffer = reading(elements);
        self.add(|object, error| unsafe {
            let (data, count, dtype) = (buffer.data, buffer.count, buffer.dtype);
            raw::tutti_object_add_elements(object, data, count, dtype, error)
        })
    }

    /// Adds a value, with all that is in it.
    pub fn value(&mut self, value: &Value) -> Result<&mut ObjectBuilder> {
        let items = crate::object::flatten(value);
        self.add(|object, error| unsafe {
            raw::tutti_object_add_items(object, items.as_ptr(), items.len(), 0, error)
        })
    }

    /// Adds a copy of a value of another object.
    pub fn node(&mut self, node: Node<'_>) -> Result<&mut ObjectBuilder> {
        let (from, number) = node.place();
        self.add(|object, error| unsafe {
            raw::tutti_object_add_object(object, from.raw(), number, error)
        })
    }

    /// The object, if its outermost value is complete.
    pub fn finish(self) -> Result<Object> {
        self.object.read(0, &mut [EMPTY])?;
        Ok(self.object)
    }
}

impl fmt::Debug for ObjectBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectBuilder")
    }
}
