//! Values that every language understands, as Rust has them.
use crate::array::Array;
use crate::error::{Error, Result};
use crate::map::Map;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One value, of the kinds that objects have in every language: what the object collectives send
/// and receive. [`From`] makes it of Rust's values, [`TryFrom`] makes those of it.
///
/// ```
/// use tutti::Value;
/// let value = Value::from(vec![1, 2, 3]);
/// assert_eq!(Vec::<i64>::try_from(value).unwrap(), [1, 2, 3]);
/// assert_eq!(Value::from(1_u64 << 63), Value::UInt(1 << 63));
/// assert!(u8::try_from(Value::Int(-1)).is_err());
/// ```
///
/// Values are the same if their content is: integers by value, floats by their bits (a NaN is
/// itself, -0.0 is not 0.0), maps whatever the order of their keys.
#[derive(Clone, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Nil,
    /// True or false.
    Bool(bool),
    /// An integer up to 2^63 - 1.
    Int(i64),
    /// An integer from 2^63 on; what is less comes back as [`Value::Int`].
    UInt(u64),
    /// A floating-point number, with all its bits.
    Float(f64),
    /// A text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Values in an order.
    List(Vec<Value>),
    /// Values by key.
    Map(Map),
    /// A point in time.
    Timestamp(Timestamp),
    /// An n-dimensional array of numbers.
    Array(Array),
}

/// A point in time: seconds since 1970-01-01 00:00 UTC, and nanoseconds after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// May be negative.
    pub seconds: i64,
    /// From 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Value {
    /// The kind of the value, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "a bool",
            Value::Int(_) | Value::UInt(_) => "an integer",
            Value::Float(_) => "a float",
            Value::String(_) => "a string",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Timestamp(_) => "a timestamp",
            Value::Array(_) => "an array",
        }
    }

    /// The value of a map's key; nothing if there is none, or if it is no map.
    pub fn get(&self, key: impl Into<crate::Key>) -> Option<&Value> {
        match self {
            Value::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// An integer as a number that holds all of them.
    fn integer(&self) -> Option<i128> {
        match *self {
            Value::Int(number) => Some(number.into()),
            Value::UInt(number) => Some(number.into()),
            _ => None,
        }
    }

    fn is_no(&self, what: &str) -> Error {
        Error::argument(format!("the value is {}, not {what}", self.kind()))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a == b,
            _ => self.integer().is_some() && self.integer() == other.integer(),
        }
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(value) => fmt::Debug::fmt(value, f),
            Value::Int(value) => fmt::Debug::fmt(value, f),
            Value::UInt(value) => fmt::Debug::fmt(value, f),
            Value::Float(value) => fmt::Debug::fmt(value, f),
            Value::String(value) => fmt::Debug::fmt(value, f),
            Value::Bytes(value) => write!(f, "bytes{value:?}"),
            Value::List(value) => fmt::Debug::fmt(value, f),
            Value::Map(value) => fmt::Debug::fmt(value, f),
            Value::Timestamp(value) => fmt::Debug::fmt(value, f),
            Value::Array(value) => fmt::Debug::fmt(value, f),
        }
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Value {
                match i64::try_from(number) {
                    Ok(number) => Value::Int(number),
                    Err(_) => Value::UInt(number as u64),
                }
            }
        }
        impl TryFrom<Value> for $integer {
            type Error = Error;
            fn try_from(value: Value) -> Result<$integer> {
                let kind = stringify!($integer);
                let number = value.integer().ok_or_else(|| value.is_no("an integer"))?;
                number.try_into().map_err(|_| {
                    Error::argument(format!("the value is {number}, which is no {kind}"))
                })
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);

macro_rules! whole {
    ($($kind:ty, $variant:ident, $name:expr;)*) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Value {
                Value::$variant(value)
            }
        }
        impl TryFrom<Value> for $kind {
            type Error = Error;
            fn try_from(value: Value) -> Result<$kind> {
                match value {
                    Value::$variant(value) => Ok(value),
                    other => Err(other.is_no($name)),
                }
            }
        }
    )*};
}

whole! {
    bool, Bool, "a bool";
    String, String, "a string";
    Map, Map, "a map";
    Timestamp, Timestamp, "a timestamp";
    Array, Array, "an array";
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float(number)
    }
}

impl From<f32> for Value {
    fn from(number: f32) -> Value {
        Value::Float(number.into())
    }
}

impl TryFrom<Value> for f64 {
    type Error = Error;
    /// A float, or an integer that a float holds exactly.
    fn try_from(value: Value) -> Result<f64> {
        if let Value::Float(number) = value {
            return Ok(number);
        }
        let number = value.integer().ok_or_else(|| value.is_no("a float"))?;
        let rounded = number as f64;
        if rounded as i128 != number {
            return Err(Error::argument(format!("the value is {number}, which no f64 holds")));
        }
        Ok(rounded)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::Nil
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Nil, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    /// A list. Bytes are [`Value::Bytes`], arrays of numbers [`Array`].
    fn from(values: Vec<T>) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: TryFrom<Value, Error = Error>> TryFrom<Value> for Vec<T> {
    type Error = Error;
    fn try_from(value: Value) -> Result<Vec<T>> {
        match value {
            Value::List(values) => values.into_iter().map(T::try_from).collect(),
            other => Err(other.is_no("a list")),
        }
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => {
                Timestamp { seconds: after.as_secs() as i64, nanoseconds: after.subsec_nanos() }
            }
            Err(before) => {
                let before = before.duration();
                let borrow = i64::from(before.subsec_nanos() > 0);
                let nanoseconds = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
                Timestamp { seconds: -(before.as_secs() as i64) - borrow, nanoseconds }
            }
        }
    }
}

impl TryFrom<Timestamp> for SystemTime {
    type Error = Error;
    fn try_from(time: Timestamp) -> Result<SystemTime> {
        let seconds = Duration::from_secs(time.seconds.unsigned_abs());
        let whole = if time.seconds < 0 {
            UNIX_EPOCH.checked_sub(seconds)
        } else {
            UNIX_EPOCH.checked_add(seconds)
        };
        whole
            .and_then(|whole| whole.checked_add(Duration::from_nanos(time.nanoseconds.into())))
            .ok_or_else(|| Error::argument(format!("{time:?} is beyond what SystemTime holds")))
    }
}

impl From<SystemTime> for Value {
    fn from(time: SystemTime) -> Value {
        Value::Timestamp(time.into())
    }
}
