//! Groups of groups: meshes, new groups, split groups.
mod support;

use std::time::Duration;
use support::on_ranks;
use tutti::{DeviceType, Dim, GroupOptions, Mesh, NewGroupOptions, ReduceOp, Source, Status};

#[test]
fn a_mesh_has_a_group_along_each_dimension() {
    on_ranks(6, |group| {
        let (row, column) = (group.rank() / 3, group.rank() % 3);
        let names = ["row", "column"];
        let mesh =
            Mesh::init(Some(group), DeviceType::CPU, &[2, 3], &names, Default::default()).unwrap();
        assert_eq!((mesh.ndim(), mesh.size(), mesh.rank()), (2, 6, group.rank()));
        assert_eq!(mesh.shape().unwrap(), [2, 3]);
        assert_eq!(mesh.ranks().unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!((mesh.dim_name(1), mesh.dim_name(2)), (Some("column"), None));
        assert_eq!(mesh.coordinate().unwrap(), Some(vec![row, column]));
        assert_eq!(mesh.local_rank("column").unwrap(), Some(column));
        assert_eq!(mesh.local_rank(0).unwrap(), Some(row));
        let along = mesh.group("column").unwrap().unwrap();
        assert_eq!(along.ranks().unwrap(), [3 * row, 3 * row + 1, 3 * row + 2]);
        let mut sum = [group.rank() as i32];
        along.all_reduce(&mut sum, ReduceOp::SUM).unwrap();
        assert_eq!(sum, [9 * row as i32 + 3]);
        let sizes: Vec<_> = mesh.all_groups().unwrap().iter().map(|g| g.world_size()).collect();
        assert_eq!(sizes, [2, 3]);

        let slice = mesh.slice(&["row"]).unwrap();
        assert_eq!(slice.group(Dim::Only).unwrap().unwrap().ranks().unwrap(), [column, column + 3]);
        let flat = mesh.flatten(Some("all"), Default::default()).unwrap();
        assert_eq!((flat.ndim(), flat.size()), (1, 6));
        assert_eq!(mesh.group("all").unwrap().unwrap().world_size(), 6);
        for error in [mesh.group("none").unwrap_err(), mesh.group(9).unwrap_err()] {
            assert_eq!(error.status(), Status::INVALID_ARGUMENT);
        }
        assert!(mesh.group(Dim::Only).is_err());
    });
}

#[test]
fn a_mesh_of_any_layout() {
    on_ranks(4, |group| {
        let (here, options) = (group.rank(), GroupOptions::default());
        let cpu = DeviceType::CPU;
        let mesh = Mesh::create(Some(group), cpu, &[3, 1, 0, 2], &[2, 2], &["a", "b"], options);
        let mesh = mesh.unwrap();
        let place = [vec![1, 0], vec![0, 1], vec![1, 1], vec![0, 0]][here].clone();
        assert_eq!(mesh.coordinate().unwrap(), Some(place.clone()));
        assert_eq!((mesh.find_dim("b").unwrap(), mesh.device_type()), (1, cpu));
        let along = mesh.group("b").unwrap().unwrap();
        assert_eq!(along.rank(), place[1]);
        let unknown = mesh.group("c").unwrap_err();
        assert!(unknown.message().contains('c'), "{unknown}");
        let gpu = Mesh::init(Some(group), DeviceType::XPU, &[4], &[], GroupOptions::default());
        assert!(gpu.unwrap_err().message().contains("device"));
        along.barrier().unwrap();
        group.barrier().unwrap();
    });
}

#[test]
fn a_mesh_of_groups_that_are_there() {
    on_ranks(4, |group| {
        let (row, column) = (group.rank() / 2, group.rank() % 2);
        let none = NewGroupOptions::default();
        let rows = group.split_group(&[&[0, 1], &[2, 3]], &none).unwrap().unwrap();
        let columns = group.split_group(&[&[0, 2], &[1, 3]], &none).unwrap().unwrap();
        let ranks = [0, 1, 2, 3];
        let mesh = Mesh::from_group(
            &[&columns, &rows],
            DeviceType::CPU,
            &ranks,
            &[2, 2],
            &[],
            Default::default(),
        )
        .unwrap();
        assert_eq!(mesh.coordinate().unwrap(), Some(vec![row, column]));
        let wrong =
            Mesh::from_group(&[&rows], DeviceType::CPU, &ranks, &[2, 2], &[], Default::default())
                .unwrap_err();
        assert!(wrong.message().contains("groups"), "{wrong}");
        let wrong = Mesh::from_group(
            &[&columns, &rows],
            DeviceType::CPU,
            &[0],
            &[2, 2],
            &[],
            Default::default(),
        )
        .unwrap_err();
        assert!(wrong.message().contains("ranks"), "{wrong}");
        let names = ["only one"];
        let wrong = Mesh::init(Some(group), DeviceType::CPU, &[2, 2], &names, Default::default());
        assert!(wrong.unwrap_err().message().contains("dim_names"));
    });
}

#[test]
fn ranks_without_a_place_are_no_members() {
    on_ranks(3, |group| {
        let last = group.rank() == 2;
        let mesh =
            Mesh::init(Some(group), DeviceType::CPU, &[2], &["x"], Default::default()).unwrap();
        assert_eq!(mesh.group("x").unwrap().is_none(), last);
        assert_eq!(mesh.coordinate().unwrap().is_none(), last);
        assert_eq!(mesh.local_rank("x").unwrap().is_none(), last);
        assert_eq!(mesh.all_groups().unwrap().len(), usize::from(!last));
        let options = NewGroupOptions { description: Some("pair"), ..Default::default() };
        let pair = group.new_group(Some(&[2, 0]), &options).unwrap();
        assert_eq!(pair.as_ref().map(|pair| pair.rank()), [Some(0), None, Some(1)][group.rank()]);
        // The pair lives until both have waited in it.
        if let Some(pair) = &pair {
            assert_eq!((pair.world_size(), pair.ranks().unwrap()), (2, vec![0, 2]));
            assert_eq!((pair.group_rank(2), pair.group_rank(1)), (Some(1), None));
            assert_eq!((pair.global_rank(1), pair.global_rank(2)), (Some(2), None));
            assert_eq!(pair.backend(), Some("loopback"));
            let soon = pair.with_timeout(Duration::from_millis(5));
            let error = soon.recv(&mut [0_u8], Source::Any, 0).unwrap_err();
            assert_eq!(error.status(), Status::TIMEOUT);
            assert!(error.message().contains("pair"), "{error}");
            assert!(pair.name().unwrap().contains("pair"));
            assert_eq!(pair.failed_ranks().unwrap(), []);
            pair.set_timeout(Duration::from_secs(70)).unwrap();
            assert_eq!(pair.timeout().unwrap(), Duration::from_secs(70).into());
        }
        let error = group.new_group(Some(&[usize::MAX]), &options).unwrap_err();
        assert!(error.message().contains("ranks[0]"), "{error}");
        let split = group.split_group(&[&[1]], &Default::default()).unwrap();
        assert_eq!(split.is_some(), group.rank() == 1);
        let backend = NewGroupOptions { backend: Some("shm"), ..Default::default() };
        assert!(group.split_group(&[&[1]], &backend).is_err());
    });
}

#[test]
fn groups_inherit_and_change_what_they_are() {
    on_ranks(2, |group| {
        assert!(!group.is_reproducible());
        let options = NewGroupOptions { reproducible: Some(true), ..Default::default() };
        let exact = group.new_group(None, &options).unwrap().unwrap();
        assert!(exact.is_reproducible());
        assert!(exact.new_group(None, &Default::default()).unwrap().unwrap().is_reproducible());
        let options = GroupOptions { reproducible: true, ..Default::default() };
        let mesh = Mesh::init(Some(group), DeviceType::CPU, &[2], &[], options).unwrap();
        assert!(mesh.group(0).unwrap().unwrap().is_reproducible());
    });
}
