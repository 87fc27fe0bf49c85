//! Processes that know nothing but where a store is meet there, number themselves, and become a
//! group. Start it with
//!     tuttirun --nproc-per-node 4 rust_rendezvous
//! whose store they use, or each process by itself with STORE=host:port and WORLD_SIZE, one of them
//! with SERVE=1.
use std::env;
use std::error::Error;
use std::time::Duration;
use tutti::{Group, GroupOptions, Store, TcpStoreOptions};

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("the environment variable {name} is not set"))
}

/// The store that is served somewhere, or by this process.
fn open_store() -> Result<Store, Box<dyn Error>> {
    let options = TcpStoreOptions { timeout: Duration::from_secs(60).into(), ..Default::default() };
    let place = match variable("STORE") {
        Ok(place) => place,
        Err(_) => format!("{}:{}", variable("MASTER_ADDR")?, variable("MASTER_PORT")?),
    };
    let (host, port) = place.rsplit_once(':').ok_or("STORE is not host:port")?;
    let serve = env::var_os("SERVE").is_some();
    Ok(Store::tcp(host, port.parse()?, None, serve, &options)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let size: usize = variable("WORLD_SIZE")?.parse()?;
    let store = open_store()?.prefix("rendezvous")?;

    // The first to come is rank 0: each takes the next number.
    let rank = store.add("tickets", 1)? as usize - 1;
    store.set(&format!("process/{rank}"), std::process::id().to_string())?;

    // Reading waits until everybody has written.
    let keys: Vec<String> = (0..size).map(|rank| format!("process/{rank}")).collect();
    let mut processes: Vec<u32> = Vec::new();
    for value in store.multi_get(&keys)? {
        processes.push(std::str::from_utf8(&value)?.parse()?);
    }
    processes.sort_unstable();
    processes.dedup();

    let options = GroupOptions { timeout: Duration::from_secs(60).into(), ..Default::default() };
    let group = Group::create(None, &store.prefix("group")?, rank, size, options)?;
    let seen = group.all_gather_object(processes.len())?;
    assert!(seen.iter().all(|count| *count == processes.len().into()));
    println!("rank {rank} of {size}: met {} processes", processes.len());
    group.destroy()?;
    Ok(())
}
