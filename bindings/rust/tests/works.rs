//! Operations that run while the caller goes on: what their works say, and who keeps the memory.
mod support;

use std::mem::forget;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{on_ranks, PanicsAgain, LONG};
use tutti::{scope, wait_all, wait_any, Group, P2pOp, Pending, ReduceOp, Source, Status, Work};

const SOON: Duration = Duration::from_millis(10);

#[test]
fn a_work_tells_how_it_stands() {
    on_ranks(2, |group| {
        let work = group.start().all_reduce(vec![1_i64; 8], ReduceOp::SUM).unwrap();
        work.wait_for(LONG).unwrap();
        assert!(work.is_completed() && work.is_success());
        assert_eq!(work.error(), None);
        assert_eq!(work.op_type(), Some("all_reduce"));
        assert_eq!(work.sequence_number().unwrap(), 1);
        assert!(work.duration().unwrap() < LONG);
        assert_eq!(work.source_rank(), None);
        assert_eq!(work.wait().unwrap(), [2; 8]);
    });
}

/// Rank 1 waits for a message of rank 0, which sends it when it is told to.
fn with_a_late_message(check: impl Fn(&Group, &dyn Fn()) + Sync) {
    on_ranks(2, |group| match group.rank() {
        0 => {
            group.recv(&mut [0_u8], 1, 9).unwrap();
            group.send(&[4.0_f32, 5.0], 1, 3).unwrap();
        }
        _ => check(group, &|| group.send(&[0_u8], 0, 9).unwrap()),
    });
}

#[test]
fn a_wait_that_expires_leaves_the_operation_running() {
    with_a_late_message(|group, go| {
        let work = group.start().recv(vec![0.0_f32; 2], Source::Any, 3).unwrap();
        assert_eq!(work.wait_for(SOON).unwrap_err().status(), Status::PENDING);
        assert!(!work.is_completed() && !work.is_success());
        assert!(work.error().is_none() && work.duration().is_none());
        go();
        work.wait_for(LONG).unwrap();
        assert_eq!(work.source_rank(), Some(0));
        assert_eq!(work.wait().unwrap(), [4.0, 5.0]);
    });
}

#[test]
fn many_threads_wait_for_one_work() {
    with_a_late_message(|group, go| {
        let work = group.start().recv(vec![0.0_f32; 2], 0, 3).unwrap();
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| work.wait_for(LONG).unwrap());
            }
            go();
        });
        assert_eq!(work.wait().unwrap(), [4.0, 5.0]);
    });
}

#[test]
fn what_a_dropped_work_owns_stays_until_it_is_done() {
    with_a_late_message(|group, go| {
        drop(group.start().recv(vec![0.0_f32; 2], 0, 3).unwrap());
        go();
        // The message goes where it is due, and the next one is not taken for it.
        let next = group.start().recv(vec![0.0_f32; 2], 0, 3).unwrap();
        assert!(next.wait_for(SOON).is_err());
    });
}

#[test]
fn a_scope_waits_for_works_that_were_dropped_or_forgotten() {
    for leak in [false, true] {
        with_a_late_message(|group, go| {
            let mut data = [0.0_f32; 2];
            scope(|scope| {
                let work = scope.start(group).recv(&mut data, 0, 3).unwrap();
                match leak {
                    true => forget(work),
                    false => drop(work),
                }
                go();
            });
            assert_eq!(data, [4.0, 5.0]);
        });
    }
}

#[test]
fn a_scope_waits_when_its_function_panics() {
    with_a_late_message(|group, go| {
        let mut data = [0.0_f32; 2];
        let panic = catch_unwind(AssertUnwindSafe(|| {
            scope(|scope| {
                let _work = scope.start(group).recv(&mut data, 0, 3).unwrap();
                go();
                panic!("on purpose");
            })
        }));
        assert!(panic.is_err());
        assert_eq!(data, [4.0, 5.0]);
    });
}

#[test]
fn a_scope_lends_memory_for_reading_to_several_operations() {
    on_ranks(2, |group| {
        let shared = vec![group.rank() as i32 + 1; 4];
        let (mut sum, mut product) = ([0; 4], vec![0; 4]);
        scope(|scope| {
            let start = scope.start(group);
            let first = start.all_reduce_into(&shared, &mut sum, ReduceOp::SUM).unwrap();
            let second = start.all_reduce_into(&shared, &mut product, ReduceOp::PRODUCT).unwrap();
            assert_eq!(second.wait().unwrap()[0], 2);
            assert_eq!(first.wait().unwrap()[0], 3);
        });
        assert_eq!((sum, product), ([3; 4], vec![2; 4]));
    });
}

#[test]
fn waiting_for_any_and_for_all() {
    with_a_late_message(|group, go| {
        let late = group.start().recv(vec![0.0_f32; 2], 0, 3).unwrap();
        let own = group.start().send(vec![1_u8], 1, 0).unwrap();
        let done = group.start().recv(vec![0_u8], 1, 0).unwrap();
        own.wait().unwrap();
        let works: [&dyn Pending; 2] = [&late, &done];
        assert_eq!(wait_any(&works, LONG).unwrap(), 1);
        assert_eq!(wait_all(&works, SOON).unwrap_err().status(), Status::PENDING);
        go();
        wait_all(&works, LONG).unwrap();
        assert_eq!(wait_any(&works, LONG).unwrap(), 0);
        let nothing: Option<Work<()>> = None;
        assert_eq!(wait_any(&[&nothing, works[0]], LONG).unwrap(), 1);
        wait_all(&[&nothing, works[1]], LONG).unwrap();
        assert_eq!(wait_any(&[&nothing], LONG).unwrap_err().status(), Status::INVALID_ARGUMENT);
        assert_eq!(wait_any(&[], LONG).unwrap_err().status(), Status::INVALID_ARGUMENT);
        assert_eq!(late.wait().unwrap(), [4.0, 5.0]);
    });
}

#[test]
fn a_function_is_called_when_the_operation_is_done() {
    with_a_late_message(|group, go| {
        let (tell, told) = mpsc::channel();
        let work = group.start().recv(vec![0.0_f32; 2], 0, 3).unwrap();
        let again = tell.clone();
        work.then(move |result| tell.send(result).unwrap()).unwrap();
        work.then(|_| panic_any(PanicsAgain)).unwrap(); // the next one is called all the same
        work.then(move |result| again.send(result).unwrap()).unwrap();
        assert!(told.try_recv().is_err());
        go();
        assert_eq!(told.recv_timeout(LONG).unwrap(), Ok(()));
        assert_eq!(told.recv_timeout(LONG).unwrap(), Ok(()));
        work.wait().unwrap();
    });
}

#[test]
fn an_operation_ends_with_its_group() {
    on_ranks(2, |group| {
        let other = group.new_group(None, &Default::default()).unwrap().unwrap();
        let work = other.start().recv(vec![0_u8; 4], Source::Any, 0).unwrap();
        let (tell, told) = mpsc::channel();
        work.then(move |result| tell.send(result).unwrap()).unwrap();
        other.destroy().unwrap();
        assert!(told.recv_timeout(LONG).unwrap().is_err());
        assert!(work.error().is_some() && work.is_completed() && !work.is_success());
        assert!(work.wait().is_err());
    });
}

#[test]
fn messages_and_batches() {
    on_ranks(3, |group| {
        let (rank, size) = (group.rank(), group.world_size());
        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        let ops = |own: usize| {
            vec![
                P2pOp::Isend { data: vec![own as f64], dst: next, tag: 1 },
                P2pOp::Irecv { data: vec![0.0], src: before.into(), tag: 1 },
            ]
        };
        let got = group.batch_isend_irecv(ops(rank)).unwrap();
        assert_eq!(got, [[rank as f64], [before as f64]]);
        let works = group.start().batch_isend_irecv(ops(rank + 10)).unwrap();
        let got: Vec<_> = works.into_iter().map(|work| work.wait().unwrap()).collect();
        assert_eq!(got[1], [before as f64 + 10.0]);
        assert!(group.batch_isend_irecv(Vec::<P2pOp<Vec<u8>>>::new()).unwrap().is_empty());
        let ops = vec![P2pOp::Irecv { data: vec![0_u8], src: usize::MAX.into(), tag: 0 }];
        let error = group.batch_isend_irecv(ops).unwrap_err();
        assert!(error.message().contains("src"), "{error}");
        if rank == 0 {
            let mut from: Vec<_> =
                (1..size).map(|_| group.recv(&mut [0_u8], Source::Any, 5).unwrap()).collect();
            from.sort_unstable();
            assert_eq!(from, [1, 2]);
        } else {
            group.send(&[1_u8], 0, 5).unwrap();
        }
    });
}

#[test]
fn coalesced_calls_are_one_operation() {
    on_ranks(3, |group| {
        let (mut a, mut b) = ([1.0_f32; 4], [2_i64; 3]);
        scope(|scope| {
            let start = scope.start(group);
            let ((first, second), all) = start
                .coalesce(|together| {
                    let first = together.all_reduce(&mut a, ReduceOp::SUM)?;
                    let second = together.all_reduce(&mut b, ReduceOp::SUM)?;
                    assert!(first.wait_for(SOON).is_err());
                    // The group itself works as ever.
                    let mut ones = [1_u8];
                    group.all_reduce(&mut ones, ReduceOp::SUM)?;
                    assert_eq!(ones, [3]);
                    group.start().barrier()?.wait()?;
                    assert!(together.send(&[0_u8], 0, 0).is_err());
                    Ok((first, second))
                })
                .unwrap();
            assert_eq!(*second.wait().unwrap(), [6; 3]);
            drop(first);
            all.wait().unwrap();
        });
        assert_eq!((a, b), ([3.0; 4], [6; 3]));
        // Owned memory, and works that are dropped.
        let ((), all) = group
            .start()
            .coalesce(|together| {
                drop(together.all_reduce(vec![1.0_f32; 100], ReduceOp::SUM)?);
                drop(together.broadcast(vec![1_u8; 100], 1)?);
                Ok(())
            })
            .unwrap();
        drop(all);
        let mut after = [1_i32];
        group.all_reduce(&mut after, ReduceOp::SUM).unwrap();
        assert_eq!(after, [3]);
    });
}

#[test]
fn a_coalescing_ends_when_its_function_fails_or_panics() {
    on_ranks(2, |group| {
        let failed = group.start().coalesce(|together| {
            let _work = together.all_reduce(vec![1.0_f32], ReduceOp::SUM)?;
            Err::<(), _>(tutti::Error::new(Status::ABORTED, "on purpose"))
        });
        assert_eq!(failed.unwrap_err().message(), "on purpose");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _ = group.start().coalesce(|together| -> tutti::Result<()> {
                drop(together.all_reduce(vec![1.0_f32], ReduceOp::SUM)?);
                panic!("on purpose")
            });
        }));
        assert!(panic.is_err());
        let mut after = [1_i32];
        group.all_reduce(&mut after, ReduceOp::SUM).unwrap();
        assert_eq!(after, [2]);
    });
}

#[test]
fn a_receive_that_has_not_begun_is_cancelled() {
    on_ranks(1, |group| {
        let work = group.start().recv(vec![0_u8], 0, 1).unwrap();
        assert!(work.cancel().unwrap());
        assert_eq!(work.wait().unwrap_err().status(), Status::ABORTED);
        let work = group.start().recv(vec![0_u8], 0, 1).unwrap();
        group.start().send(vec![7_u8], 0, 1).unwrap().wait().unwrap();
        work.wait_for(LONG).unwrap();
        assert!(!work.cancel().unwrap());
        assert_eq!(work.wait().unwrap(), [7]);
    });
}

#[test]
fn a_hundred_thousand_operations_whose_works_are_waited_for_dropped_or_shared() {
    on_ranks(2, |group| {
        let mut waiting = Vec::new();
        for round in 0..100_000_u64 {
            let work = group.start().all_reduce(vec![round; 3], ReduceOp::SUM).unwrap();
            match round % 3 {
                0 => drop(work),
                _ => waiting.push((round, work)),
            }
            if waiting.len() == 1000 {
                for (round, work) in waiting.drain(..) {
                    assert_eq!(work.wait().unwrap(), [2 * round; 3]);
                }
            }
        }
        waiting
            .into_iter()
            .for_each(|(round, work)| assert_eq!(work.wait().unwrap()[0], 2 * round));
        group.barrier().unwrap(); // the last one may have been dropped, and is done before this
    });
}
