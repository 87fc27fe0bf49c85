//! The types that Rust does not have: all of their values.
mod support;

use support::on_ranks;
use tutti::{bf16, dtype_size, f16, raw, Bool, Dtype, Element, ReduceOp};

/// Converts with f64, whose numbers hold the exact sums, by the definition of the format.
fn value_of(bits: u16, exponent_bits: i32, fraction_bits: i32) -> f64 {
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1));
    let exponent = i32::from(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    let (bias, one) = ((1 << (exponent_bits - 1)) - 1, 2_f64.powi(fraction_bits));
    let size = match exponent {
        0 => fraction / one * 2_f64.powi(1 - bias),
        all if all == (1 << exponent_bits) - 1 && fraction == 0.0 => f64::INFINITY,
        all if all == (1 << exponent_bits) - 1 => f64::NAN,
        _ => (1.0 + fraction / one) * 2_f64.powi(exponent - bias),
    };
    if bits >> 15 == 1 {
        -size
    } else {
        size
    }
}

#[test]
fn every_short_float_is_the_number_it_should_be_and_comes_back() {
    for bits in 0..=u16::MAX {
        let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
        for (got, wanted) in
            [(f64::from(half), value_of(bits, 5, 10)), (f64::from(brain), value_of(bits, 8, 7))]
        {
            assert!(got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan());
        }
        let back = f16::from_f32(half.to_f32());
        assert!(back.to_bits() == bits || half.to_f32().is_nan() && back.to_f32().is_nan());
        let back = bf16::from_f32(brain.to_f32());
        assert!(back.to_bits() == bits || brain.to_f32().is_nan() && back.to_f32().is_nan());
    }
}

#[test]
fn numbers_between_two_short_floats_go_to_the_nearer_one_and_halves_to_the_even_one() {
    for bits in 0..0x7bff_u16 {
        let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
        let middle = (low.to_f32() + high.to_f32()) / 2.0; // exact: f32 has 13 bits more
        let even = if bits % 2 == 0 { low } else { high };
        assert_eq!(f16::from_f32(middle).to_bits(), even.to_bits());
        let (below, above) = (middle.to_bits() - 1, middle.to_bits() + 1);
        assert_eq!(f16::from_f32(f32::from_bits(below)).to_bits(), low.to_bits());
        assert_eq!(f16::from_f32(f32::from_bits(above)).to_bits(), high.to_bits());
    }
    for bits in 0..0x7f7f_u16 {
        let even = bits + bits % 2;
        let middle = u32::from(bits) << 16 | 0x8000;
        assert_eq!(bf16::from_f32(f32::from_bits(middle)).to_bits(), even);
        assert_eq!(bf16::from_f32(f32::from_bits(middle - 1)).to_bits(), bits);
        assert_eq!(bf16::from_f32(f32::from_bits(middle + 1)).to_bits(), bits + 1);
    }
    assert_eq!(f16::from_f32(65_519.9).to_f32(), 65_504.0);
    assert_eq!(f16::from_f32(-65_520.0).to_f32(), f32::NEG_INFINITY);
    assert_eq!(f16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    assert_eq!(bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
}

#[test]
fn the_library_calculates_with_them_as_rust_does() {
    on_ranks(2, |group| {
        let own = 0.1_f32 + group.rank() as f32;
        let mut half = [f16::from_f32(own)];
        group.all_reduce(&mut half, ReduceOp::SUM).unwrap();
        let sum = f16::from_f32(0.1).to_f32() + f16::from_f32(1.1).to_f32();
        assert_eq!(half, [f16::from_f32(sum)]);
        let mut brain = [bf16::from_f32(own)];
        group.all_reduce(&mut brain, ReduceOp::SUM).unwrap();
        let sum = bf16::from_f32(0.1).to_f32() + bf16::from_f32(1.1).to_f32();
        assert_eq!(brain, [bf16::from_f32(sum)]);
        let mut flags = [Bool::from(group.rank() == 1), true.into(), false.into()];
        group.all_reduce(&mut flags, ReduceOp::SUM).unwrap();
        assert_eq!(flags.map(Bool::get), [true, true, false]);
    });
}

fn size_is_the_librarys<T: Element>() {
    assert_eq!(dtype_size(T::DTYPE), std::mem::size_of::<T>(), "{:?}", T::DTYPE);
}

#[test]
fn sizes_are_the_librarys() {
    size_is_the_librarys::<i8>();
    size_is_the_librarys::<u16>();
    size_is_the_librarys::<f16>();
    size_is_the_librarys::<bf16>();
    size_is_the_librarys::<Bool>();
    size_is_the_librarys::<tutti::Complex<f32>>();
    size_is_the_librarys::<tutti::Complex<f64>>();
    assert_eq!(dtype_size(Dtype(99)), 0);
    // As the headers say.
    assert_eq!(std::mem::size_of::<raw::tutti_buffer>(), 64);
    assert_eq!(std::mem::size_of::<raw::tutti_object_item>(), 64);
    assert_eq!(std::mem::size_of::<raw::tutti_p2p_op>(), 96);
    assert_eq!(std::mem::size_of::<raw::tutti_error>(), 512);
}
