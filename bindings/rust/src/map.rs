//! Maps of values, by strings and integers.
use crate::error::Error;
use crate::value::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The key of a map: a string or an integer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// An integer up to 2^63 - 1.
    Int(i64),
    /// An integer from 2^63 on; less must be [`Key::Int`], as [`From`] makes it.
    UInt(u64),
    /// A text.
    String(String),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Int(number) => fmt::Debug::fmt(number, f),
            Key::UInt(number) => fmt::Debug::fmt(number, f),
            Key::String(text) => fmt::Debug::fmt(text, f),
        }
    }
}

macro_rules! integer_keys {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Key {
            fn from(number: $integer) -> Key {
                match i64::try_from(number) {
                    Ok(number) => Key::Int(number),
                    Err(_) => Key::UInt(number as u64),
                }
            }
        }
    )*};
}

integer_keys!(i32, u32, i64, u64, usize);

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::String(text.to_owned())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Key {
        Key::String(text)
    }
}

impl TryFrom<Value> for Key {
    type Error = Error;
    fn try_from(value: Value) -> Result<Key, Error> {
        match value {
            Value::Int(number) => Ok(number.into()),
            Value::UInt(number) => Ok(number.into()),
            Value::String(text) => Ok(text.into()),
            other => Err(Error::argument(format!("a key cannot be {}", other.kind()))),
        }
    }
}

/// Values by key, in the order in which the keys came; comparing ignores it. Keys are found by
/// looking at each: of large maps that are asked often, make a `HashMap`.
#[derive(Clone, Default)]
pub struct Map {
    pairs: Vec<(Key, Value)>,
}

impl Map {
    /// A map with nothing in it.
    pub fn new() -> Map {
        Map::default()
    }

    /// The pairs of what was received, whose keys are known to differ.
    pub(crate) fn of_pairs(pairs: Vec<(Key, Value)>) -> Map {
        Map { pairs }
    }

    /// The value of a key.
    pub fn get(&self, key: impl Into<Key>) -> Option<&Value> {
        let key = key.into();
        self.pairs.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Sets the value of a key; gives back the one it had.
    pub fn insert(&mut self, key: impl Into<Key>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.pairs.iter_mut().find(|(other, _)| *other == key) {
            Some((_, place)) => Some(std::mem::replace(place, value)),
            None => {
                self.pairs.push((key, value));
                None
            }
        }
    }

    /// Takes a key out, with its value.
    pub fn remove(&mut self, key: impl Into<Key>) -> Option<Value> {
        let key = key.into();
        let place = self.pairs.iter().position(|(other, _)| *other == key)?;
        Some(self.pairs.remove(place).1)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        let sorted = |map: &Map| -> BTreeMap<Key, usize> {
            map.pairs.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect()
        };
        let (mine, theirs) = (sorted(self), sorted(other));
        mine.len() == theirs.len()
            && mine
                .iter()
                .zip(&theirs)
                .all(|((a, &i), (b, &j))| a == b && self.pairs[i].1 == other.pairs[j].1)
    }
}

impl Eq for Map {}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Map {
    /// For a key that comes twice the last value counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Map {
        let (mut all, mut places) = (Vec::new(), HashMap::new());
        for (key, value) in pairs {
            let (key, value) = (key.into(), value.into());
            let place = *places.entry(key.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((key, value));
            } else {
                all[place].1 = value;
            }
        }
        Map { pairs: all }
    }
}

impl<K: Into<Key>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Map {
    fn from(pairs: [(K, V); N]) -> Map {
        pairs.into_iter().collect()
    }
}

impl IntoIterator for Map {
    type Item = (Key, Value);
    type IntoIter = std::vec::IntoIter<(Key, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.pairs.into_iter()
    }
}

impl<K: Into<Key>, V: Into<Value>> From<HashMap<K, V>> for Value {
    fn from(map: HashMap<K, V>) -> Value {
        Value::Map(map.into_iter().collect())
    }
}

impl<K: Into<Key>, V: Into<Value>> From<BTreeMap<K, V>> for Value {
    fn from(map: BTreeMap<K, V>) -> Value {
        Value::Map(map.into_iter().collect())
    }
}

impl<V: TryFrom<Value, Error = Error>> TryFrom<Value> for HashMap<Key, V> {
    type Error = Error;
    fn try_from(value: Value) -> Result<HashMap<Key, V>, Error> {
        let pairs = Map::try_from(value)?.into_iter();
        pairs.map(|(key, value)| Ok((key, V::try_from(value)?))).collect()
    }
}
