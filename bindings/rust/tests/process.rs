//! Things that a process has once: the group of all ranks, the debug level, the log.
mod support;

use std::sync::{mpsc, Mutex};
use support::{new_path, LONG};
use tutti::{
    DebugLevel, DeviceType, Group, GroupOptions, Init, LogLevel, Map, Mesh, ReduceOp, ShrinkOptions,
    Status, Store,
};

/// One test, for what is told here depends on its order.
#[test]
fn the_group_of_all_ranks_and_its_process() {
    facts();
    the_group_of_all_ranks();
    another_group_of_all_ranks();
    groups_by_handles();
    a_group_of_all_ranks_by_handles();
    debug_levels();
    the_log();
    meeting_by_an_all_gather();
}

fn facts() {
    assert!(tutti::version() >= 100);
    assert_eq!(tutti::version_string().split('.').count(), 3);
    assert!(tutti::is_backend_available("gloo") && !tutti::is_backend_available("telegraph"));
    assert!(!tutti::is_backend_available("g\0oo"));
    tutti::check_backend_available("gloo").unwrap();
    let why = tutti::check_backend_available("telegraph").unwrap_err();
    assert_eq!(why.status(), Status::UNSUPPORTED);
    assert!(why.to_string().contains("libtutti-telegraph.so"), "{why}");
    assert_eq!(tutti::default_backend_for_device("cuda:1"), Some("nccl"));
    assert_eq!(tutti::default_backend_for_device("abacus"), None);
    let launched = std::env::var_os("TORCHELASTIC_RUN_ID").is_some();
    assert_eq!(tutti::is_torchelastic_launched(), launched);
    assert_eq!(tutti::status_name(Status::PEER_LOST), "TUTTI_ERR_PEER_LOST");
    assert_eq!(tutti::status_name(Status(77)), "TUTTI_ERR_UNKNOWN");
    assert_eq!(format!("{:?} {:?}", Status::TIMEOUT, Status(77)), "TUTTI_ERR_TIMEOUT Status(77)");
}

/// A group of this process alone.
fn alone(method: &str) -> Init<'_> {
    let (rank, world_size) = (Some(0), Some(1));
    Init { init_method: Some(method), rank, world_size, ..Init::default() }
}

fn the_group_of_all_ranks() {
    assert!(!tutti::is_initialized());
    assert_eq!(tutti::world().unwrap_err().status(), Status::INVALID_HANDLE);
    assert_eq!(tutti::pg_count(), 0);
    let method = format!("file://{}", new_path("world"));
    let init = alone(&method);
    let world = tutti::init_process_group(&init).unwrap();
    assert!(tutti::is_initialized());
    assert_eq!((world.rank(), world.world_size(), tutti::pg_count()), (0, 1, 1));
    assert!(world.backend().is_some());
    let twice = tutti::init_process_group(&init).unwrap_err();
    assert_eq!(twice.status(), Status::INVALID_ARGUMENT, "{twice}");
    let mut data = [5];
    tutti::world().unwrap().all_reduce(&mut data, ReduceOp::SUM).unwrap();
    assert_eq!(data, [5]);
    let mesh = Mesh::init(None, DeviceType::CPU, &[1], &[], GroupOptions::default()).unwrap();
    assert_eq!(mesh.size(), 1);
    world.set_timeout(LONG).unwrap();
    world.destroy().unwrap();
    assert!(!tutti::is_initialized());
    assert_eq!(world.barrier().unwrap_err().status(), Status::INVALID_HANDLE);

    let store = Store::hash().unwrap();
    let options = GroupOptions::default();
    let world = tutti::init_process_group_with_store(None, &store, 0, 1, options).unwrap();
    world.destroy().unwrap();
    let init = Init { init_method: Some("pigeon://"), ..Init::default() };
    let error = tutti::init_process_group(&init).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
}

fn another_group_of_all_ranks() {
    let store = Store::hash().unwrap();
    let options = GroupOptions::default();
    let world = tutti::init_process_group_with_store(None, &store, 0, 1, options).unwrap();
    let refused = world.shrink(&[], &ShrinkOptions::default()).unwrap_err();
    assert_eq!(refused.status(), Status::INVALID_ARGUMENT, "{refused}");
    world.revoke(Some("to try it")).unwrap();
    assert_eq!(world.barrier().unwrap_err().status(), Status::ABORTED);
    let again = world.shrink(&[], &ShrinkOptions::default()).unwrap();
    assert_eq!((world.rank(), world.world_size(), tutti::pg_count()), (0, 1, 1));
    assert_eq!((again.rank(), again.world_size()), (0, 1));
    let mut data = [5];
    world.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    again.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    assert_eq!(data, [5]);
    let failure = world.failure().unwrap();
    world.destroy().unwrap();
    assert_eq!(failure.wait().unwrap_err().status(), Status::ABORTED);
    assert!(!tutti::is_initialized());
}

fn groups_by_handles() {
    let handle = tutti::reconfigure_handle().unwrap();
    assert_eq!(tutti::reconfigure_handle().unwrap(), handle);
    let options = GroupOptions { description: Some("first"), ..GroupOptions::default() };
    let first = Group::reconfigure(None, 1, &[&handle], Some("tcp"), options).unwrap();
    assert_eq!((first.rank(), first.world_size()), (0, 1));
    assert_eq!((first.name().unwrap(), first.backend()), ("first".into(), Some("tcp")));
    let options = GroupOptions { timeout: LONG.into(), ..GroupOptions::default() };
    let second = Group::reconfigure(Some(&first), 2, &[&handle], None, options).unwrap();
    let mut data = [5];
    second.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    assert_eq!((data, second.timeout().unwrap()), ([5], LONG.into()));
    assert_eq!(first.barrier().unwrap_err().status(), Status::ABORTED);
    for (id, wrong, message) in [
        (3, vec!["nonsense"], r#"handles[0] is "nonsense""#),
        (3, vec![&handle, &handle], "handles[1] is the same as handles[0]"),
        (3, vec!["a\0b"], "handles[0]"),
        (3, vec![], "count is 0"),
        (2, vec![&handle], "used before"),
    ] {
        let error = Group::reconfigure(Some(&second), id, &wrong, None, options).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT, "{error}");
        assert!(error.message().contains(message), "{error}");
    }
    second.barrier().unwrap();
    first.destroy().unwrap();
    second.destroy().unwrap();
}

fn a_group_of_all_ranks_by_handles() {
    let handles = [tutti::reconfigure_handle().unwrap()];
    let options = GroupOptions::default();
    let world = tutti::reconfigure_world(11, &handles, None, options).unwrap();
    assert!(tutti::is_initialized());
    let failure = world.failure().unwrap();
    let again = Group::reconfigure(Some(&world), 12, &handles, None, options).unwrap();
    assert_eq!((world.rank(), again.world_size(), tutti::pg_count()), (0, 1, 1));
    assert_eq!(failure.wait().unwrap_err().status(), Status::ABORTED);
    let mut data = [5];
    world.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    again.all_reduce(&mut data, ReduceOp::SUM).unwrap();
    assert_eq!(data, [5]);
    again.destroy().unwrap();
    assert!(!tutti::is_initialized());
}

fn debug_levels() {
    tutti::set_debug_level(DebugLevel::DETAIL).unwrap();
    assert_eq!(tutti::debug_level(), DebugLevel::DETAIL);
    assert!(tutti::set_debug_level(DebugLevel(9)).is_err());
    std::env::remove_var("TORCH_DISTRIBUTED_DEBUG");
    tutti::set_debug_level_from_env().unwrap();
    assert_eq!(tutti::debug_level(), DebugLevel::OFF);
    let settings = Map::try_from(tutti::settings().unwrap()).unwrap();
    let level = Map::try_from(settings.get("TUTTI_LOG_LEVEL").unwrap().clone()).unwrap();
    assert!(level.get("value").is_some() && level.get("source").is_some());
}

fn the_log() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    tutti::set_log_callback(LogLevel::TRACE, move |level, line| {
        let _ = tell.lock().unwrap().send((level, line.to_owned()));
    })
    .unwrap();
    let method = format!("file://{}", new_path("log"));
    let init = alone(&method);
    tutti::init_process_group(&init).unwrap().destroy().unwrap();
    // When it is replaced it has heard everything that was said.
    tutti::set_log_callback(LogLevel::ERROR, |_, _| panic!("on purpose")).unwrap();
    let lines: Vec<_> = told.iter().collect();
    assert!(lines.iter().all(|(level, line)| *level != LogLevel::OFF && !line.contains('\n')));
    assert!(tutti::set_log_callback(LogLevel(77), |_, _| ()).is_err());
    tutti::reset_log_callback().unwrap();
}

fn meeting_by_an_all_gather() {
    let copies = |input: &[u8], output: &mut [u8]| {
        output.copy_from_slice(input);
        Ok(())
    };
    let options = GroupOptions::default();
    let group = Group::create_with_allgather(None, copies, 0, 1, options).unwrap();
    group.barrier().unwrap();
    let refuses = |_: &[u8], _: &mut [u8]| Err(tutti::Error::new(Status::NETWORK, "no MPI today"));
    let error = Group::create_with_allgather(None, refuses, 0, 1, options).unwrap_err();
    assert_eq!(error.status(), Status::NETWORK);
    assert!(error.message().contains("no MPI today"), "{error}");
    let panics = |_: &[u8], _: &mut [u8]| -> tutti::Result<()> { panic!("on purpose") };
    let caught = std::panic::catch_unwind(|| {
        let _ = Group::create_with_allgather(None, panics, 0, 1, options);
    });
    assert!(caught.is_err());
}
