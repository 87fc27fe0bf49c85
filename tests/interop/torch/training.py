"""Training: DistributedDataParallel and FSDP give what they give over Gloo."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from values import version


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.BatchNorm1d(32), torch.nn.Linear(32, 4)
    )


def data():
    torch.manual_seed(100 + dist.get_rank())
    return [(torch.randn(6, 8), torch.randint(0, 4, (6,))) for _ in range(6)]


def trained(group, **terms):
    """The parameters after some steps with DDP."""
    model = DistributedDataParallel(net(), process_group=group, **terms)
    steps = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for number, (inputs, labels) in enumerate(data()):
        steps.zero_grad()
        if number == 2:
            with model.no_sync():
                torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        steps.step()
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def test_ddp():
    gloo = dist.new_group(backend="gloo")
    tutti = dist.new_group()
    for terms in (
        {},
        {"bucket_cap_mb": 0.001},
        {"gradient_as_bucket_view": True},
        {"static_graph": True},
        {"find_unused_parameters": True},
    ):
        wanted = trained(gloo, **terms)
        got = trained(tutti, **terms)
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-6), (terms, got - wanted)
        others = [torch.zeros_like(got) for _ in range(dist.get_world_size())]
        dist.all_gather(others, got)
        assert all(torch.equal(one, got) for one in others)


def test_ddp_hooks():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DistributedDataParallel(net())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    (inputs, labels), *_ = data()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    for one in model.parameters():
        others = [torch.zeros_like(one.grad) for _ in range(dist.get_world_size())]
        dist.all_gather(others, one.grad)
        assert all(torch.equal(other, one.grad) for other in others)


def test_fsdp():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    if version < (2, 8):
        return  # older versions have FSDP on GPUs alone

    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    steps = torch.optim.SGD(model.parameters(), 0.1)
    plain_steps = torch.optim.SGD(plain.parameters(), 0.1)
    for inputs, labels in data():
        for one, optimizer in ((model, steps), (plain, plain_steps)):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(one(inputs), labels).backward()
        for one in plain.parameters():
            dist.all_reduce(one.grad, dist.ReduceOp.AVG)
        steps.step()
        plain_steps.step()
    for sharded, whole in zip(model.parameters(), plain.parameters()):
        assert torch.allclose(sharded.full_tensor(), whole, rtol=1e-5, atol=1e-6)
