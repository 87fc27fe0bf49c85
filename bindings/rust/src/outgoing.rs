//! The values that go out in object collectives and messages.
use crate::error::Result;
use crate::memory::Borrowed;
use crate::object::Object;
use crate::raw;
use crate::value::Value;
use std::fmt;

/// The argument that an object collective sends: a [`Value`], whatever becomes one, or an
/// [`Object`], whose arrays may lie in memory of the program's
/// ([`ObjectBuilder::borrow_array`](crate::ObjectBuilder::borrow_array)).
pub struct Outgoing<'a>(What<'a>);

enum What<'a> {
    Given(Value),
    Lent(&'a Value),
    Object(&'a Object<'a>),
}

impl<T: Into<Value>> From<T> for Outgoing<'_> {
    fn from(value: T) -> Self {
        Outgoing(What::Given(value.into()))
    }
}

impl<'a> From<&'a Value> for Outgoing<'a> {
    fn from(value: &'a Value) -> Self {
        Outgoing(What::Lent(value))
    }
}

impl<'a> From<&'a Object<'_>> for Outgoing<'a> {
    fn from(object: &'a Object<'_>) -> Self {
        Outgoing(What::Object(object))
    }
}

impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            What::Given(value) => fmt::Debug::fmt(value, f),
            What::Lent(value) => fmt::Debug::fmt(value, f),
            What::Object(object) => fmt::Debug::fmt(object, f),
        }
    }
}

/// An object that C has been given, and all that it borrows from.
pub(crate) enum Packed<'a> {
    // Dropped in this order.
    Made { object: Object<'a>, _lender: Option<Borrowed<Value>> },
    Lent(&'a Object<'a>),
}

impl<'a> Packed<'a> {
    pub(crate) fn new(outgoing: impl Into<Outgoing<'a>>) -> Result<Packed<'a>> {
        Ok(match outgoing.into().0 {
            What::Given(value) => {
                let value = Borrowed::new(value);
                // Safety: what the object borrows of it is on the heap, and is dropped later.
                let lent = unsafe { &*(value.get() as *const Value) };
                Packed::Made { object: Object::from_value_borrowed(lent)?, _lender: Some(value) }
            }
            What::Lent(value) => {
                Packed::Made { object: Object::from_value_borrowed(value)?, _lender: None }
            }
            What::Object(object) => Packed::Lent(object),
        })
    }

    pub(crate) fn all<V>(values: impl IntoIterator<Item = V>) -> Result<Vec<Packed<'a>>>
    where
        V: Into<Outgoing<'a>>,
    {
        values.into_iter().map(Packed::new).collect()
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_object {
        match self {
            Packed::Made { object, .. } => object.raw(),
            Packed::Lent(object) => object.raw(),
        }
    }
}
