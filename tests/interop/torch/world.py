"""A rank of PyTorch's in a world whose other ranks are in any language: what examples/world does, but
for making another world. Each checks what it gets.

    world.py               with the variables of env://
"""

import torch
import torch.distributed as dist
from tutti_torch import objects


def card_of(language, rank):
    return {
        "language": language,
        "rank": rank,
        "values": [1, 2.5, True, None, "text ü"],
        "bytes": b"\0\1\xff",
        "array": torch.arange(6, dtype=torch.int32).reshape(2, 3) + rank,
    }


def check_sum(rank, size):
    data = (torch.arange(1000, dtype=torch.float64) + 1) * (rank + 1)
    dist.all_reduce(data)
    assert torch.equal(data, (torch.arange(1000, dtype=torch.float64) + 1) * (size * (size + 1) / 2))


def check_cards(rank):
    """The languages of the ranks."""
    cards = objects.all_gather_object(card_of("python", rank))
    for each, card in enumerate(cards):
        wanted = card_of(card["language"], each)
        array, expected = card.pop("array"), wanted.pop("array")
        assert card == wanted and array.dtype == expected.dtype and torch.equal(array, expected), card
    return [card["language"] for card in cards]


def check_broadcast(rank):
    wanted = ["hello", {1: -1, 2: (1 << 64) - 1}, None]
    got = wanted[:] if rank == 0 else [None] * 3
    objects.broadcast_object_list(got, 0)
    assert got == wanted, got


def check_ring(rank, size):
    def message(of):
        return torch.tensor([of, of + 0.5, of + 0.25])

    got = torch.zeros(3)
    sent = dist.isend(message(rank), (rank + 1) % size)
    dist.irecv(got, (rank - 1) % size).wait()
    sent.wait()
    assert torch.equal(got, message((rank - 1) % size)), got


def main():
    dist.init_process_group("tutti")
    rank, size = dist.get_rank(), dist.get_world_size()
    check_sum(rank, size)
    languages = check_cards(rank)
    check_broadcast(rank)
    most = torch.tensor([rank])
    dist.all_reduce(most, dist.ReduceOp.MAX, async_op=True).wait()
    assert most.item() == size - 1
    check_ring(rank, size)
    check_sum(rank, size)
    dist.barrier()
    print(f"one group of {', '.join(languages)}", flush=True)
    dist.destroy_process_group()


main()
