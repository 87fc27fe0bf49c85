//! The elements of arrays that travel.
use crate::raw;
use std::fmt;

pub use crate::raw::Dtype;

mod sealed {
    pub trait Sealed {}
}

/// A type of elements that the library knows, and whose every bit pattern is a value of it: Rust's
/// integers and floats, and for what Rust has no type of its own, [`struct@f16`], [`bf16`],
/// [`Complex`] and [`Bool`].
pub trait Element: Copy + Send + Sync + PartialEq + fmt::Debug + 'static + sealed::Sealed {
    /// The library's name of the type.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($element:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

elements! {
    i8 => INT8, u8 => UINT8, i16 => INT16, u16 => UINT16, i32 => INT32, u32 => UINT32,
    i64 => INT64, u64 => UINT64, f16 => FLOAT16, bf16 => BFLOAT16, f32 => FLOAT32,
    f64 => FLOAT64, Complex<f32> => COMPLEX64, Complex<f64> => COMPLEX128, Bool => BOOL,
}

/// Bytes of one element; 0 for a dtype that is not known.
pub fn dtype_size(dtype: Dtype) -> usize {
    unsafe { raw::tutti_dtype_size(dtype) as usize }
}

/// A bool in one byte. Rust's own must be 0 or 1; what another rank sends may be anything, and is
/// true if it is not 0.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The bool as Rust has it.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Bool {
        Bool(value.into())
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> bool {
        value.get()
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Bool) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

/// A complex number; of `f32` complex64, of `f64` complex128.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// `re + im i`.
    pub const fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}

/// A float16: 1 bit of sign, 5 of exponent, 10 of fraction. Rust calculates with `f32`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct f16(u16);

/// A bfloat16: the upper half of an `f32`. Rust calculates with `f32`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct bf16(u16);

macro_rules! short_floats {
    ($($float:ident),*) => {$(
        impl $float {
            /// The number of these bits.
            pub const fn from_bits(bits: u16) -> $float {
                $float(bits)
            }
            /// The bits of the number.
            pub const fn to_bits(self) -> u16 {
                self.0
            }
        }
        impl From<$float> for f32 {
            fn from(number: $float) -> f32 {
                number.to_f32()
            }
        }
        impl From<$float> for f64 {
            fn from(number: $float) -> f64 {
                number.to_f32().into()
            }
        }
        impl PartialEq for $float {
            fn eq(&self, other: &$float) -> bool {
                self.to_f32() == other.to_f32()
            }
        }
        impl PartialOrd for $float {
            fn partial_cmp(&self, other: &$float) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
        impl fmt::Debug for $float {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }
        impl fmt::Display for $float {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

short_floats!(f16, bf16);

/// `bits` without its last `count` bits, rounded to nearest, ties to even.
fn round_away(bits: u32, count: u32) -> u32 {
    let half = (1u32 << (count - 1)) - 1 + ((bits >> count) & 1);
    (bits + half) >> count
}

impl bf16 {
    /// The nearest bfloat16, ties to even.
    pub fn from_f32(number: f32) -> bf16 {
        let bits = number.to_bits();
        if number.is_nan() {
            return bf16((bits >> 16) as u16 | 0x40); // quiet, so that it stays one
        }
        bf16(round_away(bits, 16) as u16)
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl f16 {
    /// The nearest float16, ties to even; infinity from 65520 on.
    pub fn from_f32(number: f32) -> f16 {
        let sign = (number.to_bits() >> 16 & 0x8000) as u16;
        let size = number.to_bits() & 0x7fff_ffff;
        let bits = if number.is_nan() {
            0x7e00 | (size >> 13 & 0x3ff) as u16
        } else if size >= 0x4780_0000 {
            0x7c00 // 65536 and more
        } else if size >= 0x3880_0000 {
            round_away(size - 0x3800_0000, 13) as u16 // normal: the exponent's bias is 112 less
        } else {
            // Subnormal: a multiple of 2^-24, which adding 0.5 aligns and rounds.
            (f32::from_bits(size) + 0.5).to_bits() as u16
        };
        f16(sign | bits)
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        let (exponent, fraction) = (self.0 >> 10 & 0x1f, u32::from(self.0 & 0x3ff));
        let size = match exponent {
            0 => return self.sign() * fraction as f32 / 16_777_216.0,
            31 => 0x7f80_0000 | fraction << 13,
            _ => (u32::from(exponent) + 112) << 23 | fraction << 13,
        };
        f32::from_bits(size | u32::from(self.0 & 0x8000) << 16)
    }

    fn sign(self) -> f32 {
        if self.0 & 0x8000 == 0 {
            1.0
        } else {
            -1.0
        }
    }
}
