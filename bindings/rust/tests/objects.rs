//! Values: conversions, the way to the library and back, reading in place, collectives.
mod support;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use support::on_ranks;
use tutti::{
    f16, scope, Array, Bool, Complex, Compress, Dtype, Key, Map, Object, ObjectBuilder, ObjectKind,
    ObjectOptions, Source, Status, Timestamp, Value,
};

/// One of everything, and of every edge.
fn everything() -> Value {
    let mut map = Map::from([("nil", Value::Nil), ("", "empty key".into())]);
    map.insert("numbers", vec![i64::MIN, -1, 0, 1, i64::MAX]);
    map.insert("large", vec![1_u64 << 63, u64::MAX]);
    map.insert("floats", vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1e-310]);
    map.insert("bools", [true, false]);
    map.insert("text", "Straße, 日本, \0 inside");
    map.insert("bytes", Value::Bytes((0..=255).collect()));
    map.insert("nothing", vec![Value::List(vec![]), Value::Map(Map::new()), "".into()]);
    map.insert(-5_i64, Value::Bytes(vec![]));
    map.insert(u64::MAX, Timestamp { seconds: -1, nanoseconds: 999_999_999 });
    map.insert("f16", Array::new(&[2, 1], &[f16::from_f32(1.5), f16::from_f32(-2.0)]).unwrap());
    map.insert("scalar", Array::new(&[], &[7_i8]).unwrap());
    map.insert("empty", Array::new::<f64>(&[3, 0], &[]).unwrap());
    map.insert("complex", Array::new(&[1], &[Complex::new(1.0, -1.0)]).unwrap());
    map.insert("mask", Array::new(&[2], &[Bool::from(true), false.into()]).unwrap());
    Value::Map(map)
}

#[test]
fn everything_goes_to_the_library_and_back() {
    let value = everything();
    let object = Object::from_value(&value).unwrap();
    assert_eq!(object.to_value().unwrap(), value);
    assert_eq!(object, object.clone());
    for compress in [Compress::Never, Compress::IfItPays] {
        let options = ObjectOptions { compress, ..Default::default() };
        let message = object.encode(&options).unwrap();
        assert_eq!(Object::decode(&message, &options).unwrap(), object);
    }
    assert_ne!(object, Object::from_value(&Value::Nil).unwrap());
}

#[test]
fn deep_and_wide_values() {
    let deep = (0..400).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
    assert_eq!(Object::from_value(&deep).unwrap().to_value().unwrap(), deep);
    for (depth, fits) in [(1024, true), (1025, false), (100_000, false)] {
        let message: Vec<u8> = std::iter::repeat(0x91).take(depth).chain([0xc0]).collect();
        let options = ObjectOptions { max_depth: 200_000, ..Default::default() };
        let value = Object::decode(&message, &options).unwrap().to_value();
        match value {
            Ok(value) => assert!(fits && value == value.clone()),
            Err(error) => assert!(!fits && error.message().contains("1024"), "{error}"),
        }
    }
    let wide = Value::from((0..100_000).collect::<Vec<i32>>());
    assert_eq!(Object::from_value(&wide).unwrap().to_value().unwrap(), wide);
    let map: Map = (0..10_000).map(|key| (key, vec![key])).collect();
    let value = Value::Map(map);
    let object = Object::from_value(&value).unwrap();
    assert_eq!(object.to_value().unwrap(), value);
    assert_eq!(object.root().find(9_999).unwrap().unwrap().at(0).unwrap().to_i64().unwrap(), 9_999);
}

#[test]
fn values_are_the_same_by_content() {
    assert_eq!(Value::Int(5), Value::UInt(5));
    assert_ne!(Value::Int(1), Value::Float(1.0));
    assert_eq!(Value::Float(f64::NAN), Value::Float(f64::NAN));
    assert_ne!(Value::Float(0.0), Value::Float(-0.0));
    let (ab, ba) = (Map::from([("a", 1), ("b", 2)]), Map::from([("b", 2), ("a", 1)]));
    assert_eq!(ab, ba);
    assert_ne!(ab, Map::from([("a", 1), ("b", 3)]));
    assert_ne!(ab, Map::from([("a", 1)]));
}

#[test]
fn rusts_values_become_values_and_come_back() {
    assert_eq!(u8::try_from(Value::from(200_u8)).unwrap(), 200);
    assert_eq!(u64::try_from(Value::from(u64::MAX)).unwrap(), u64::MAX);
    let error = i8::try_from(Value::from(200)).unwrap_err();
    assert!(error.message().contains("200"), "{error}");
    assert!(bool::try_from(Value::from("x")).unwrap_err().message().contains("a string"));
    assert_eq!(f64::try_from(Value::from(3)).unwrap(), 3.0);
    assert!(f64::try_from(Value::from(i64::MAX)).is_err());
    assert_eq!(String::try_from(Value::from("text")).unwrap(), "text");
    assert_eq!(Value::from(None::<i32>), Value::Nil);
    assert_eq!(Value::from(()), Value::Nil);
    assert_eq!(Vec::<String>::try_from(Value::from(vec!["a", "b"])).unwrap(), ["a", "b"]);
    assert!(Vec::<String>::try_from(Value::from(vec![1])).is_err());
    let map = HashMap::from([("k", 1)]);
    let back = HashMap::<Key, i32>::try_from(Value::from(map)).unwrap();
    assert_eq!(back[&Key::from("k")], 1);
    assert_eq!(Value::from(BTreeMap::from([(1, "v")])).get(1), Some(&"v".into()));
    for moment in [UNIX_EPOCH - Duration::from_millis(1), SystemTime::now()] {
        let time = Timestamp::try_from(Value::from(moment)).unwrap();
        assert_eq!(SystemTime::try_from(time).unwrap(), moment);
    }
}

#[test]
fn maps_keep_their_order() {
    let mut map = Map::from([("z", 1), ("a", 2)]);
    assert_eq!(map.insert("z", 3), Some(Value::Int(1)));
    assert_eq!(map.remove("a"), Some(Value::Int(2)));
    assert_eq!(map.remove("a"), None);
    assert_eq!((map.len(), map.is_empty()), (1, false));
    let twice: Map = [("k", 1), ("l", 2), ("k", 3)].into_iter().collect();
    let pairs: Vec<_> = twice.into_iter().collect();
    assert_eq!(pairs, [("k".into(), 3.into()), ("l".into(), 2.into())]);
}

#[test]
fn arrays_know_shape_and_type() {
    let array = Array::new(&[2, 3], &[1_u16, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!((array.shape(), array.len(), array.dtype()), (vec![2, 3], 6, Dtype::UINT16));
    assert_eq!(array.as_slice::<u16>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(array.as_bytes().len(), 12);
    assert!(array.as_slice::<f64>().unwrap_err().message().contains("TUTTI_UINT16"));
    assert!(Array::new(&[2], &[1_u8]).unwrap_err().message().contains("shape"));
    assert!(Array::new::<u8>(&[usize::MAX, 2], &[]).is_err());
}

#[test]
fn objects_are_read_in_place() {
    let object = Object::from_value(&everything()).unwrap();
    let at = |key: &str| object.root().find(key).unwrap().unwrap();
    assert_eq!(object.root().kind().unwrap(), ObjectKind::MAP);
    assert_eq!(object.root().find("none").unwrap(), None);
    assert_eq!(at("numbers").size().unwrap(), 5);
    assert_eq!(at("numbers").at(0).unwrap().to_i64().unwrap(), i64::MIN);
    assert_eq!(at("large").at(1).unwrap().to_u64().unwrap(), u64::MAX);
    assert_eq!(at("floats").at(4).unwrap().to_f64().unwrap(), 1e-310);
    assert!(at("bools").at(0).unwrap().to_bool().unwrap());
    assert_eq!(at("text").as_str().unwrap(), "Straße, 日本, \0 inside");
    assert_eq!(at("bytes").as_bytes().unwrap().len(), 256);
    let key = object.root().find(u64::MAX).unwrap().unwrap();
    assert_eq!(key.to_timestamp().unwrap().nanoseconds, 999_999_999);
    let (shape, elements) = at("f16").as_array::<f16>().unwrap();
    assert_eq!((shape, elements[1].to_f32()), (&[2_i64, 1][..], -2.0));
    assert!(at("f16").as_array::<f32>().is_err());
    assert!(at("empty").as_array::<f64>().unwrap().1.is_empty());
    let mut numbers = [0_i64; 3];
    at("numbers").read_elements(1, &mut numbers).unwrap();
    assert_eq!(numbers, [-1, 0, 1]);
    assert_eq!(at("bools").copy().unwrap().to_value().unwrap(), [true, false].into());
    assert_eq!(at("bools").to_json(0, 0).unwrap(), "[true, false]");
    let error = at("text").to_i64().unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    assert!(at("numbers").at(5).is_err() && at("numbers").find("x").is_err());
}

#[test]
fn objects_are_built_part_by_part() {
    let mut builder = ObjectBuilder::new().unwrap();
    let build = |builder: &mut ObjectBuilder| -> tutti::Result<()> {
        let time = Timestamp { seconds: 5, nanoseconds: 6 };
        builder.begin_map()?.key("list")?.begin_list()?.nil()?.bool(true)?.int(-1)?.uint(2)?;
        builder.float(0.5)?.string("s")?.bytes(&[1])?.timestamp(time)?.end()?;
        builder.key(7)?.elements(&[1_u8]).unwrap_err();
        Ok(())
    };
    build(&mut builder).unwrap();
    assert!(builder.finish().is_err(), "a call that fails spoils the object");

    let part = Object::from_value(&vec![1, 2].into()).unwrap();
    let mut builder = ObjectBuilder::new().unwrap();
    builder.begin_list().unwrap().elements(&[1.5_f32]).unwrap().value(&"v".into()).unwrap();
    let array = Array::new(&[1], &[9_i16]).unwrap();
    builder.array(&array).unwrap().node(part.root().at(1).unwrap()).unwrap().end().unwrap();
    let value = builder.finish().unwrap().to_value().unwrap();
    assert_eq!(value, Value::List(vec![1.5.into(), "v".into(), array.into(), 2.into()]));
    assert!(ObjectBuilder::new().unwrap().finish().is_err(), "nothing was added");
}

#[test]
fn objects_borrow_what_they_are_lent() {
    let (grid, raw) = (vec![0.5_f64; 12], [1_u8, 2, 3]);
    let value = Value::from(Array::new(&[2], &[7_i32, 8]).unwrap());
    let mut builder = ObjectBuilder::new().unwrap();
    builder.begin_list().unwrap().borrow_array(&[3, 4], &grid).unwrap();
    builder.borrow_bytes(&raw).unwrap().borrow_value(&value).unwrap().end().unwrap();
    let object = builder.finish().unwrap();
    let at = |place| object.root().at(place).unwrap();
    assert_eq!(at(0).as_array::<f64>().unwrap().1.as_ptr(), grid.as_ptr());
    assert_eq!(at(1).as_bytes().unwrap().as_ptr(), raw.as_ptr());
    assert_eq!(at(2).to_value().unwrap(), value);
    let copy = object.root().copy().unwrap();
    drop(object);
    drop(grid);
    let (shape, elements) = copy.root().at(0).unwrap().as_array::<f64>().unwrap();
    assert_eq!((shape, elements), (&[3_i64, 4][..], &[0.5; 12][..]));
    for wrong in [&[2_usize, 5][..], &[], &[usize::MAX, 2], &[usize::MAX, 0]] {
        let mut builder = ObjectBuilder::new().unwrap();
        let error = builder.borrow_array(wrong, &raw).unwrap_err();
        assert!(error.message().contains("shape"), "{error}");
    }
    let mut builder = ObjectBuilder::new().unwrap();
    builder.borrow_array::<f32>(&[0], &[]).unwrap();
    assert_eq!(builder.finish().unwrap().root().as_array::<f32>().unwrap().1, []);
}

#[test]
fn arrays_of_a_borrowed_message_stay_in_it_where_they_are_aligned() {
    let array = Array::new(&[3], &[1.0_f64, 2.0, 3.0]).unwrap();
    let options = ObjectOptions::default();
    let message = Object::from_value(&array.clone().into()).unwrap().encode(&options).unwrap();
    let mut room = vec![0_u8; message.len() + 8];
    let mut in_place = 0;
    for shift in 0..8 {
        let place = &mut room[shift..shift + message.len()];
        place.copy_from_slice(&message);
        let object = Object::decode_borrowed(place, &options).unwrap();
        let (_, elements) = object.root().as_array::<f64>().unwrap();
        assert_eq!(elements, [1.0, 2.0, 3.0]);
        in_place += i32::from(place.as_ptr_range().contains(&elements.as_ptr().cast()));
        assert_eq!(object.to_value().unwrap(), array.clone().into());
    }
    assert_eq!(in_place, 1);
}

#[test]
fn objects_that_borrow_are_sent() {
    on_ranks(2, |group| {
        let rank = group.rank();
        let grid = vec![rank as f32; 100_000];
        let mut builder = ObjectBuilder::new().unwrap();
        builder.borrow_array(&[100, 1000], &grid).unwrap();
        let object = builder.finish().unwrap();
        let of = |rank: usize| Array::new(&[100, 1000], &[rank as f32; 100_000]).unwrap();
        let all = [of(0).into(), of(1).into()];
        assert_eq!(group.all_gather_object(&object).unwrap(), all);
        assert_eq!(group.all_gather_object(&all[rank]).unwrap(), all);
        let gathered = group.gather_object(&object, 1).unwrap();
        assert_eq!(gathered.is_some(), rank == 1);
        scope(|scope| {
            let sent = scope.start(group).send_object_list(vec![&object], 1 - rank, 0).unwrap();
            let (got, _) = group.recv_object_list(1, 1 - rank, 0).unwrap();
            assert_eq!(got, [of(1 - rank).into()]);
            sent.wait().unwrap();
            let work = scope.start(group).all_gather_object(&object).unwrap();
            assert_eq!(work.wait().unwrap(), all);
        });
        if rank == 0 {
            group.send_object_list(&[object], 1, 1).unwrap();
        } else {
            assert_eq!(group.recv_object_list(1, 0, 1).unwrap().0, all[..1]);
        }
        // Values that a work owns stay until it is done, also where the work is dropped.
        drop(group.start().all_gather_object(of(rank)).unwrap());
        let list = vec![Value::from(of(rank)), Value::Bytes(vec![rank as u8; 1000])];
        let got = group.start().broadcast_object_list(list, 1).unwrap().wait().unwrap();
        assert_eq!(got, [of(1).into(), Value::Bytes(vec![1; 1000])]);
    });
}

#[test]
fn what_is_no_message_or_beyond_a_limit_is_an_error() {
    let options = ObjectOptions::default();
    for message in [&b""[..], b"\xc1", b"\x93\x01", b"\xa5abc", b"\x28\xb5\x2f\xfd\x00"] {
        let error = Object::decode(message, &options).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    }
    let object = Object::from_value(&vec![vec![1]].into()).unwrap();
    let message = object.encode(&options).unwrap();
    for limited in [
        ObjectOptions { max_depth: 1, ..options },
        ObjectOptions { max_values: 2, ..options },
        ObjectOptions { max_bytes: 1, ..options },
    ] {
        assert!(Object::decode(&message, &limited).is_err());
    }
    let bad = Timestamp { seconds: 0, nanoseconds: 1_000_000_000 };
    assert!(Object::from_value(&bad.into()).is_err());
}

#[test]
fn values_in_collectives_and_messages() {
    on_ranks(3, |group| {
        let rank = group.rank();
        let mine = Value::from(Map::from([("rank", Value::from(rank)), ("all", everything())]));
        let of = |rank: usize| Map::from([("rank", Value::from(rank)), ("all", everything())]);
        let all: Vec<Value> = (0..3).map(|rank| of(rank).into()).collect();
        assert_eq!(group.all_gather_object(mine.clone()).unwrap(), all);
        assert_eq!(group.start().all_gather_object(mine.clone()).unwrap().wait().unwrap(), all);
        let gathered = group.gather_object(mine.clone(), 1).unwrap();
        assert_eq!(gathered, (rank == 1).then(|| all.clone()));
        let work = group.start().gather_object(mine.clone(), 2).unwrap();
        assert_eq!(work.wait().unwrap(), (rank == 2).then(|| all.clone()));
        let given = if rank == 0 { all.clone() } else { vec![] };
        assert_eq!(group.scatter_object_list(&given, 0).unwrap(), mine);
        let work = group.start().scatter_object_list(given, 0).unwrap();
        assert_eq!(work.wait().unwrap(), mine);
        let mut list = if rank == 2 { all.clone() } else { vec![Value::Nil; 3] };
        group.broadcast_object_list(&mut list, 2).unwrap();
        assert_eq!(list, all);
        drop(group.start().broadcast_object_list(vec![rank.into()], 0).unwrap());
        if rank == 0 {
            let (got, from) = group.recv_object_list(2, 1, 4).unwrap();
            assert_eq!((got, from), (vec![1.into(), mine], 1));
        } else if rank == 1 {
            group.send_object_list(&[1.into(), all[0].clone()], 0, 4).unwrap();
        }
        let sent = group.start().send_object_list(vec![rank], (rank + 1) % 3, 6).unwrap();
        let work = group.start().recv_object_list(1, Source::Any, 6).unwrap();
        assert_eq!(work.wait().unwrap(), [Value::from((rank + 2) % 3)]);
        sent.wait().unwrap();
    });
}

#[test]
fn a_value_beyond_the_receivers_limit_names_its_sender_and_the_group_goes_on() {
    on_ranks(2, |group| {
        let limited =
            group.with_object_options(ObjectOptions { max_values: 8, ..Default::default() });
        let value = Value::from(vec![0; if group.rank() == 1 { 100 } else { 1 }]);
        if group.rank() == 0 {
            let error = limited.all_gather_object(value).unwrap_err();
            assert_eq!((error.status(), error.rank()), (Status::MISMATCH, Some(1)));
        } else {
            group.all_gather_object(value).unwrap();
        }
        group.barrier().unwrap();
    });
}

#[test]
fn bytes_in_collectives_and_messages() {
    on_ranks(3, |group| {
        let (rank, mine) = (group.rank(), vec![group.rank() as u8; group.rank() * 100]);
        let rows: Vec<Vec<u8>> = (0..3).map(|rank| vec![rank as u8; rank * 100]).collect();
        let lists: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        assert_eq!(group.all_gather_bytes(&mine).unwrap(), lists);
        assert_eq!(group.start().all_gather_bytes(mine.clone()).unwrap().wait().unwrap(), lists);
        let sent = (rank == 2).then(|| &rows[2][..]);
        let got = group.broadcast_bytes(sent, 2).unwrap();
        assert!(got.map_or(rank == 2, |got| got == lists[2]));
        let work = group.start().broadcast_bytes((rank == 1).then(|| rows[1].clone()), 1).unwrap();
        assert!(work.wait().unwrap().map_or(rank == 1, |got| got == lists[1]));
        let got = group.gather_bytes(&mine, 0).unwrap();
        assert!(got.map_or(rank != 0, |got| got == lists));
        let work = group.start().gather_bytes(mine.clone(), 1).unwrap();
        assert!(work.wait().unwrap().map_or(rank != 1, |got| got == lists));
        let given = if rank == 0 { &lists[..] } else { &[] };
        assert_eq!(group.scatter_bytes(given, 0).unwrap(), &mine[..]);
        let given = if rank == 0 { rows.clone() } else { vec![] };
        assert_eq!(group.start().scatter_bytes(given, 0).unwrap().wait().unwrap(), &mine[..]);
        let sent = group.start().send_bytes(mine, (rank + 1) % 3, 8).unwrap();
        let work = group.start().recv_bytes((rank + 2) % 3, 8).unwrap();
        assert_eq!(work.wait().unwrap(), lists[(rank + 2) % 3]);
        sent.wait().unwrap();
        match rank {
            0 => group.send_bytes(b"hello", 1, 0).unwrap(),
            1 => {
                let (got, from) = group.recv_bytes(Source::Any, 0).unwrap();
                assert_eq!(got, b"hello");
                assert_eq!(from, 0);
            }
            _ => {}
        }
    });
}
