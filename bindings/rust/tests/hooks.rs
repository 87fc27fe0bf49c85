//! Hooks around every operation, and names of operations. One test: hooks are of the process.
mod support;

use std::sync::{Arc, Mutex};
use support::on_ranks;
use tutti::{Dtype, Hooks, Operation, ReduceOp, Status};

#[derive(Clone, Debug, PartialEq)]
struct Heard {
    what: &'static str,
    id: u64,
    name: String,
    tag_name: String,
    rank: usize,
    peer: Option<usize>,
    number: u64,
    inputs: Vec<(Dtype, usize)>,
    is_async: bool,
    error: String,
}

fn note(what: &'static str, operation: &Operation<'_>, error: String) -> Heard {
    let inputs = operation.inputs().map(|input| (input.dtype(), input.len())).collect();
    assert_eq!(operation.world_size(), 2);
    assert!(!operation.group_name().is_empty());
    Heard {
        what,
        id: operation.id(),
        name: operation.name().to_owned(),
        tag_name: operation.tag_name().to_owned(),
        rank: operation.rank(),
        peer: operation.peer(),
        number: operation.sequence_number(),
        inputs,
        is_async: operation.is_async(),
        error,
    }
}

#[test]
fn every_operation_is_heard_before_and_after_it() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let [before, after, aborted] = [heard.clone(), heard.clone(), heard.clone()];
    let hooks = Hooks::new()
        .before(move |operation| {
            if operation.name() == "all_reduce" && operation.tag_name() == "loss" {
                let input = operation.inputs().next().unwrap();
                let data = unsafe { input.elements::<f32>() }.unwrap();
                assert_eq!(data[0], operation.rank() as f32 + 1.0);
                assert_eq!(operation.op(), ReduceOp::MAX);
                assert!(unsafe { input.elements::<f64>() }.is_err());
            }
            before.lock().unwrap().push(note("before", operation, String::new()));
        })
        .after(move |operation| {
            after.lock().unwrap().push(note("after", operation, String::new()));
            panic!("on purpose, which nobody else hears");
        })
        .aborted(move |operation, error| {
            assert_eq!(error.status(), Status::MISMATCH);
            aborted.lock().unwrap().push(note("aborted", operation, error.to_string()));
        })
        .add()
        .unwrap();
    on_ranks(2, |group| {
        let mut data = [group.rank() as f32 + 1.0; 3];
        group.with_tag_name("loss").unwrap().all_reduce(&mut data, ReduceOp::MAX).unwrap();
        group.start().all_reduce(vec![1_i32; 4], ReduceOp::SUM).unwrap().wait().unwrap();
        match group.rank() {
            0 => group.send(&[5_u8], 1, 9).unwrap(),
            _ => assert_eq!(group.recv(&mut [0_u8], 0, 9).unwrap(), 0),
        }
        let mut data = vec![0.0_f64; 2 + group.rank()];
        let named = group.with_tag_name("halo").unwrap();
        let error = named.all_reduce(&mut data, ReduceOp::SUM).unwrap_err();
        assert_eq!(error.status(), Status::MISMATCH);
        assert!(error.message().contains("\"halo\""), "{error}");
    });
    hooks.remove().unwrap();
    assert_eq!(hooks.remove().unwrap_err().status(), Status::INVALID_ARGUMENT);
    assert_eq!(Arc::strong_count(&heard), 1); // the hooks were dropped

    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 16, "{heard:?}");
    for rank in 0..2 {
        let mine: Vec<_> = heard.iter().filter(|one| one.rank == rank).collect();
        let named: Vec<_> = mine.iter().filter(|one| one.tag_name == "loss").collect();
        assert_eq!((named[0].what, named[1].what), ("before", "after"));
        assert_eq!((named[0].id, named[0].number), (named[1].id, 1));
        assert_eq!(named[0].inputs, [(Dtype::FLOAT32, 3)]);
        assert!(mine.iter().any(|one| one.is_async && one.number == 2));
        let message = if rank == 0 { "send" } else { "recv" };
        let message = mine.iter().find(|one| one.name == message).unwrap();
        assert_eq!(message.peer, Some(1 - rank));
        let failed = mine.iter().find(|one| one.what == "aborted").unwrap();
        assert!(failed.error.contains("\"halo\""), "{}", failed.error);
    }
    let of_none = Hooks::new().add().unwrap_err();
    assert_eq!(of_none.status(), Status::INVALID_ARGUMENT, "{of_none}");
    on_ranks(1, |group| assert!(group.with_tag_name("a\0b").is_err()));
}
