//! Ranks that are threads of the test.
#![allow(dead_code)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tutti::{Group, GroupOptions, Store};

/// Runs a function on so many ranks, each a thread with its group; what they return, by rank.
pub fn on_ranks<R: Send>(count: usize, function: impl Fn(&Group) -> R + Sync) -> Vec<R> {
    on_ranks_with(count, GroupOptions::default(), function)
}

pub fn on_ranks_with<R: Send>(
    count: usize,
    options: GroupOptions,
    function: impl Fn(&Group) -> R + Sync,
) -> Vec<R> {
    let store = Store::hash().unwrap();
    let rank = |rank| {
        let group = Group::create(Some("loopback"), &store, rank, count, options).unwrap();
        let result = function(&group);
        group.destroy().unwrap();
        result
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || rank(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Thrown by a panic, it panics when it is dropped.
pub struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic!("on purpose, again");
    }
}

/// A limit that no test reaches.
pub const LONG: Duration = Duration::from_secs(100);

/// A path that no other test has, in cargo's folder for that.
pub fn new_path(name: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let (folder, process) = (env!("CARGO_TARGET_TMPDIR"), std::process::id());
    format!("{folder}/{name}-{process}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
