//! Every collective, for every type of elements: blocking, owning its memory, and in a scope; the
//! reference is what ten lines do on one rank.
mod support;

use std::time::Duration;
use support::{on_ranks, on_ranks_with};
use tutti::{bf16, f16, Bool, Complex, Element, Group, GroupOptions, ReduceOp, Status};

const RANKS: usize = 3;

/// The value of rank `rank` at `place`: small whole numbers, exact in every type.
trait Sample: Element {
    fn sample(number: usize) -> Self;
}

macro_rules! samples {
    ($($number:ident => $element:ty: $value:expr;)*) => {$(
        impl Sample for $element {
            fn sample($number: usize) -> Self {
                $value
            }
        }
    )*};
}

samples! {
    n => i8: n as i8; n => u8: n as u8; n => i16: n as i16; n => u16: n as u16;
    n => i32: n as i32; n => u32: n as u32; n => i64: n as i64; n => u64: n as u64;
    n => f32: n as f32; n => f64: n as f64; n => Bool: (n > 0).into();
    n => f16: f16::from_f32(n as f32); n => bf16: bf16::from_f32(n as f32);
    n => Complex<f32>: Complex::new(n as f32, 2.0 * n as f32);
    n => Complex<f64>: Complex::new(n as f64, 2.0 * n as f64);
}

fn given<T: Sample>(rank: usize, count: usize) -> Vec<T> {
    (0..count).map(|place| T::sample((rank + 1) * (place % 5))).collect()
}

fn sum_of<T: Sample>(count: usize) -> Vec<T> {
    let ranks = RANKS * (RANKS + 1) / 2;
    (0..count).map(|place| T::sample(ranks * (place % 5))).collect()
}

/// Every rank's, one after the other.
fn all_given<T: Sample>(count: usize) -> Vec<T> {
    (0..RANKS).flat_map(|rank| given(rank, count)).collect()
}

fn check_reductions<T: Sample>(group: &Group) {
    let (rank, sum) = (group.rank(), sum_of::<T>(10));
    let mut data = given::<T>(rank, 10);
    group.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    assert_eq!(data, sum);

    let mut output = given::<T>(0, 10);
    group.all_reduce_into(&given::<T>(rank, 10), &mut output, ReduceOp::SUM).unwrap();
    assert_eq!(output, sum);
    let work = group.start().all_reduce(given::<T>(rank, 10), ReduceOp::SUM).unwrap();
    assert_eq!(work.wait().unwrap(), sum);
    let (input, output) = (given::<T>(rank, 10), given::<T>(0, 10));
    let work = group.start().all_reduce_into(input, output, ReduceOp::SUM).unwrap();
    assert_eq!(work.wait().unwrap(), sum);

    let mut data = given::<T>(rank, 10);
    group.reduce(&mut data, ReduceOp::SUM, 1).unwrap();
    assert_eq!(data, if rank == 1 { sum.clone() } else { given(rank, 10) });
    let mut output = (rank == 1).then(|| given::<T>(0, 10));
    let input = given::<T>(rank, 10);
    group.reduce_into(&input, output.as_deref_mut(), ReduceOp::SUM, 1).unwrap();
    assert!(output.map_or(true, |output| output == sum));
    let work = group.start().reduce(given::<T>(rank, 10), ReduceOp::SUM, 2).unwrap();
    assert_eq!(work.wait().unwrap(), if rank == 2 { sum.clone() } else { given(rank, 10) });
    let output = (rank == 2).then(|| given::<T>(0, 10));
    let work = group.start().reduce_into(given::<T>(rank, 10), output, ReduceOp::SUM, 2).unwrap();
    assert_eq!(work.wait().unwrap(), (rank == 2).then_some(sum));
}

fn check_scattered_sums<T: Sample>(group: &Group) {
    let rank = group.rank();
    let inputs: Vec<Vec<T>> = (0..RANKS).map(|place| given(rank, place + 1)).collect();
    let lists: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
    let mut part = given::<T>(0, rank + 1);
    group.reduce_scatter(&lists, &mut part, ReduceOp::SUM).unwrap();
    assert_eq!(part, sum_of(rank + 1));
    let part = given::<T>(0, rank + 1);
    let work = group.start().reduce_scatter(inputs, part, ReduceOp::SUM).unwrap();
    assert_eq!(work.wait().unwrap(), sum_of(rank + 1));

    let (input, mut part) = (given::<T>(rank, 10 * RANKS), given::<T>(0, 10));
    group.reduce_scatter_tensor(&input, &mut part, ReduceOp::SUM).unwrap();
    assert_eq!(part, sum_of(10));
    let work = group.start().reduce_scatter_tensor(input, part, ReduceOp::SUM).unwrap();
    assert_eq!(work.wait().unwrap(), sum_of(10));
}

fn check_gathering<T: Sample>(group: &Group) {
    let (rank, input) = (group.rank(), given::<T>(group.rank(), 4));
    let mut rows = vec![given::<T>(7, 4); RANKS];
    let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    group.all_gather(&input, &mut places).unwrap();
    assert_eq!(rows.concat(), all_given(4));
    let mut rows = vec![given::<T>(7, 4); RANKS];
    rows[rank] = input.clone();
    let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    group.all_gather_in_place(&mut places).unwrap();
    assert_eq!(rows.concat(), all_given(4));
    let work = group.start().all_gather(input.clone(), vec![given::<T>(7, 4); RANKS]).unwrap();
    assert_eq!(work.wait().unwrap().concat(), all_given(4));
    let mut rows = vec![given::<T>(7, 4); RANKS];
    rows[rank] = input.clone();
    let work = group.start().all_gather_in_place(rows).unwrap();
    assert_eq!(work.wait().unwrap().concat(), all_given(4));

    let mut all = given::<T>(7, 4 * RANKS);
    group.all_gather_into_tensor(&input, &mut all).unwrap();
    assert_eq!(all, all_given(4));
    let mut all = given::<T>(7, 4 * RANKS);
    all[4 * rank..4 * rank + 4].copy_from_slice(&input);
    group.all_gather_into_tensor_in_place(&mut all).unwrap();
    assert_eq!(all, all_given(4));
    let work = group.start().all_gather_into_tensor(input.clone(), all).unwrap();
    let work = group.start().all_gather_into_tensor_in_place(work.wait().unwrap()).unwrap();
    assert_eq!(work.wait().unwrap(), all_given(4));
}

fn check_one_to_all<T: Sample>(group: &Group) {
    let (rank, input) = (group.rank(), given::<T>(group.rank(), 4));
    let mut data = input.clone();
    group.broadcast(&mut data, 2).unwrap();
    assert_eq!(data, given(2, 4));
    let work = group.start().broadcast(input.clone(), 1).unwrap();
    assert_eq!(work.wait().unwrap(), given(1, 4));

    let mut rows = vec![given::<T>(7, 4); if rank == 0 { RANKS } else { 0 }];
    let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    group.gather(&input, &mut places, 0).unwrap();
    assert!(rank != 0 || rows.concat() == all_given(4));
    if rank == 0 {
        let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
        group.gather_in_place(&mut places, 0).unwrap();
        assert_eq!(rows.concat(), all_given(4));
        let work = group.start().gather_in_place(rows.clone(), 0).unwrap();
        assert_eq!(work.wait().unwrap().concat(), all_given(4));
    } else {
        group.gather(&input, &mut [], 0).unwrap();
        let none = Vec::<Vec<T>>::new();
        group.start().gather(input.clone(), none, 0).unwrap().wait().unwrap();
    }

    let lists: Vec<&[T]> = rows.iter().map(Vec::as_slice).collect();
    let mut piece = given::<T>(7, 4);
    group.scatter(&lists, &mut piece, 0).unwrap();
    assert_eq!(piece, input);
    if rank == 0 {
        group.scatter_in_place(&lists, 0).unwrap();
        group.start().scatter_in_place(rows.clone(), 0).unwrap().wait().unwrap();
    } else {
        group.scatter(&[], &mut piece, 0).unwrap();
        let work = group.start().scatter(Vec::<Vec<T>>::new(), piece, 0).unwrap();
        assert_eq!(work.wait().unwrap(), input);
    }
}

fn check_all_to_all<T: Sample>(group: &Group) {
    let rank = group.rank();
    // The data from rank a to rank b: a + b + 1 elements.
    let piece = |from: usize, to: usize| given::<T>(10 * from + to, from + to + 1);
    let inputs: Vec<Vec<T>> = (0..RANKS).map(|to| piece(rank, to)).collect();
    let wanted: Vec<Vec<T>> = (0..RANKS).map(|from| piece(from, rank)).collect();
    let lists: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
    let mut rows: Vec<Vec<T>> = (0..RANKS).map(|from| given(3, from + rank + 1)).collect();
    let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    group.all_to_all(&lists, &mut places).unwrap();
    assert_eq!(rows, wanted);
    let work = group.start().all_to_all(inputs.clone(), rows).unwrap();
    assert_eq!(work.wait().unwrap(), wanted);
    let mut rows = inputs.clone();
    let mut places: Vec<&mut [T]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    group.all_to_all_in_place(&mut places).unwrap();
    assert_eq!(rows, wanted);
    let work = group.start().all_to_all_in_place(inputs.clone()).unwrap();
    assert_eq!(work.wait().unwrap(), wanted);

    let splits: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let (flat, mut output) = (inputs.concat(), given::<T>(3, splits.iter().sum()));
    group.all_to_all_single_with_splits(&flat, &splits, &mut output, &splits).unwrap();
    assert_eq!(output, wanted.concat());
    let start = group.start();
    let work = start.all_to_all_single_with_splits(flat, &splits, output, &splits).unwrap();
    assert_eq!(work.wait().unwrap(), wanted.concat());

    let equal: Vec<T> = (0..RANKS).flat_map(|to| given(10 * rank + to, 2)).collect();
    let wanted: Vec<T> = (0..RANKS).flat_map(|from| given(10 * from + rank, 2)).collect();
    let mut output = given::<T>(3, 2 * RANKS);
    group.all_to_all_single(&equal, &mut output).unwrap();
    assert_eq!(output, wanted);
    let mut output = equal.clone();
    group.all_to_all_single_in_place(&mut output).unwrap();
    assert_eq!(output, wanted);
    let work = group.start().all_to_all_single(equal.clone(), output).unwrap();
    assert_eq!(work.wait().unwrap(), wanted);
    let work = group.start().all_to_all_single_in_place(equal).unwrap();
    assert_eq!(work.wait().unwrap(), wanted);
}

fn check_all<T: Sample>(group: &Group) {
    check_reductions::<T>(group);
    check_scattered_sums::<T>(group);
    check_gathering::<T>(group);
    check_one_to_all::<T>(group);
    check_all_to_all::<T>(group);
}

#[test]
fn every_collective_with_every_type() {
    on_ranks(RANKS, |group| {
        check_all::<i8>(group);
        check_all::<u8>(group);
        check_all::<i16>(group);
        check_all::<u16>(group);
        check_all::<i32>(group);
        check_all::<u32>(group);
        check_all::<i64>(group);
        check_all::<u64>(group);
        check_all::<f16>(group);
        check_all::<bf16>(group);
        check_all::<f32>(group);
        check_all::<f64>(group);
        check_all::<Complex<f32>>(group);
        check_all::<Complex<f64>>(group);
        check_all::<Bool>(group);
    });
}

#[test]
fn operators_do_what_they_say() {
    on_ranks(RANKS, |group| {
        let mine = [group.rank() as i32 + 1, 7 - group.rank() as i32];
        for (op, wanted) in [
            (ReduceOp::SUM, [6, 18]),
            (ReduceOp::PRODUCT, [6, 210]),
            (ReduceOp::MIN, [1, 5]),
            (ReduceOp::MAX, [3, 7]),
            (ReduceOp::BAND, [0, 4]),
            (ReduceOp::BOR, [3, 7]),
            (ReduceOp::BXOR, [0, 4]),
        ] {
            let mut data = mine;
            group.all_reduce(&mut data, op).unwrap();
            assert_eq!(data, wanted, "{op:?}");
        }
        let mut mean = [group.rank() as f64];
        group.all_reduce(&mut mean, ReduceOp::AVG).unwrap();
        assert_eq!(mean, [1.0]);
    });
}

#[test]
fn barriers_and_empty_buffers() {
    on_ranks(RANKS, |group| {
        group.barrier().unwrap();
        group.start().barrier().unwrap().wait().unwrap();
        group.monitored_barrier(true).unwrap();
        let error = group.breakpoint(RANKS).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        let mut nothing: [f32; 0] = [];
        group.all_reduce(&mut nothing, ReduceOp::SUM).unwrap();
        group.broadcast(&mut nothing, 0).unwrap();
    });
}

#[test]
fn a_reproducible_group_adds_the_same_bits_however_the_addends_are_spread() {
    let addends: Vec<f64> = (0..6).map(|k| (0.1 + k as f64).powi(7) * 1e-3).collect();
    let options = GroupOptions { reproducible: true, ..Default::default() };
    let sum_on = |ranks: usize| {
        on_ranks_with(ranks, options, |group| {
            assert!(group.is_reproducible());
            let mine: Vec<[f64; 1]> =
                addends.iter().skip(group.rank()).step_by(ranks).map(|&a| [a]).collect();
            let lists: Vec<&[f64]> = mine.iter().map(|a| &a[..]).collect();
            let mut sum = [0.0];
            group.all_reduce_addends(&lists, &mut sum, ReduceOp::SUM).unwrap();
            let rows = mine.iter().map(|a| a.to_vec()).collect();
            let work = group.start().all_reduce_addends(rows, vec![0.0], ReduceOp::SUM).unwrap();
            assert_eq!(work.wait().unwrap()[0].to_bits(), sum[0].to_bits());
            sum[0].to_bits()
        })
    };
    let alone = sum_on(1)[0];
    for ranks in 2..=4 {
        assert!(sum_on(ranks).iter().all(|&bits| bits == alone));
    }
}

#[test]
fn bad_arguments_are_errors_that_name_them() {
    on_ranks(2, |group| {
        let mut data = [1.0_f32; 2];
        let error = group.broadcast(&mut data, usize::MAX).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        assert!(error.message().contains("src"), "{error}");
        let error = group.broadcast(&mut data, 2).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        assert!(error.message().contains(": src is 2"), "{error}");
        let error = group.all_reduce(&mut data, ReduceOp::BAND).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        let error = group.all_reduce(&mut data, ReduceOp(123_456)).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        let mut one = [0_i32];
        assert!(group.all_gather_into_tensor(&[1, 2], &mut one).is_err());
        let error = group.all_gather(&[1], &mut [&mut one]).unwrap_err();
        assert!(error.message().contains("outputs.len() is 1"), "{error}");
        assert!(group.all_reduce_addends(&[], &mut data, ReduceOp::SUM).is_err());
        let mut two = [0_i32; 2];
        let error =
            group.all_to_all_single_with_splits(&[1, 2], &[2], &mut two, &[1, 1]).unwrap_err();
        assert!(error.message().contains("input_splits has 1"), "{error}");
        assert!(group.all_to_all_single_with_splits(&[1, 2], &[2, 1], &mut two, &[1, 1]).is_err());
    });
}

#[test]
fn what_is_called_after_the_end_is_an_error() {
    on_ranks(2, |group| {
        let other = group.new_group(None, &Default::default()).unwrap().unwrap();
        other.destroy().unwrap();
        let mut data = [1.0_f32];
        let error = other.all_reduce(&mut data, ReduceOp::SUM).unwrap_err();
        assert!([Status::INVALID_HANDLE, Status::ABORTED].contains(&error.status()), "{error}");
        assert!(other.start().barrier().is_err());
        assert_eq!(other.destroy().unwrap_err().status(), Status::INVALID_HANDLE);
    });
}

#[test]
fn ranks_that_disagree_are_told_and_a_timeout_ends_a_wait() {
    let errors = on_ranks(2, |group| {
        let mut data = vec![1.0_f32; 4 + group.rank()];
        group.all_reduce(&mut data, ReduceOp::SUM).unwrap_err()
    });
    assert!(errors.iter().all(|error| error.status() == Status::MISMATCH), "{errors:?}");
    let error = on_ranks(2, |group| {
        let soon = group.with_timeout(Duration::from_millis(30));
        (group.rank() == 0).then(|| soon.barrier().unwrap_err())
    });
    assert!(error[0].is_some());
}
