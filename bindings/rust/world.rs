//! A rank of a world in which every rank may be of another language: it says what it is and checks
//! what the others say.
//!     tuttirun --nproc-per-node 4 rust_world
use std::env;
use std::error::Error;
use std::fmt::Debug;
use tutti::{
    init_process_group, init_process_group_with_store, reconfigure_handle, reconfigure_world,
    Array, Group, GroupOptions, Init, Map, ReduceOp, Store, TcpStoreOptions, Value,
};

type Checked = Result<(), Box<dyn Error>>;

fn expect<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Checked {
    if got == wanted {
        return Ok(());
    }
    Err(format!("{what}: got {got:?} instead of {wanted:?}").into())
}

/// The value that a rank sends of itself.
fn card(language: &str, rank: usize) -> Result<Value, tutti::Error> {
    let numbers: Vec<i32> = (0..6).map(|number| number + rank as i32).collect();
    let mut card = Map::new();
    card.insert("language", language);
    card.insert("rank", rank);
    card.insert("values", vec![1.into(), 2.5.into(), true.into(), Value::Nil, "text ü".into()]);
    card.insert("bytes", Value::Bytes(vec![0, 1, 0xff]));
    card.insert("array", Array::new(&[2, 3], &numbers)?);
    Ok(Value::Map(card))
}

fn sums(world: &Group) -> Checked {
    let factor = (world.rank() + 1) as f64;
    let mut data: Vec<f64> = (1..=1000).map(|place| place as f64 * factor).collect();
    world.all_reduce(&mut data, ReduceOp::SUM)?;
    let ranks = world.world_size();
    let all = (ranks * (ranks + 1) / 2) as f64;
    expect("all_reduce", data, (1..=1000).map(|place| place as f64 * all).collect())
}

fn cards(world: &Group) -> Checked {
    for (rank, got) in world.all_gather_object(card("rust", world.rank())?)?.iter().enumerate() {
        match got.get("language") {
            Some(Value::String(language)) => {
                expect("all_gather_object", got, &card(language, rank)?)?;
            }
            other => return Err(format!("rank {rank}'s language is {other:?}").into()),
        }
    }
    Ok(())
}

fn lists(world: &Group) -> Checked {
    let numbers = Map::from([(1, Value::Int(-1)), (2, Value::UInt(u64::MAX))]);
    let wanted = vec!["hello".into(), Value::Map(numbers), Value::Nil];
    let mut list = if world.rank() == 0 { wanted.clone() } else { vec![Value::Nil; 3] };
    world.broadcast_object_list(&mut list, 0)?;
    expect("broadcast_object_list", list, wanted)
}

fn maximum(world: &Group) -> Checked {
    let work = world.start().all_reduce(vec![world.rank() as i64], ReduceOp::MAX)?;
    expect("asynchronous all_reduce", work.wait()?, vec![world.world_size() as i64 - 1])
}

fn message(rank: usize) -> Vec<f32> {
    let rank = rank as f32;
    vec![rank, rank + 0.5, rank + 0.25]
}

fn ring(world: &Group) -> Checked {
    let (rank, size) = (world.rank(), world.world_size());
    let before = (rank + size - 1) % size;
    let sent = world.start().send(message(rank), (rank + 1) % size, 0)?;
    let received = world.start().recv(vec![0.0; 3], before, 0)?;
    expect("recv", received.wait()?, message(before))?;
    sent.wait()?;
    Ok(())
}

/// Makes a world of the same processes in the opposite order.
fn reconfigure(world: &Group) -> Checked {
    let all = world.all_gather_bytes(reconfigure_handle()?.as_bytes())?;
    let texts = all.iter().rev().map(|handle| String::from_utf8(handle.to_vec()));
    let handles = texts.collect::<Result<Vec<_>, _>>()?;
    let wanted = world.world_size() - 1 - world.rank();
    reconfigure_world(1, &handles, None, GroupOptions::default())?;
    expect("the rank in the opposite order", world.rank(), wanted)
}

/// As the launcher says; or at that prefix of the store, where ranks of PyTorch's meet.
fn meet(prefix: Option<&str>) -> Result<Group, Box<dyn Error>> {
    let prefix = match prefix {
        Some(prefix) => prefix,
        None => return Ok(init_process_group(&Init::default())?),
    };
    let (rank, size) = (env::var("RANK")?.parse()?, env::var("WORLD_SIZE")?.parse()?);
    let (host, port) = (env::var("MASTER_ADDR")?, env::var("MASTER_PORT")?.parse()?);
    let whole = Store::tcp(&host, port, Some(size), false, &TcpStoreOptions::default())?;
    let part = whole.prefix(prefix)?;
    Ok(init_process_group_with_store(None, &part, rank, size, GroupOptions::default())?)
}

fn run() -> Checked {
    let prefix = env::var("WORLD_PREFIX").ok();
    let world = meet(prefix.as_deref())?;
    sums(&world)?;
    cards(&world)?;
    lists(&world)?;
    maximum(&world)?;
    ring(&world)?;
    if prefix.is_none() {
        reconfigure(&world)?;
    }
    sums(&world)?;
    world.barrier()?;
    println!("rust rank {} of {}: ok", world.rank(), world.world_size());
    world.destroy()?;
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
