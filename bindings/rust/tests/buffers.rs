//! Memory that the ranks of one host read where it is.
mod support;

use support::on_ranks;
use tutti::{scope, Complex, ReduceOp, Status};

#[test]
fn it_is_a_slice_of_zeros_of_any_length() {
    on_ranks(3, |group| {
        let mut data = group.alloc::<f64>(1000 * group.rank()).unwrap();
        assert_eq!(&data[..], vec![0.0; 1000 * group.rank()]);
        assert_eq!(data.as_ptr() as usize % 64, 0);
        data.fill(1.5);
        assert!(data.iter().all(|&element| element == 1.5));
        let complex = group.alloc::<Complex<f64>>(2).unwrap();
        assert_eq!(complex[1], Complex::new(0.0, 0.0));
        assert_eq!(format!("{:?}", group.alloc::<u8>(2).unwrap()), "[0, 0]");
    });
}

#[test]
fn operations_take_it_and_give_it_back() {
    on_ranks(2, |group| {
        let mut data = group.alloc::<i64>(5000).unwrap();
        data.fill(group.rank() as i64 + 1);
        group.all_reduce(&mut data, ReduceOp::SUM).unwrap();
        let mut data = group.start().all_reduce(data, ReduceOp::SUM).unwrap().wait().unwrap();
        let mut output = group.alloc::<i64>(5000).unwrap();
        scope(|scope| {
            let start = scope.start(group);
            drop(start.all_reduce(&mut data, ReduceOp::MAX).unwrap());
            drop(start.broadcast(&mut output, 1).unwrap());
        });
        scope(|scope| drop(scope.start(group).all_reduce_into(&data, &mut output, ReduceOp::SUM)));
        assert_eq!(&output[..], [12; 5000]);
        drop(group.start().all_reduce(data, ReduceOp::SUM).unwrap());
        group.barrier().unwrap();
    });
}

#[test]
fn it_stays_when_its_group_has_ended() {
    let kept = on_ranks(2, |group| {
        let mut data = group.alloc::<u32>(100).unwrap();
        data[99] = group.rank() as u32;
        data
    });
    assert_eq!([kept[0][99], kept[1][99]], [0, 1]);
}

#[test]
fn more_than_there_is_fails_on_every_rank_and_the_group_goes_on() {
    on_ranks(2, |group| {
        let len = if group.rank() == 1 { 1 << 58 } else { 1 };
        let error = group.alloc::<f64>(len).unwrap_err();
        assert_eq!((error.status(), error.rank()), (Status::OUT_OF_MEMORY, Some(1)));
        group.barrier().unwrap();
        for beyond in [usize::MAX, usize::MAX / 8] {
            let error = group.alloc::<f64>(beyond).unwrap_err();
            assert!(error.message().contains("len is"), "{error}");
        }
    });
}
