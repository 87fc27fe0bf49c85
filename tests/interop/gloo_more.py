"""The calls of a plan that PyTorch has with backend "tutti" alone; see gloo_peer.py."""

import torch
import torch.distributed as dist


class MoreCalls:
    """Of class Call: each issues one call, and sets `out` and `wanted`."""

    def monitored_barrier(self):
        self.group.monitored_barrier()

    def batch(self):
        return self.message(together=True)

    def all_gather_uneven(self):
        sizes = [self.count + one for one in range(self.ranks)]
        pieces = [self.blank(one) for one in sizes]
        self.out = lambda: torch.cat(pieces)
        self.wanted = torch.cat([self.of(one, 0, size) for one, size in enumerate(sizes)])
        return dist.all_gather(pieces, self.give(self.me, 0, sizes[self.me]), **self.terms())

    def reduce_scatter_uneven(self):
        sizes = [self.count + one for one in range(self.ranks)]
        firsts = [sum(sizes[:one]) for one in range(self.ranks)]
        pieces = [self.give(self.me, *place, True) for place in zip(firsts, sizes)]
        out = self.blank(sizes[self.me])
        self.out, self.wanted = lambda: out, self.reduced(firsts[self.me], sizes[self.me])
        return dist.reduce_scatter(out, pieces, op=self.reduce_op(), **self.terms())

    def all_to_all_uneven(self):
        sends, receives = self.splits(self.me), [self.splits(one)[self.me] for one in range(self.ranks)]
        given = list(self.give(self.me, 0, sum(sends)).split(sends))
        pieces = [self.blank(one) for one in receives]
        self.out = lambda: torch.cat(pieces)
        self.wanted = torch.cat(
            [self.of(one, sum(self.splits(one)[: self.me]), receives[one]) for one in range(self.ranks)]
        )
        return dist.all_to_all(pieces, given, **self.terms())

    # Two calls as one: of `count` elements, and of one more.

    def gathered_pair(self, pieces):
        self.out = lambda: torch.cat(pieces)
        self.wanted = torch.cat([self.of(one, 0, n) for n in self.pair() for one in range(self.ranks)])

    def pair(self):
        return (self.count, self.count + 1)

    def all_gather_coalesced(self):
        outs = [[self.blank(n) for n in self.pair()] for _ in range(self.ranks)]
        self.gathered_pair([of_rank[i] for i in range(2) for of_rank in outs])
        return dist.all_gather_coalesced(
            outs, [self.give(self.me, 0, n) for n in self.pair()], **self.terms()
        )

    def together(self):
        return dist._coalescing_manager(group=self.group, async_ops=self.is_async)

    def all_gather_into_tensor_coalesced(self):
        outs = [self.blank(n * self.ranks) for n in self.pair()]
        self.gathered_pair(outs)
        with self.together() as manager:
            for out, n in zip(outs, self.pair()):
                dist.all_gather_into_tensor(out, self.give(self.me, 0, n), group=self.group)
        return manager if self.is_async else None

    def reduce_scatter_tensor_coalesced(self):
        outs = [self.blank(n) for n in self.pair()]
        self.out = lambda: torch.cat(outs)
        self.wanted = torch.cat([self.reduced(self.me * n, n) for n in self.pair()])
        with self.together() as manager:
            for out, n in zip(outs, self.pair()):
                given = self.give(self.me, 0, n * self.ranks, True)
                dist.reduce_scatter_tensor(out, given, op=self.reduce_op(), group=self.group)
        return manager if self.is_async else None
