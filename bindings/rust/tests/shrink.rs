//! Shrinking a group, agreeing, revoking, aborting, and the work of a failure.
mod support;

use std::sync::{mpsc, Barrier, Mutex};
use std::time::Duration;
use support::{on_ranks, LONG};
use tutti::{wait_any, Group, ReduceOp, Result, ShrinkOptions, Status};

/// Ranks that have all made their group: what ends it then ends no making.
fn on_ranks_there(count: usize, function: impl Fn(&Group) + Sync) {
    let there = Barrier::new(count);
    on_ranks(count, |group| {
        there.wait();
        function(group);
    });
}

/// What the ranks of a group give together.
fn sum(group: &Group, value: usize) -> usize {
    let mut data = [value as u64];
    group.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    data[0] as usize
}

fn status<T: std::fmt::Debug>(result: Result<T>) -> Status {
    result.unwrap_err().status()
}

#[test]
fn wrong_arguments_are_refused() {
    on_ranks(2, |group| {
        let (rank, other) = (group.rank(), 1 - group.rank());
        for wrong in [&[rank][..], &[other, other], &[2], &[usize::MAX]] {
            let error = group.shrink(wrong, &ShrinkOptions::default()).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ARGUMENT, "{error}");
            assert!(error.message().contains("ranks_to_exclude"), "{error}");
        }
        for min_size in [3, usize::MAX] {
            let options = ShrinkOptions { min_size, ..ShrinkOptions::default() };
            assert_eq!(status(group.shrink(&[other], &options)), Status::INVALID_ARGUMENT);
        }
        let options = ShrinkOptions { description: Some("a\0b"), ..ShrinkOptions::default() };
        assert_eq!(status(group.shrink(&[other], &options)), Status::INVALID_ARGUMENT);
        assert_eq!(status(group.revoke(Some("a\0b"))), Status::INVALID_ARGUMENT);
        // What all ranks see together.
        let nobody = group.shrink(&[], &ShrinkOptions::default());
        assert_eq!(status(nobody), Status::INVALID_ARGUMENT);
        assert_eq!(sum(group, rank), 1);
    });
}

#[test]
fn the_others_go_on_without_an_excluded_rank() {
    on_ranks_there(3, |group| {
        if group.rank() == 1 {
            assert_eq!(status(group.barrier()), Status::ABORTED);
            assert_eq!(status(group.shrink(&[], &ShrinkOptions::default())), Status::ABORTED);
            return;
        }
        let (description, timeout) = (Some("pair"), LONG.into());
        let options = ShrinkOptions { description, min_size: 2, timeout, abort: false };
        let pair = group.shrink(&[1], &options).unwrap();
        assert_eq!((pair.rank(), pair.world_size()), (group.rank() / 2, 2));
        assert_eq!((pair.ranks().unwrap(), pair.name().unwrap()), (vec![0, 2], "pair".into()));
        assert_eq!(sum(&pair, group.rank()), 2);
        assert_eq!(status(group.barrier()), Status::ABORTED);
        assert_eq!((group.rank() < 3, group.world_size()), (true, 3));
        pair.destroy().unwrap();
    });
}

#[test]
fn a_revoked_group_is_shrunk_by_all() {
    on_ranks_there(3, |group| {
        let failure = group.failure().unwrap();
        let (tell, told) = mpsc::channel();
        failure.then(move |result| tell.send(result).unwrap()).unwrap();
        if group.rank() == 2 {
            assert!(!failure.is_completed());
            group.revoke(Some("the loss is no number")).unwrap();
        }
        assert_eq!(wait_any(&[&failure], LONG).unwrap(), 0);
        let error = failure.wait().unwrap_err();
        assert_eq!((error.status(), error.rank()), (Status::ABORTED, Some(2)));
        assert!(error.message().contains("the loss is no number"), "{error}");
        assert_eq!(status(told.recv().unwrap()), Status::ABORTED);
        assert_eq!(status(group.barrier()), Status::ABORTED);
        let options = ShrinkOptions { abort: true, ..ShrinkOptions::default() };
        let again = group.shrink(&[], &options).unwrap();
        assert_eq!((again.rank(), again.world_size()), (group.rank(), 3));
        assert_eq!(sum(&again, 1), 3);
        again.destroy().unwrap();
    });
}

#[test]
fn abort_ends_operations() {
    on_ranks_there(2, |group| {
        let failure = group.failure().unwrap();
        if group.rank() == 0 {
            let work = group.start().recv(vec![0_u8], 1, 0).unwrap();
            group.abort().unwrap();
            assert_eq!(status(work.wait()), Status::ABORTED);
        }
        assert_eq!(status(failure.wait()), Status::ABORTED);
    });
}

#[test]
fn ranks_agree() {
    on_ranks(3, |group| {
        let all = 1 << 63 | 7;
        assert_eq!(group.agree(all & !(1 << group.rank())).unwrap(), 1 << 63);
        assert_eq!(group.with_timeout(LONG).agree(u64::MAX).unwrap(), u64::MAX);
    });
}

#[test]
fn a_rank_that_does_not_agree_is_named() {
    let (tell, told) = mpsc::channel::<()>();
    let (tell, told) = (Mutex::new(Some(tell)), Mutex::new(told));
    on_ranks(2, |group| {
        if group.rank() == 1 {
            let _ = told.lock().unwrap().recv();
            return;
        }
        let error = group.with_timeout(Duration::from_millis(50)).agree(1).unwrap_err();
        drop(tell.lock().unwrap().take());
        assert_eq!((error.status(), error.rank()), (Status::TIMEOUT, Some(1)));
    });
}
