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
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr::{null, null_mut};

/// A value as the library has it: finished, never changed, read by any number of threads. Values
/// are sent without one of these; it is for encoding, for large values of which a part is read
/// ([`Object::root`]), and for sending arrays from where they are
/// ([`ObjectBuilder::borrow_array`]). Arrays and bytes may lie in memory that it borrows for `'a`;
/// one that [`Node::copy`](crate::Node::copy) makes has all that is in it.
pub struct Object<'a> {
    handle: *mut raw::tutti_object,
    borrowed: PhantomData<&'a [u8]>,
}

unsafe impl Send for Object<'_> {}
unsafe impl Sync for Object<'_> {}

impl<'a> Object<'a> {
    /// Takes over what C has handed out.
    ///
    /// # Safety
    /// The handle is owned, and nobody else's; what the object borrows lives for `'a`.
    pub(crate) unsafe fn adopt(handle: *mut raw::tutti_object) -> Object<'a> {
        Object { handle, borrowed: PhantomData }
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_object {
        self.handle
    }

    /// A value, copied to the library.
    pub fn from_value(value: &Value) -> Result<Object<'static>> {
        let mut builder = ObjectBuilder::new()?;
        builder.value(value)?;
        builder.finish()
    }

    /// As [`Object::from_value`], of a value whose arrays and bytes stay where they are.
    ///
    /// ```compile_fail,E0597
    /// # use tutti::{Object, Value};
    /// let object = {
    ///     let value = Value::Bytes(vec![1, 2, 3]);
    ///     Object::from_value_borrowed(&value).unwrap()
    /// };
    /// println!("{object:?}");
    /// ```
    pub fn from_value_borrowed(value: &'a Value) -> Result<Object<'a>> {
        let mut builder = ObjectBuilder::new()?;
        builder.borrow_value(value)?;
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
            let (place, room) = (items.as_mut_ptr(), items.len() as i64);
            raw::tutti_object_read(self.handle, first, place, room, &mut count, error)
        })?;
        Ok(count as usize)
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
    pub fn decode(message: &[u8], options: &ObjectOptions) -> Result<Object<'static>> {
        let handle = decoded(message, options.to_c())?;
        Ok(unsafe { Object::adopt(handle) })
    }

    /// As [`Object::decode`]; of a message that is not compressed, bytes stay where they are, and
    /// so do arrays if the message begins at a multiple of 8 bytes.
    ///
    /// ```compile_fail,E0505
    /// # use tutti::{Object, ObjectOptions};
    /// let message = vec![0xc0];
    /// let object = Object::decode_borrowed(&message, &ObjectOptions::default()).unwrap();
    /// drop(message);
    /// println!("{object:?}");
    /// ```
    pub fn decode_borrowed(message: &'a [u8], options: &ObjectOptions) -> Result<Object<'a>> {
        let options =
            raw::tutti_object_options { flags: raw::TUTTI_OBJECT_BORROW, ..options.to_c() };
        let handle = decoded(message, options)?;
        Ok(unsafe { Object::adopt(handle) })
    }
}

fn decoded(message: &[u8], options: raw::tutti_object_options) -> Result<*mut raw::tutti_object> {
    let mut handle = null_mut();
    check(|error| unsafe {
        let (data, size) = (message.as_ptr().cast(), message.len());
        raw::tutti_object_decode(data, size, &options, &mut handle, error)
    })?;
    Ok(handle)
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        unsafe { raw::tutti_object_release(self.handle) }
    }
}

impl<'a> Clone for Object<'a> {
    fn clone(&self) -> Object<'a> {
        self.root().copy().expect("an object is copied, if there is memory")
    }
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Object<'_>) -> bool {
        self.root() == other.root()
    }
}

impl Eq for Object<'_> {}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.root(), f)
    }
}

impl TryFrom<&Value> for Object<'static> {
    type Error = Error;
    fn try_from(value: &Value) -> Result<Object<'static>> {
        Object::from_value(value)
    }
}

impl TryFrom<&Object<'_>> for Value {
    type Error = Error;
    fn try_from(object: &Object<'_>) -> Result<Value> {
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

/// The values that remain to be written.
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
