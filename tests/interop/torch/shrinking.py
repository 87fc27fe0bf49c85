"""Groups that go on without some of their ranks. Last: PyTorch numbers groups on each rank, so those that
are excluded make no groups with the others afterwards."""

import torch
import torch.distributed as dist

from values import since_2_14


@since_2_14
def test_shrink():
    """The last rank is excluded, and does not call."""
    last = dist.get_world_size() - 1
    group = dist.new_group()
    if last == 0 or dist.get_rank() == last:
        return
    smaller = dist.shrink_group([last], group=group)
    assert (smaller.size(), smaller.rank()) == (last, dist.get_rank())
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=smaller)
    assert tensor.tolist() == [last] * 3
    dist.destroy_process_group(smaller)
