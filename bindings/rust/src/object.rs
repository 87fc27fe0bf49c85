//! Objects as the library has them: values made of Rust's and back, and what can be done with them
//! in between.
use crate::builder::ObjectBuilder;
use crate::bytes::Bytes;
use crate::error::{check, Error, Result};
use crate::map::Key;
use crate::object_options::ObjectOptions;
use crate::raw::{self, tutti_object_item, ObjectKind};
use crate::value::Value;
use std::fmt;
use std::os::raw::c_void;
use std::ptr::{null, null_mut};

/// A value as the library has it: finished, never changed, read by any number of threads. Values
/// are sent without one of these; it is for encoding, and for large values of which a part is read
/// ([`Object::root`]).
pub struct Object {
    handle: *mut raw::tutti_object,
}

unsafe impl Send for Object {}
unsafe impl Sync for Object {}

impl Object {
    /// Takes over what C has handed out.
    ///
    /// # Safety
    /// The handle is owned, and nobody else's; the object is finished.
    pub(crate) unsafe fn adopt(handle: *mut raw::tutti_object) -> Object {
        Object { handle }
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_object {
        self.handle
    }

    /// A value, copied to the library.
    pub fn from_value(value: &Value) -> Result<Object> {
        let mut builder = ObjectBuilder::new()?;
        builder.value(value)?;
        builder.finish()
    }

    /// All of it as a value of Rust's.
    pub fn to_value(&self) -> Result<Value> {
        self.root().to_value()
    }

    /// The items from a node on, at most so many.
    pub(crate) fn read(&self, first: i64, items: &mut [tutti_object_item]) -> Result<usize> {
        let mut count = 0;
        check(|error| unsafe {
            let (place, room) = (items.as_mut_ptr(), items.len());
            raw::tutti_object_read(self.handle, first, room, place, &mut count, error)
        })?;
        Ok(count)
    }

    /// A copy of it, as MessagePack.
    pub fn encode(&self, options: &ObjectOptions) -> Result<Bytes> {
        let (options, mut bytes) = (options.to_c(), null_mut());
        check(|error| unsafe {
            raw::tutti_object_encode(self.handle, &options, &mut bytes, error)
        })?;
        Ok(unsafe { Bytes::adopt(bytes) })
    }

    /// Reads a value from MessagePack, compressed or not. Any bytes may come: what is no value is
    /// an error, with the offset where it goes wrong.
    pub fn decode(message: &[u8], options: &ObjectOptions) -> Result<Object> {
        let (options, mut handle) = (options.to_c(), null_mut());
        check(|error| unsafe {
            let (data, size) = (message.as_ptr().cast(), message.len());
            raw::tutti_object_decode(data, size, &options, &mut handle, error)
        })?;
        Ok(Object { handle })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        unsafe { raw::tutti_object_release(self.handle) }
    }
}

impl Clone for Object {
    fn clone(&self) -> Object {
        self.root().copy().expect("an object is copied, if there is memory")
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.root() == other.root()
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.root(), f)
    }
}

impl TryFrom<&Value> for Object {
    type Error = Error;
    fn try_from(value: &Value) -> Result<Object> {
        Object::from_value(value)
    }
}

impl TryFrom<&Object> for Value {
    type Error = Error;
    fn try_from(object: &Object) -> Result<Value> {
        object.to_value()
    }
}

pub(crate) const EMPTY: tutti_object_item = tutti_object_item {
    kind: ObjectKind::NIL,
    dtype: raw::Dtype::INT8,
    integer: 0,
    real: 0.0,
    data: null(),
    size: 0,
    shape: null(),
    dimensions: 0,
    nanoseconds: 0,
    end: 0,
};

/// What remains to be written.
enum Part<'a> {
    Value(&'a Value),
    Key(&'a Key),
}

/// A value as items in the order of the nodes, which point into it.
pub(crate) fn flatten(value: &Value) -> Vec<tutti_object_item> {
    let (mut items, mut rest) = (Vec::new(), vec![Part::Value(value)]);
    while let Some(part) = rest.pop() {
        match part {
            Part::Key(key) => items.push(key_item(key)),
            Part::Value(value) => {
                items.push(item(value));
                match value {
                    Value::List(values) => rest.extend(values.iter().rev().map(Part::Value)),
                    Value::Map(map) => {
                        let pairs: Vec<_> = map.iter().collect();
                        for (key, value) in pairs.into_iter().rev() {
                            rest.push(Part::Value(value));
                            rest.push(Part::Key(key));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    items
}

fn bytes_item(kind: ObjectKind, bytes: &[u8]) -> tutti_object_item {
    let data = if bytes.is_empty() { null() } else { bytes.as_ptr().cast::<c_void>() };
    tutti_object_item { kind, data, size: bytes.len() as i64, ..EMPTY }
}

fn integer_item(kind: ObjectKind, integer: i64) -> tutti_object_item {
    tutti_object_item { kind, integer, ..EMPTY }
}

pub(crate) fn key_item(key: &Key) -> tutti_object_item {
    match key {
        Key::Int(number) => integer_item(ObjectKind::INT64, *number),
        Key::UInt(number) => integer_item(ObjectKind::UINT64, *number as i64),
        Key::String(text) => bytes_item(ObjectKind::STRING, text.as_bytes()),
    }
}

fn item(value: &Value) -> tutti_object_item {
    match value {
        Value::Nil => EMPTY,
        Value::Bool(value) => integer_item(ObjectKind::BOOL, (*value).into()),
        Value::Int(number) => integer_item(ObjectKind::INT64, *number),
        Value::UInt(number) => integer_item(ObjectKind::UINT64, *number as i64),
        Value::Float(real) => tutti_object_item { kind: ObjectKind::FLOAT64, real: *real, ..EMPTY },
        Value::String(text) => bytes_item(ObjectKind::STRING, text.as_bytes()),
        Value::Bytes(bytes) => bytes_item(ObjectKind::BYTES, bytes),
        Value::List(values) => {
            tutti_object_item { kind: ObjectKind::LIST, size: values.len() as i64, ..EMPTY }
        }
        Value::Map(map) => {
            tutti_object_item { kind: ObjectKind::MAP, size: map.len() as i64, ..EMPTY }
        }
        Value::Timestamp(time) => tutti_object_item {
            nanoseconds: i32::try_from(time.nanoseconds).unwrap_or(-1),
            ..integer_item(ObjectKind::TIMESTAMP, time.seconds)
        },
        Value::Array(array) => tutti_object_item {
            dtype: array.dtype(),
            size: array.len() as i64,
            shape: if array.c_shape().is_empty() { null() } else { array.c_shape().as_ptr() },
            dimensions: array.c_shape().len() as i32,
            ..bytes_item(ObjectKind::ARRAY, array.as_bytes())
        },
    }
}
