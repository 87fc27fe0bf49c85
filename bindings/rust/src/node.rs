//! Reading objects in place.
use crate::array::Array;
use crate::bytes::Bytes;
use crate::element::Element;
use crate::error::{c_text, check, Error, Result};
use crate::map::{Key, Map};
use crate::memory::writing;
use crate::object::{key_item, Object, EMPTY};
use crate::raw::{self, tutti_object_item, Dtype, ObjectKind};
use crate::value::{Timestamp, Value};
use std::fmt;
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts;

/// One value in an object, read in place: nothing is copied until it is asked for.
///
/// ```
/// use tutti::{Map, Object, Value};
/// let value = Value::from(Map::from([("layers", vec![64, 10])]));
/// let object = Object::from_value(&value)?;
/// assert_eq!(object.root().find("layers")?.unwrap().at(1)?.to_i64()?, 10);
/// # Ok::<(), tutti::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Node<'a> {
    object: &'a Object<'a>,
    node: i64,
}

impl Object<'_> {
    /// The outermost value.
    pub fn root(&self) -> Node<'_> {
        Node { object: self, node: 0 }
    }
}

/// Calls C to fill a place, and returns what it has filled in.
fn filled<T>(
    mut place: T,
    call: impl FnOnce(&mut T, *mut raw::tutti_error) -> raw::Status,
) -> Result<T> {
    check(|error| call(&mut place, error))?;
    Ok(place)
}

/// The memory of `size` bytes that C has shown.
unsafe fn shown<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        &[]
    } else {
        from_raw_parts(data, size)
    }
}

impl<'a> Node<'a> {
    fn raw(&self) -> *mut raw::tutti_object {
        self.object.raw()
    }

    pub(crate) fn place(&self) -> (&'a Object<'a>, i64) {
        (self.object, self.node)
    }

    fn item(&self) -> Result<tutti_object_item> {
        let mut items = [EMPTY];
        self.object.read(self.node, &mut items)?;
        Ok(items[0])
    }

    /// The kind of the value.
    pub fn kind(&self) -> Result<ObjectKind> {
        Ok(self.item()?.kind)
    }

    /// How many values a list has, pairs a map, bytes a string, elements an array.
    pub fn size(&self) -> Result<usize> {
        Ok(self.item()?.size as usize)
    }

    /// The value of a map's key, found as fast in large maps; nothing if there is no such key.
    pub fn find(&self, key: impl Into<Key>) -> Result<Option<Node<'a>>> {
        let key = key.into();
        let found = match &key {
            Key::String(text) if !text.contains('\0') => {
                let text = c_text(text, "key")?;
                filled(-1, |out, error| unsafe {
                    raw::tutti_object_find(self.raw(), self.node, text.as_ptr(), out, error)
                })?
            }
            key => filled(-1, |out, error| unsafe {
                raw::tutti_object_find_item(self.raw(), self.node, &key_item(key), out, error)
            })?,
        };
        Ok((found >= 0).then_some(Node { node: found, ..*self }))
    }

    /// The value at a place of a list, found as fast in large lists.
    pub fn at(&self, index: usize) -> Result<Node<'a>> {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        let node = filled(0, |out, error| unsafe {
            raw::tutti_object_at(self.raw(), self.node, index, out, error)
        })?;
        Ok(Node { node, ..*self })
    }

    /// A bool.
    pub fn to_bool(&self) -> Result<bool> {
        let value = filled(0, |out, error| unsafe {
            raw::tutti_object_get_bool(self.raw(), self.node, out, error)
        })?;
        Ok(value != 0)
    }

    /// An integer of at most 2^63 - 1.
    pub fn to_i64(&self) -> Result<i64> {
        filled(0, |out, error| unsafe {
            raw::tutti_object_get_int64(self.raw(), self.node, out, error)
        })
    }

    /// An integer of at least 0.
    pub fn to_u64(&self) -> Result<u64> {
        filled(0, |out, error| unsafe {
            raw::tutti_object_get_uint64(self.raw(), self.node, out, error)
        })
    }

    /// A float, or an integer that a float holds exactly.
    pub fn to_f64(&self) -> Result<f64> {
        filled(0.0, |out, error| unsafe {
            raw::tutti_object_get_float64(self.raw(), self.node, out, error)
        })
    }

    /// A text, in place.
    pub fn as_str(&self) -> Result<&'a str> {
        let (text, size) = filled((null(), 0), |out, error| unsafe {
            raw::tutti_object_get_string(self.raw(), self.node, &mut out.0, &mut out.1, error)
        })?;
        let bytes = unsafe { shown(text.cast::<u8>(), size as usize) };
        std::str::from_utf8(bytes).map_err(|fault| Error::argument(fault.to_string()))
    }

    /// Bytes, in place.
    pub fn as_bytes(&self) -> Result<&'a [u8]> {
        let (data, size) = filled((null(), 0), |out, error| unsafe {
            raw::tutti_object_get_bytes(self.raw(), self.node, &mut out.0, &mut out.1, error)
        })?;
        Ok(unsafe { shown(data.cast(), size) })
    }

    /// A point in time.
    pub fn to_timestamp(&self) -> Result<Timestamp> {
        let (seconds, nanoseconds) = filled((0, 0), |out, error| unsafe {
            raw::tutti_object_get_timestamp(self.raw(), self.node, &mut out.0, &mut out.1, error)
        })?;
        Ok(Timestamp { seconds, nanoseconds: nanoseconds as u32 })
    }

    /// An array's shape and elements, in place; an error if they are of another type.
    pub fn as_array<T: Element>(&self) -> Result<(&'a [i64], &'a [T])> {
        let start: (*const c_void, _, _, _) = (null(), Dtype::INT8, null(), 0);
        let (data, dtype, shape, dimensions) = filled(start, |out, error| unsafe {
            let (data, dtype, shape, dimensions) = (&mut out.0, &mut out.1, &mut out.2, &mut out.3);
            raw::tutti_object_get_array(
                self.raw(),
                self.node,
                data,
                dtype,
                shape,
                dimensions,
                error,
            )
        })?;
        if dtype != T::DTYPE {
            let wanted = T::DTYPE;
            let message = format!("the array's elements are {dtype:?}, not {wanted:?}");
            return Err(Error::argument(message));
        }
        let count = self.size()?;
        // The library aligns what it owns, and of a message leaves in place only what is aligned.
        Ok(unsafe { (shown(shape, dimensions as usize), shown(data.cast(), count)) })
    }

    /// Many numbers of a list, from `first` on: as many as `into` has room for. Floats are rounded
    /// to what it holds; everything else must be exact.
    pub fn read_elements<T: Element>(&self, first: usize, into: &mut [T]) -> Result<()> {
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        let buffer = writing(into);
        check(|error| unsafe {
            raw::tutti_object_get_elements(
                self.raw(),
                self.node,
                buffer.data,
                buffer.count,
                buffer.dtype,
                first,
                error,
            )
        })
    }

    /// It, and all that is in it, as an object of its own.
    pub fn copy(&self) -> Result<Object<'static>> {
        let handle = filled(null_mut(), |out, error| unsafe {
            raw::tutti_object_copy(self.raw(), self.node, out, error)
        })?;
        Ok(unsafe { Object::adopt(handle) })
    }

    /// It as JSON for people: in one line, or with so many spaces for each level; all of it, or up
    /// to about so many bytes.
    pub fn to_json(&self, indent: usize, limit: usize) -> Result<String> {
        let indent = i32::try_from(indent).unwrap_or(i32::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let json = filled(null_mut(), |out, error| unsafe {
            raw::tutti_object_to_json(self.raw(), self.node, indent, limit, out, error)
        })?;
        let json = unsafe { Bytes::adopt(json) };
        Ok(String::from_utf8_lossy(&json).into_owned())
    }

    /// It, and all that is in it, as a value of Rust's: no more than 1024 lists and maps inside
    /// each other.
    pub fn to_value(&self) -> Result<Value> {
        Reader::new(*self).read()
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Node<'_>) -> bool {
        let equal = filled(0, |out, error| unsafe {
            raw::tutti_object_equal(self.raw(), self.node, other.raw(), other.node, out, error)
        });
        equal == Ok(1)
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json(0, 1000).map_err(|_| fmt::Error)?)
    }
}

/// Lists and maps inside each other in a [`Value`]: dropping, comparing and cloning one goes as
/// deep into the stack. The default limit of what comes in is half of it.
const DEEPEST: usize = 1024;

/// A list or map that is being read.
enum Open {
    List(Vec<Value>, usize),
    Map(Vec<(Key, Value)>, Option<Key>, usize),
}

/// Reads items in their order, many with one call, and builds values of them.
struct Reader<'a> {
    object: &'a Object<'a>,
    next: i64,
    items: Vec<tutti_object_item>,
    place: usize,
}

impl<'a> Reader<'a> {
    fn new(from: Node<'a>) -> Reader<'a> {
        Reader { object: from.object, next: from.node, items: Vec::new(), place: 0 }
    }

    fn item(&mut self) -> Result<tutti_object_item> {
        if self.place == self.items.len() {
            self.items.resize(256, EMPTY);
            let count = self.object.read(self.next, &mut self.items)?;
            self.items.truncate(count);
            self.next += count as i64;
            self.place = 0;
        }
        let item = self.items.get(self.place).copied();
        self.place += 1;
        item.ok_or_else(|| Error::argument("the object ends inside a value"))
    }

    fn read(mut self) -> Result<Value> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let item = self.item()?;
            if open.len() > DEEPEST {
                let message = format!("the value is deeper than {DEEPEST} lists and maps");
                return Err(Error::argument(message));
            }
            let mut value = match item.kind {
                ObjectKind::LIST if item.size > 0 => {
                    open.push(Open::List(Vec::new(), item.size as usize));
                    continue;
                }
                ObjectKind::MAP if item.size > 0 => {
                    open.push(Open::Map(Vec::new(), None, item.size as usize));
                    continue;
                }
                _ => unsafe { scalar(&item) }?,
            };
            loop {
                match open.pop() {
                    None => return Ok(value),
                    Some(outer) => match outer.put(value)? {
                        Put::More(outer) => {
                            open.push(outer);
                            break;
                        }
                        Put::Whole(whole) => value = whole,
                    },
                }
            }
        }
    }
}

/// A list or map that waits for more, or that has all.
enum Put {
    More(Open),
    Whole(Value),
}

impl Open {
    fn put(self, value: Value) -> Result<Put> {
        Ok(match self {
            Open::List(mut values, size) => {
                values.push(value);
                if values.len() == size {
                    return Ok(Put::Whole(Value::List(values)));
                }
                Put::More(Open::List(values, size))
            }
            Open::Map(pairs, None, size) => {
                Put::More(Open::Map(pairs, Some(Key::try_from(value)?), size))
            }
            Open::Map(mut pairs, Some(key), size) => {
                pairs.push((key, value));
                if pairs.len() == size {
                    return Ok(Put::Whole(Value::Map(Map::of_pairs(pairs))));
                }
                Put::More(Open::Map(pairs, None, size))
            }
        })
    }
}

/// A value that contains no others.
unsafe fn scalar(item: &tutti_object_item) -> Result<Value> {
    let bytes = || shown(item.data.cast::<u8>(), item.size as usize).to_vec();
    Ok(match item.kind {
        ObjectKind::NIL => Value::Nil,
        ObjectKind::BOOL => Value::Bool(item.integer != 0),
        ObjectKind::INT64 => Value::Int(item.integer),
        ObjectKind::UINT64 => Value::UInt(item.integer as u64),
        ObjectKind::FLOAT64 => Value::Float(item.real),
        ObjectKind::STRING => match String::from_utf8(bytes()) {
            Ok(text) => Value::String(text),
            Err(fault) => return Err(Error::argument(fault.to_string())),
        },
        ObjectKind::BYTES => Value::Bytes(bytes()),
        ObjectKind::LIST => Value::List(Vec::new()),
        ObjectKind::MAP => Value::Map(Map::new()),
        ObjectKind::TIMESTAMP => Value::Timestamp(Timestamp {
            seconds: item.integer,
            nanoseconds: item.nanoseconds as u32,
        }),
        ObjectKind::ARRAY => {
            let shape = shown(item.shape, item.dimensions as usize).to_vec();
            Value::Array(Array::from_c(item.dtype, shape, item.data, item.size as usize))
        }
        other => return Err(Error::argument(format!("a value of a new kind, {other:?}"))),
    })
}
