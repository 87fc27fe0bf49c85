"""Groups made from groups, objects, meshes."""

import datetime

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import tutti_torch

from values import since_2_14
from works import fails


def test_new_groups():
    size, rank = dist.get_world_size(), dist.get_rank()
    groups = [list(range(size)), [size - 1], list(range(size - 1, -1, -1))]
    for ranks in groups:
        for backend in ("tutti", None):
            group = dist.new_group(ranks, backend=backend)
            if rank not in ranks:
                continue
            tensor = torch.tensor([float(rank)])
            dist.all_reduce(tensor, group=group)
            assert tensor.item() == sum(ranks)
            assert dist.get_backend(group) == "tutti"
            dist.destroy_process_group(group)


def test_options():
    for name, is_exact in (("tcp", False), ("shm", True), ("", True)):
        options = tutti_torch.Options(name, reproducible=is_exact)
        group = dist.new_group(pg_options=options, timeout=datetime.timedelta(seconds=100))
        own = getattr(group._get_backend(torch.device("cpu")), "options", None)
        if own is not None:  # older versions do not show it
            assert own.tutti_backend == name and own.reproducible == is_exact
            assert own._timeout == datetime.timedelta(seconds=100)
        addends = [1e16, 1.0, -1e16, 1.0]
        tensor = torch.tensor([addends[dist.get_rank()]], dtype=torch.float64)
        dist.all_reduce(tensor, group=group)
        if is_exact:
            wanted = sum(int(one) for one in addends[: dist.get_world_size()])
            assert tensor.item() == float(wanted)
        dist.destroy_process_group(group)
    fails(TypeError, "tutti_torch.Options", lambda: dist.new_group(pg_options="shm"))


def test_a_backend_that_is_unknown():
    options = tutti_torch.Options("nosuch")
    fails(NotImplementedError, "nosuch", lambda: dist.new_group(pg_options=options))


def test_split():
    size, rank = dist.get_world_size(), dist.get_rank()
    parent = dist.distributed_c10d._get_default_group()
    if not hasattr(parent, "split_group"):
        return
    mine = [one for one in range(size) if one % 2 == rank % 2][::-1]
    part = parent.split_group(mine, group_name=f"part{rank % 2}")
    assert part.size() == len(mine) and part.rank() == mine.index(rank)
    tensor = torch.tensor([rank])
    part.allreduce([tensor], dist.AllreduceOptions()).wait()
    assert tensor.item() == sum(mine)
    part.shutdown()


def test_objects():
    size, rank = dist.get_world_size(), dist.get_rank()
    objects = [{"from": rank, "text": "x" * rank * 1000}, None, rank]
    dist.broadcast_object_list(objects, src=size - 1)
    assert objects[0] == {"from": size - 1, "text": "x" * (size - 1) * 1000}
    gathered = [None] * size
    dist.all_gather_object(gathered, [rank] * rank)
    assert gathered == [[one] * one for one in range(size)]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object({rank: rank}, gathered, dst=0)
    assert rank != 0 or gathered == [{one: one} for one in range(size)]
    scattered = [None]
    dist.scatter_object_list(scattered, list(range(size)) if rank == 0 else None, src=0)
    assert scattered == [rank]
    if size > 1:
        objects = [{"rank": rank}]
        if rank == 0:
            dist.send_object_list(objects, dst=1)
        elif rank == 1:
            dist.recv_object_list(objects, src=0)
            assert objects == [{"rank": 0}]


def test_meshes():
    size, rank = dist.get_world_size(), dist.get_rank()
    mesh = init_device_mesh("cpu", (1, size), mesh_dim_names=("a", "b"))
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor, group=mesh.get_group("b"))
    assert tensor.item() == sum(range(size))
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor, group=mesh.get_group("a"))
    assert tensor.item() == rank


def test_functional_collectives():
    import torch.distributed._functional_collectives as functional

    size, rank = dist.get_world_size(), dist.get_rank()
    group = dist.distributed_c10d._get_default_group()
    assert functional.all_reduce(torch.tensor([rank]), "sum", group).item() == sum(range(size))
    out = functional.all_gather_tensor(torch.tensor([rank]), 0, group)
    assert out.tolist() == list(range(size))


@since_2_14
def test_an_aborted_group_says_so():
    group = dist.new_group()
    own = group._get_backend(torch.device("cpu"))
    own.abort()
    error = fails(dist.DistBackendError, "aborted", lambda: dist.barrier(group=group))
    assert "rank" in str(error)
    dist.barrier()


@since_2_14
def test_a_shut_down_group_says_so():
    group = dist.new_group()
    dist.barrier(group=group)
    own = group._get_backend(torch.device("cpu"))
    own.shutdown()
    own.shutdown()
    fails((ValueError, dist.DistBackendError), "destroyed", lambda: group.barrier())


def test_timeouts():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return
    group = dist.new_group(timeout=datetime.timedelta(milliseconds=500))
    if rank == 0:
        fails(dist.DistBackendError, "Timed out waiting for", lambda: dist.barrier(group=group))
    dist.barrier()


def test_a_wait_that_expires():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return
    if rank == 0:
        got = torch.zeros(1)
        work = dist.irecv(got, 1, tag=9)
        moment = datetime.timedelta(milliseconds=50)
        fails(dist.DistBackendError, "timed out", lambda: work.wait(moment))
        assert not work.is_completed()
        dist.barrier()
        work.wait()
        assert got.item() == 5
    else:
        dist.barrier()
        if rank == 1:
            dist.send(torch.tensor([5.0]), 0, tag=9)


def test_threads():
    import threading

    size = dist.get_world_size()
    groups = [dist.new_group() for _ in range(3)]
    wrong = []

    def reduce_often(group):
        for _ in range(200):
            tensor = torch.ones(3)
            dist.all_reduce(tensor, group=group)
            if tensor[0] != size:
                wrong.append(tensor)

    threads = [threading.Thread(target=reduce_often, args=(group,)) for group in groups]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
