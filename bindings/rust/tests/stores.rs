//! Stores: what each kind of them does, and what it says to bad arguments.
mod support;

use std::thread;
use std::time::Duration;
use support::{new_path, LONG};
use tutti::{Status, Store, TcpStoreOptions, Timeout};

fn stores() -> Vec<Store> {
    let options = TcpStoreOptions::default();
    vec![
        Store::hash().unwrap(),
        Store::file(&new_path("store"), None).unwrap(),
        Store::tcp("127.0.0.1", 0, None, true, &options).unwrap(),
        Store::hash().unwrap().prefix("folder").unwrap(),
        Store::open("folder", &new_path("keys")).unwrap(),
    ]
}

#[test]
fn values_counters_and_lists_of_keys() {
    for store in stores() {
        store.set("key", b"value").unwrap();
        store.append("key", " and more").unwrap();
        assert_eq!(store.get("key").unwrap(), b"value and more");
        assert_eq!(store.add("count", 5).unwrap(), 5);
        assert_eq!(store.add("count", -7).unwrap(), -2);
        assert!(store.check(&["key", "count"]).unwrap());
        assert!(!store.check(&["key", "none"]).unwrap());
        store.wait(&["key"], LONG).unwrap();
        assert_eq!(store.num_keys().unwrap(), 2);
        let mut keys = store.list_keys().unwrap();
        keys.sort();
        assert_eq!(keys, ["count", "key"]);
        assert!(store.delete_key("key").unwrap());
        assert!(!store.delete_key("key").unwrap());
        assert!(store.has_extended_api().unwrap());
    }
}

#[test]
fn a_store_of_a_library_says_why_it_does_not_open() {
    let status = |name, address| Store::open(name, address).unwrap_err().status();
    assert_eq!(status("pigeon", ""), Status::UNSUPPORTED);
    assert_eq!(status("folder", "/nowhere/at/all"), Status::STORE);
    assert_eq!(status("folder", "a\0b"), Status::INVALID_ARGUMENT);
}

#[test]
fn several_values_at_once() {
    for store in stores() {
        store.multi_set(&[("a", "1"), ("b", ""), ("c", "333")]).unwrap();
        let values = store.multi_get(&["c", "b", "a"]).unwrap();
        assert_eq!(values, [b"333".as_slice(), b"", b"1"]);
        let none: [&str; 0] = [];
        assert!(store.multi_get(&none).unwrap().is_empty());
        assert!(store.check(&none).unwrap());
    }
}

#[test]
fn compare_set_sets_only_what_is_expected() {
    for store in stores() {
        assert_eq!(store.compare_set("key", "", "first").unwrap(), b"first");
        assert_eq!(store.compare_set("key", "else", "second").unwrap(), b"first");
        assert_eq!(store.compare_set("key", "first", "second").unwrap(), b"second");
    }
}

#[test]
fn queues_give_each_value_once() {
    for store in stores() {
        store.queue_push("queue", "one").unwrap();
        store.queue_push("queue", "two").unwrap();
        assert_eq!(store.queue_len("queue").unwrap(), 2);
        assert_eq!(store.queue_pop("queue", true).unwrap(), b"one");
        assert_eq!(store.queue_pop("queue", false).unwrap(), b"two");
        let error = store.queue_pop("queue", false).unwrap_err();
        assert_eq!(error.status(), Status::QUEUE_EMPTY);
    }
}

#[test]
fn get_waits_for_another_thread_and_no_longer_than_its_timeout() {
    for store in stores() {
        thread::scope(|scope| {
            scope.spawn(|| store.set("late", "value").unwrap());
            assert_eq!(store.get("late").unwrap(), b"value");
        });
        store.set_timeout(Duration::from_millis(20)).unwrap();
        assert_eq!(store.timeout().unwrap(), Timeout::After(Duration::from_millis(20)));
        let soon = Duration::from_millis(5);
        assert_eq!(store.get_within("never", soon).unwrap_err().status(), Status::TIMEOUT);
        assert_eq!(store.queue_pop_within("never", soon).unwrap_err().status(), Status::TIMEOUT);
        let error = store.multi_get_within(&["never"], soon).unwrap_err();
        assert_eq!(error.status(), Status::TIMEOUT);
        store.flush(Timeout::Default).unwrap();
        let error = store.get("never").unwrap_err();
        assert_eq!(error.status(), Status::TIMEOUT);
        assert!(error.message().contains("never"), "{error}");
        store.set_timeout(Timeout::Never).unwrap();
        assert_eq!(store.timeout().unwrap(), Timeout::Never);
    }
}

#[test]
fn a_barrier_waits_for_all() {
    for store in stores() {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| store.barrier("all here", 3, LONG).unwrap());
            }
        });
    }
}

#[test]
fn each_kind_knows_where_it_is() {
    let path = new_path("where");
    let file = Store::file(&path, Some(1)).unwrap();
    assert_eq!(file.path().unwrap(), path);
    let options = TcpStoreOptions { timeout: LONG.into(), ..Default::default() };
    let master = Store::tcp("127.0.0.1", 0, None, true, &options).unwrap();
    assert_eq!(master.host().unwrap(), "127.0.0.1");
    let port = master.port().unwrap();
    let client = Store::tcp("127.0.0.1", port, None, false, &options).unwrap();
    client.set("from", "client").unwrap();
    assert_eq!(master.try_clone().unwrap().get("from").unwrap(), b"client");
    let prefixed = master.prefix("deep").unwrap();
    prefixed.set("key", "value").unwrap();
    assert_eq!(prefixed.underlying_store().unwrap().get("deep/key").unwrap(), b"value");
    let error = prefixed.path().unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
}

#[test]
fn bad_arguments_are_named() {
    let store = Store::hash().unwrap();
    let error = store.set("a\0b", "value").unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    assert!(error.message().contains("key") && error.message().contains("NUL"), "{error}");
    let error = store.check(&["good", "b\0d"]).unwrap_err();
    assert!(error.message().contains("keys[1]"), "{error}");
    let error = store.add("key", 1).and_then(|_| store.barrier("b", usize::MAX, LONG)).unwrap_err();
    assert!(error.message().contains("world_size"), "{error}");
    let error = store.set("text", "abc").and_then(|()| store.add("text", 1)).unwrap_err();
    assert_eq!(error.status(), Status::STORE);
    assert_eq!(format!("{error}"), format!("TUTTI_ERR_STORE: {}", error.message()));
    let missing = Store::file("/no/such/folder/file", None).unwrap_err();
    assert_eq!(missing.status(), Status::STORE);
    let options = TcpStoreOptions { max_key_bytes: -1, ..Default::default() };
    assert!(Store::tcp("127.0.0.1", 0, None, true, &options).is_err());
}

#[test]
fn a_wait_is_interrupted() {
    let store = Store::hash().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| store.get_within("never", Timeout::Never));
        while !waiting.is_finished() {
            store.interrupt().unwrap(); // until the wait has begun and ended
            thread::yield_now();
        }
        assert_eq!(waiting.join().unwrap().unwrap_err().status(), Status::ABORTED);
    });
    store.set("still", "there").unwrap();
    assert_eq!(store.get("still").unwrap(), b"there");
}
