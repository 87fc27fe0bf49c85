//! Gradients that are added up in buckets.
mod support;

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::thread;
use support::{on_ranks, on_ranks_with};
use tutti::{
    Compression, Element, Error, Group, GroupOptions, Map, Parameter, PowerSgdOptions, ReduceOp,
    Reducer, ReducerOptions, Status,
};

/// A reducer of two parameters and an empty one, each in a bucket of its own, and what it made of
/// their values.
fn model(group: &Group, options: ReducerOptions<'_>) -> (Reducer, Vec<f64>) {
    let (mut weights, mut bias) = (vec![0.0_f64; 3000], [group.rank() as f64 + 7.0]);
    let parameters = [
        Parameter::new("weights", &mut weights),
        Parameter::new("bias", &mut bias),
        Parameter::new::<f64>("nothing", &mut []),
    ];
    let options = ReducerOptions { bucket_cap_bytes: 1000, first_bucket_cap_bytes: 8, ..options };
    let reducer = Reducer::new(group, &parameters, &options).unwrap();
    group.barrier().unwrap(); // a rank that fails now finds no other still making it
    (reducer, bias.to_vec())
}

/// A number of the reducer's logging data.
fn number(reducer: &Reducer, key: &str) -> i64 {
    let data = Map::try_from(reducer.logging_data().unwrap()).unwrap();
    i64::try_from(data.get(key).unwrap().clone()).unwrap()
}

/// This rank's gradient of a parameter in the tests.
fn value(group: &Group, parameter: usize) -> f64 {
    ((group.rank() + 1) * (parameter + 1)) as f64
}

/// The mean of that over the ranks.
fn mean(group: &Group, parameter: usize) -> f64 {
    (group.world_size() + 1) as f64 / 2.0 * (parameter + 1) as f64
}

/// A pass in which every parameter gets its value.
fn pass(reducer: &mut Reducer, group: &Group) -> tutti::Result<()> {
    reducer.backward(true, |pass| {
        for parameter in [2, 1, 0] {
            let mut gradient = pass.gradient::<f64>(parameter)?;
            gradient.fill(value(group, parameter));
            gradient.ready()?;
        }
        Ok(())
    })
}

fn first<T: Element>(values: impl Deref<Target = [T]>) -> T {
    values[0]
}

#[test]
fn gradients_become_means() {
    for ranks in [1, 2, 4] {
        on_ranks(ranks, |group| {
            let (mut reducer, bias) = model(group, ReducerOptions::default());
            assert_eq!(bias, [7.0]); // of rank 0
            for iteration in 1..=3_i64 {
                reducer.begin_forward().unwrap();
                pass(&mut reducer, group).unwrap();
                for parameter in [0, 1] {
                    let gradient = reducer.gradient::<f64>(parameter).unwrap();
                    assert!(gradient.iter().all(|&one| one == mean(group, parameter)));
                    assert!(reducer.is_used(parameter));
                }
                assert_eq!(reducer.gradient::<f64>(2).unwrap(), []);
                let data = Map::try_from(reducer.logging_data().unwrap()).unwrap();
                assert_eq!(data.get("iteration"), Some(&iteration.into()));
            }
        });
    }
}

#[test]
fn gradients_of_the_program_and_of_several_threads() {
    on_ranks(4, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        for _ in 0..4 {
            let mut own = vec![value(group, 0); 3000];
            let pass = reducer.begin(true).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| pass.mark_ready(2).unwrap());
                scope.spawn(|| pass.mark_ready_from(0, &mut own).unwrap());
                let mut bias = pass.gradient::<f64>(1).unwrap();
                bias[0] = value(group, 1);
                bias.ready().unwrap();
            });
            pass.finish().unwrap();
            assert_eq!(own, vec![mean(group, 0); 3000]);
            assert_eq!(first(reducer.gradient::<f64>(1).unwrap()), mean(group, 1));
        }
    });
}

#[test]
fn an_optimizer_takes_bucket_after_bucket() {
    on_ranks(2, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        let pass = reducer.begin(true).unwrap();
        let mut own = [value(group, 1)];
        pass.mark_ready(2).unwrap();
        pass.mark_ready_from(1, &mut own).unwrap();
        let mut weights = pass.gradient::<f64>(0).unwrap();
        weights.fill(value(group, 0));
        weights.ready().unwrap();
        let mut finishing = pass.start_finish().unwrap();
        let (mut seen, mut buckets) = (Vec::new(), 0);
        while let Some(bucket) = finishing.next_bucket().unwrap() {
            assert_eq!(bucket.index(), buckets);
            buckets += 1;
            assert_eq!(bucket.is_last(), buckets == bucket.bucket_count());
            let gradients = bucket.gradients::<f64>().unwrap();
            for (parameter, range) in bucket.parameters() {
                assert!(gradients[range].iter().all(|&one| one == mean(group, parameter)));
                seen.push(parameter);
            }
            assert!(bucket.gradients::<f32>().is_err());
        }
        finishing.wait().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(own, [mean(group, 1)]);
        assert_eq!(reducer.bucket(0).unwrap().bucket_count(), buckets);
        assert_eq!(reducer.bucket(99).unwrap_err().status(), Status::INVALID_ARGUMENT);
    });
}

#[test]
fn passes_that_are_not_synchronised_accumulate() {
    on_ranks(2, |group| {
        let (mut reducer, _) = model(group, ReducerOptions { sum: true, ..Default::default() });
        for last in [false, false, true] {
            let add = |pass: &tutti::Pass<'_, '_>| {
                for parameter in 0..3 {
                    let mut gradient = pass.gradient::<f64>(parameter)?;
                    gradient.iter_mut().for_each(|one| *one += 1.0 + group.rank() as f64);
                    gradient.ready()?;
                }
                Ok(())
            };
            reducer.backward(last, add).unwrap();
        }
        assert_eq!(first(reducer.gradient::<f64>(0).unwrap()), 9.0);
        reducer.gradient_mut::<f64>(0).unwrap().fill(0.0);
        assert_eq!(first(reducer.gradient::<f64>(0).unwrap()), 0.0);
    });
}

#[test]
fn micro_batches_are_kept_apart() {
    let options = GroupOptions { reproducible: true, ..Default::default() };
    on_ranks_with(2, options, |group| {
        let kept = ReducerOptions { keep_micro_batches: 1, ..Default::default() };
        let (mut reducer, _) = model(group, kept);
        for last in [false, true] {
            let mut own = [if last { 1.0 } else { 5.0 }];
            let mark = |pass: &tutti::Pass<'_, '_>| pass.mark_ready(0).and(pass.mark_ready(2));
            let pass = reducer.begin(last).unwrap();
            mark(&pass).unwrap();
            pass.mark_ready_from(1, &mut own).unwrap();
            pass.finish().unwrap();
            assert_eq!(own, [if last { 3.0 } else { 5.0 }]);
        }
    });
}

#[test]
fn a_part_of_the_model_may_be_unused() {
    on_ranks(2, |group| {
        let options = ReducerOptions { find_unused_parameters: true, ..Default::default() };
        let (mut reducer, _) = model(group, options);
        let mut own = vec![8.0_f64; 3000];
        reducer
            .backward(true, |pass| {
                pass.mark_unused(&[2, 1])?;
                assert!(pass.mark_ready(1).is_err());
                match group.rank() {
                    0 => pass.mark_ready_from(0, &mut own),
                    _ => Ok(()),
                }
            })
            .unwrap();
        let used: Vec<bool> = (0..4).map(|parameter| reducer.is_used(parameter)).collect();
        assert_eq!(used, [true, false, false, false]);
        assert_eq!(first(reducer.gradient::<f64>(0).unwrap()), 4.0);
        assert_eq!(own[0], if group.rank() == 0 { 4.0 } else { 8.0 });
    });
}

#[test]
fn a_static_graph_marks_as_often_as_in_its_first_pass() {
    on_ranks(2, |group| {
        let (mut reducer, _) =
            model(group, ReducerOptions { static_graph: true, ..Default::default() });
        for number in 0..3 {
            let pass = reducer.begin(true).unwrap();
            for _ in 0..2 {
                let mut half = pass.gradient::<f64>(0).unwrap();
                half.iter_mut().for_each(|one| *one += 0.5);
                half.ready().unwrap();
            }
            if number > 0 {
                assert!(pass.gradient::<f64>(0).is_err()); // it travels
                assert!(pass.gradient::<f64>(1).is_err()); // it is not used
            }
            pass.finish().unwrap();
            assert_eq!(first(reducer.gradient::<f64>(0).unwrap()), 1.0);
            reducer.gradient_mut::<f64>(0).unwrap().fill(0.0);
        }
    });
}

#[test]
fn a_hook_reduces_buckets_and_is_let_go() {
    for ranks in [2, 4] {
        on_ranks(ranks, |group| {
            let (mut reducer, _) = model(group, ReducerOptions::default());
            let seen = Arc::new(Mutex::new(Vec::new()));
            let kept = seen.clone();
            reducer
                .set_hook(move |group, bucket| {
                    kept.lock().unwrap().push(bucket.index());
                    assert!(bucket.stream().is_null());
                    let gradients = bucket.gradients_mut::<f64>()?;
                    group.all_reduce(&mut gradients[..], ReduceOp::MAX)
                })
                .unwrap();
            pass(&mut reducer, group).unwrap();
            assert_eq!(first(reducer.gradient::<f64>(1).unwrap()), 2.0 * ranks as f64);
            let count = reducer.bucket(0).unwrap().bucket_count();
            assert_eq!(*seen.lock().unwrap(), (0..count).collect::<Vec<_>>());
            reducer.reset_hook().unwrap();
            assert_eq!(Arc::strong_count(&seen), 1);
            pass(&mut reducer, group).unwrap();
            assert_eq!(first(reducer.gradient::<f64>(1).unwrap()), mean(group, 1));
        });
    }
}

#[test]
fn a_hook_that_fails_or_panics_fails_the_reducer_on_all_ranks() {
    for panics in [false, true] {
        let errors = on_ranks(2, |group| {
            let (mut reducer, _) = model(group, ReducerOptions::default());
            let rank = group.rank();
            reducer
                .set_hook(move |_, _| match (rank, panics) {
                    (0, _) => Ok(()),
                    (_, true) => panic!("on purpose"),
                    (_, false) => Err(Error::new(Status::BACKEND, "no bucket today")),
                })
                .unwrap();
            let error = loop {
                // Rank 0 may have reduced its buckets before it hears of it.
                if let Err(error) = pass(&mut reducer, group) {
                    break error;
                }
            };
            assert!(reducer.begin(true).is_err());
            error
        });
        let told = if panics { "the hook panicked: on purpose" } else { "no bucket today" };
        for error in errors {
            assert!(error.message().contains(told), "{error}");
        }
    }
}

#[test]
fn gradients_travel_in_fewer_bytes() {
    on_ranks(4, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        let ways = [Compression::FLOAT16, Compression::BFLOAT16, Compression::QUANTISED];
        for way in ways.into_iter().chain([Compression::NONE]) {
            reducer.set_compression(way).unwrap();
            pass(&mut reducer, group).unwrap();
            let found = first(reducer.gradient::<f64>(0).unwrap());
            assert!((found - mean(group, 0)).abs() < 0.01, "{way:?}: {found}");
        }
        let refused = reducer.set_compression(Compression(99)).unwrap_err();
        assert!(refused.message().contains("compression is 99"), "{refused}");
        assert!(number(&reducer, "communicated_bytes") < number(&reducer, "gradient_bytes"));
    });
}

#[test]
fn gradients_travel_as_products_of_two_factors() {
    on_ranks(4, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        let options = PowerSgdOptions { start_iteration: 1, ..Default::default() };
        let rows = [50, 0, 0];
        let refused = reducer.set_power_sgd(&rows[..2], options).unwrap_err();
        assert!(refused.message().contains("count is 2"), "{refused}");
        let own = PowerSgdOptions { random_seed: group.rank() as i64, ..options };
        let refused = reducer.set_power_sgd(&rows, own).unwrap_err();
        assert_eq!(refused.status(), Status::MISMATCH, "{refused}");
        reducer.set_power_sgd(&rows, options).unwrap();
        let sent = |reducer: &Reducer| number(reducer, "communicated_bytes");
        let mut before = 0;
        for bytes in [3001 * 8, (50 + 60 + 1) * 8, (50 + 60 + 1) * 8] {
            pass(&mut reducer, group).unwrap();
            assert_eq!(sent(&reducer) - before, bytes);
            before = sent(&reducer);
            for parameter in [0, 1] {
                let found = first(reducer.gradient::<f64>(parameter).unwrap());
                assert!((found - mean(group, parameter)).abs() < 1e-9, "{found}");
            }
        }
    });
}

#[test]
fn buffers_are_copied_from_one_rank() {
    on_ranks(2, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        let (mut means, mut count) = ([group.rank() as f32; 3], [group.rank() as i64]);
        let buffers = [Parameter::new("means", &mut means), Parameter::new("count", &mut count)];
        reducer.sync_buffers(&buffers, 1).unwrap();
        assert_eq!((means, count), ([1.0; 3], [1]));
    });
}

#[test]
fn wrong_arguments_are_named() {
    on_ranks(1, |group| {
        let mut values = [1.0_f32];
        let parameters = [Parameter::new("one", &mut values)];
        let order = [0, 0];
        let options = ReducerOptions { order: Some(&order), ..Default::default() };
        let refused = Reducer::new(group, &parameters, &options).unwrap_err();
        assert!(refused.message().contains("options.order has 2 indices"), "{refused}");
        let refused = Reducer::new(group, &[], &ReducerOptions::default()).unwrap_err();
        assert_eq!(refused.status(), Status::INVALID_ARGUMENT);

        let mut reducer = Reducer::new(group, &parameters, &ReducerOptions::default()).unwrap();
        assert!(reducer.gradient::<f64>(0).unwrap_err().message().contains("parameter 0 is of"));
        assert!(reducer.gradient::<f32>(1).is_err());
        let mut long = [0.0_f32; 2];
        let pass = reducer.begin(true).unwrap();
        let taken = pass.gradient::<f32>(0).unwrap();
        assert!(pass.mark_ready(0).unwrap_err().message().contains("is being computed"));
        drop(taken);
        let refused = pass.mark_ready_from(0, &mut long).unwrap_err();
        assert!(refused.message().contains("own has 2 elements"), "{refused}");
        assert!(pass.mark_ready(1).unwrap_err().message().contains("the reducer has 1"));
        assert!(pass.mark_unused(&[0]).is_err());
        std::mem::forget(pass);
        assert!(reducer.gradient::<f32>(0).unwrap_err().message().contains("not ended"));
        assert!(reducer.begin(true).is_err());
    });
}

#[test]
fn a_parameter_without_gradient_is_named_on_all_ranks() {
    let errors = on_ranks(2, |group| {
        let (mut reducer, _) = model(group, ReducerOptions::default());
        reducer.backward(true, |pass| pass.mark_ready(0)).unwrap_err()
    });
    for error in errors {
        assert_eq!(error.status(), Status::MISMATCH);
        assert!(error.message().contains("bias"), "{error}");
    }
}

#[test]
fn a_reducer_goes_on_in_a_smaller_group() {
    on_ranks(3, |group| {
        let options = ReducerOptions { static_graph: true, ..Default::default() };
        let (mut reducer, _) = model(group, options);
        pass(&mut reducer, group).unwrap();
        group.barrier().unwrap();
        if group.rank() == 1 {
            assert_eq!(group.barrier().unwrap_err().status(), Status::ABORTED);
            return;
        }
        let pair = group.shrink(&[1], &Default::default()).unwrap();
        let cut = reducer.begin(true).unwrap();
        cut.gradient::<f64>(1).unwrap().ready().unwrap();
        drop(cut);
        assert!(reducer.gradient::<f64>(0).is_err());
        reducer.shrink(&pair).unwrap();
        assert_eq!(first(reducer.gradient::<f64>(1).unwrap()), 0.0);
        pass(&mut reducer, &pair).unwrap();
        for parameter in [0, 1] {
            let gradient = reducer.gradient::<f64>(parameter).unwrap();
            assert_eq!(gradient[0], mean(&pair, parameter));
        }
    });
}
