//! Reduce ops that programs make.
mod support;

use std::panic::panic_any;
use std::sync::Arc;
use support::{on_ranks, PanicsAgain, LONG};
use tutti::{scope, Complex, CustomOp, ReduceOp, Status};

#[test]
fn a_sum_with_a_factor_of_each_rank() {
    on_ranks(3, |group| {
        let op = CustomOp::premul_sum(group.rank() as f64 + 1.0).unwrap();
        let mut data = [1.0_f64, 10.0];
        group.all_reduce(&mut data, &op).unwrap();
        assert_eq!(data, [6.0, 60.0]);
        let mut complex = [Complex::new(1.0_f32, -1.0)];
        group.all_reduce(&mut complex, op.clone()).unwrap();
        assert_eq!(complex, [Complex::new(6.0, -6.0)]);
        let refused = group.all_reduce(&mut [1.0_f64], ReduceOp::PREMUL_SUM).unwrap_err();
        assert_eq!(refused.status(), Status::INVALID_ARGUMENT);
    });
}

/// The number of larger magnitude.
fn furthest(input: &[i32], inout: &mut [i32]) {
    for (place, &other) in inout.iter_mut().zip(input) {
        if other.abs() > place.abs() {
            *place = other;
        }
    }
}

#[test]
fn a_function_of_the_program() {
    on_ranks(3, |group| {
        let op = CustomOp::new("furthest", furthest).unwrap();
        let mut data = [[1, -9, 2], [5, 4, -3], [-7, 0, 1]][group.rank()];
        group.all_reduce(&mut data, &op).unwrap();
        assert_eq!(data, [-7, -9, -3]);
        let work = group.start().all_reduce(vec![group.rank() as i32 - 5; 1000], op).unwrap();
        assert_eq!(work.wait().unwrap(), [-5; 1000]);
    });
}

#[test]
fn an_op_outlives_the_operations_that_were_started_with_it() {
    on_ranks(2, |group| {
        let told = Arc::new(());
        let kept = told.clone();
        let op = CustomOp::new("max", move |input: &[u64], inout: &mut [u64]| {
            let _ = &kept;
            inout.iter_mut().zip(input).for_each(|(place, &other)| *place = other.max(*place));
        })
        .unwrap();
        let mut data = [group.rank() as u64; 100];
        scope(|scope| {
            let work = scope.start(group).all_reduce(&mut data, op).unwrap();
            drop(work);
        });
        assert_eq!(data, [1; 100]);
        // The function is freed with the last operation, by the thread that ends it.
        while Arc::strong_count(&told) > 1 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn an_op_that_keeps_the_order_of_the_ranks() {
    on_ranks(4, |group| {
        let rank = group.rank() as u32;
        let op = CustomOp::non_commutative("concatenate", |left: &[u32], right: &mut [u32]| {
            right.iter_mut().zip(left).for_each(|(b, &a)| *b += a * 10_u32.pow(digits(*b)));
        })
        .unwrap();
        let mut data = [rank + 1];
        group.all_reduce(&mut data, &op).unwrap();
        assert_eq!(data, [1234]);
    });
}

fn digits(number: u32) -> u32 {
    number.to_string().len() as u32
}

#[test]
fn a_function_that_panics_or_is_of_another_type_fails_the_operation() {
    for panics in [true, false] {
        let errors = on_ranks(2, |group| {
            let op = CustomOp::new("broken", |_: &[f32], _: &mut [f32]| panic_any(PanicsAgain));
            let op = op.unwrap();
            match panics {
                true => group.with_timeout(LONG).all_reduce(&mut [1.0_f32; 64], &op).unwrap_err(),
                false => group.with_timeout(LONG).all_reduce(&mut [1_i32; 64], &op).unwrap_err(),
            }
        });
        assert!(errors.iter().any(|error| error.status() == Status::BACKEND), "{errors:?}");
    }
}

#[test]
fn names_are_checked() {
    assert!(CustomOp::new("", furthest).is_err());
    assert!(CustomOp::new("n\0l", furthest).unwrap_err().message().contains("name"));
    assert!(CustomOp::new(&"n".repeat(65), furthest).is_err());
}
