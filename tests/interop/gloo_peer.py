"""A rank of PyTorch's in a group over Gloo: runs a plan, and compares every result with what it
must be. See gloo."""

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

from gloo_more import MoreCalls

work, plan, rank, size, port = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
# "init": at the init method; "store": at a prefix store of the program's own; "plugin": at the init
# method, with the backend "tutti" in place of "gloo".
how = sys.argv[6]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
os.environ.setdefault("USE_LIBUV", "0")
dtypes = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 "
dtypes = (dtypes + "complex64 complex128 bool float8_e4m3fn").split()
dtypes = {name: getattr(torch, name) for name in dtypes}
ops = {name: getattr(dist.ReduceOp, name) for name in "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()}
failures = 0


def values(of, first, count, step, reduces):
    """The elements from `first` on of what rank `of` gives, as int64."""
    index = torch.arange(first, first + count, dtype=torch.int64)
    if reduces:
        return 1 + (of * 3 + index * 5 + step) % 2
    return (of * 31 + index * 7 + step) % 101


def typed(numbers, dtype):
    if dtype == torch.bool:
        return numbers % 2 != 0
    if dtype.is_complex:
        return torch.complex(numbers.double(), -numbers.double()).to(dtype)
    if dtype == torch.float8_e4m3fn:
        return numbers.to(torch.uint8).view(dtype)  # it is moved as bytes
    return numbers.to(dtype)


def combined(op, inputs, dtype):
    """What the numbers become, before typed()."""
    if dtype == torch.bool:
        inputs = [one % 2 for one in inputs]
    stack = torch.stack(inputs)
    if op == "PREMUL_SUM":
        return 2 * stack.sum(0)
    if op in ("SUM", "AVG"):
        return stack.sum(0) if dtype != torch.bool else (stack.sum(0) > 0).long()
    if op == "PRODUCT":
        return stack.prod(0)
    if op in ("MIN", "MAX"):
        return stack.amin(0) if op == "MIN" else stack.amax(0)
    out = stack[0]
    for one in stack[1:]:
        out = {"BAND": out & one, "BOR": out | one, "BXOR": out ^ one}[op]
    return out


def compare(line, got, wanted, dtype, ranks=0):
    global failures
    wanted = typed(wanted, dtype)
    if dtype == torch.float8_e4m3fn:
        got, wanted = got.view(torch.uint8), wanted.view(torch.uint8)
    if ranks:
        right = torch.allclose(got, wanted / ranks, rtol=5e-3 if dtype.itemsize == 2 else 1e-5)
    else:
        right = torch.equal(got, wanted)
    if not right:
        failures += 1
        print(f"rank {rank}, {line}: {got[:5]} instead of {wanted[:5]}", file=sys.stderr)


class Call(MoreCalls):
    """One line of a plan: begin() issues it, check() looks at what came of it."""

    def __init__(self, line, group):
        self.line, self.group = line, group
        _, kind, dtype, self.op, count, root, _, self.is_async = line.split()[:8]
        self.kind, self.dtype, self.count, self.root = kind, dtypes[dtype], int(count), int(root)
        self.step = int(line.split()[0])
        self.me, self.ranks = dist.get_rank(group), dist.get_world_size(group)
        self.members = dist.get_process_group_ranks(group)
        self.is_async = int(self.is_async) & 2 != 0
        self.works, self.out, self.wanted, self.divisor = [], None, None, 0

    def of(self, source, first, count, reduces=False):
        return values(source, first, count, self.step, reduces)

    def give(self, source, first, count, reduces=False):
        return typed(self.of(source, first, count, reduces), self.dtype)

    def reduced(self, first, count):
        self.divisor = self.ranks if self.op == "AVG" else 0
        return combined(
            self.op, [self.of(one, first, count, True) for one in range(self.ranks)], self.dtype
        )

    def blank(self, count):
        return torch.zeros(count, dtype=self.dtype)

    def begin(self):
        works = getattr(self, self.kind)()
        self.works = [one for one in (works if isinstance(works, list) else [works]) if one]

    def check(self):
        for one in self.works:
            one.wait()
        if self.out is not None:
            compare(self.line, self.out(), self.wanted, self.dtype, self.divisor)

    def terms(self):
        return {"group": self.group, "async_op": self.is_async}

    def reduce_op(self):
        if self.op == "PREMUL_SUM":
            return torch._C._distributed_c10d._make_nccl_premul_sum(2.0)
        return ops[self.op]

    def barrier(self):
        return dist.barrier(**self.terms())

    def all_reduce(self):
        tensor = self.give(self.me, 0, self.count, True)
        self.out, self.wanted = lambda: tensor, self.reduced(0, self.count)
        return dist.all_reduce(tensor, op=self.reduce_op(), **self.terms())

    def coalesced(self):
        tensors = [self.give(self.me, 0, n, True) for n in (self.count, self.count + 1)]
        self.out = lambda: torch.cat(tensors)
        self.wanted = torch.cat([self.reduced(0, n) for n in (self.count, self.count + 1)])
        return dist.all_reduce_coalesced(tensors, op=self.reduce_op(), **self.terms())

    def reduce(self):
        tensor = self.give(self.me, 0, self.count, True)
        if self.me == self.root:
            self.out, self.wanted = lambda: tensor, self.reduced(0, self.count)
        return dist.reduce(tensor, self.members[self.root], op=self.reduce_op(), **self.terms())

    def broadcast(self):
        is_root = self.me == self.root
        tensor = self.give(self.root, 0, self.count) if is_root else self.blank(self.count)
        self.out, self.wanted = lambda: tensor, self.of(self.root, 0, self.count)
        return dist.broadcast(tensor, self.members[self.root], **self.terms())

    def gathered(self, pieces):
        self.out = lambda: torch.cat(pieces)
        self.wanted = torch.cat([self.of(one, 0, self.count) for one in range(self.ranks)])

    def all_gather(self):
        pieces = [self.blank(self.count) for _ in range(self.ranks)]
        self.gathered(pieces)
        return dist.all_gather(pieces, self.give(self.me, 0, self.count), **self.terms())

    def all_gather_into_tensor(self):
        out = self.blank(self.count * self.ranks)
        self.gathered([out])
        return dist.all_gather_into_tensor(out, self.give(self.me, 0, self.count), **self.terms())

    def gather(self):
        pieces = None
        if self.me == self.root:
            pieces = [self.blank(self.count) for _ in range(self.ranks)]
            self.gathered(pieces)
        given = self.give(self.me, 0, self.count)
        return dist.gather(given, pieces, self.members[self.root], **self.terms())

    def scatter(self):
        pieces, out = None, self.blank(self.count)
        if self.me == self.root:
            pieces = [self.give(self.me, one * self.count, self.count) for one in range(self.ranks)]
        self.out, self.wanted = lambda: out, self.of(self.root, self.me * self.count, self.count)
        return dist.scatter(out, pieces, self.members[self.root], **self.terms())

    def reduce_scatter(self):
        pieces = [self.give(self.me, one * self.count, self.count, True) for one in range(self.ranks)]
        out = self.blank(self.count)
        self.out, self.wanted = lambda: out, self.reduced(self.me * self.count, self.count)
        return dist.reduce_scatter(out, pieces, op=self.reduce_op(), **self.terms())

    def reduce_scatter_tensor(self):
        given, out = self.give(self.me, 0, self.count * self.ranks, True), self.blank(self.count)
        self.out, self.wanted = lambda: out, self.reduced(self.me * self.count, self.count)
        return dist.reduce_scatter_tensor(out, given, op=self.reduce_op(), **self.terms())

    def exchanged(self, out):
        self.out = out
        self.wanted = torch.cat(
            [self.of(one, self.me * self.count, self.count) for one in range(self.ranks)]
        )

    def all_to_all(self):
        given = [self.give(self.me, one * self.count, self.count) for one in range(self.ranks)]
        pieces = [self.blank(self.count) for _ in range(self.ranks)]
        self.exchanged(lambda: torch.cat(pieces))
        return dist.all_to_all(pieces, given, **self.terms())

    def all_to_all_single(self):
        given, out = self.give(self.me, 0, self.count * self.ranks), self.blank(self.count * self.ranks)
        self.exchanged(lambda: out)
        return dist.all_to_all_single(out, given, **self.terms())

    def splits(self, source):
        return [self.count + (source + 2 * one) % 3 for one in range(self.ranks)]

    def uneven(self):
        sends, receives = self.splits(self.me), [self.splits(one)[self.me] for one in range(self.ranks)]
        given, out = self.give(self.me, 0, sum(sends)), self.blank(sum(receives))
        self.out = lambda: out
        self.wanted = torch.cat(
            [self.of(one, sum(self.splits(one)[: self.me]), receives[one]) for one in range(self.ranks)]
        )
        return dist.all_to_all_single(out, given, receives, sends, **self.terms())

    def message(self, from_any=False, together=False):
        after, before = (self.me + 1) % self.ranks, (self.me - 1) % self.ranks
        out, tag = self.blank(self.count), self.step % 50 + (1000 if from_any else 0)
        self.out, self.wanted = lambda: out, self.of(before, 0, self.count)
        given = self.give(self.me, 0, self.count)
        source = None if from_any else self.members[before]
        sent = (dist.isend, given, self.members[after], self.group, tag)
        received = (dist.irecv, out, source, self.group, tag)
        if together:
            return dist.batch_isend_irecv([dist.P2POp(*sent), dist.P2POp(*received)])
        return [call(tensor, peer, group=of, tag=tag) for call, tensor, peer, of, tag in (sent, received)]

    def any_source(self):
        return self.message(True)


def run():
    """Runs the plan; the number of calls."""
    groups, pending, done = [dist.group.WORLD], [], 0
    with open(os.path.join(work, plan)) as lines:
        for line in lines:
            words = line.split()
            if words[1] == "die":
                if int(words[2]) == rank:
                    print("died", time.monotonic(), flush=True)
                    os.kill(os.getpid(), int(words[3]))
                continue
            if words[1] == "group":
                groups.append(dist.new_group([int(one) for one in words[2:]]))
                continue
            group = groups[int(words[6])]
            if group == dist.GroupMember.NON_GROUP_MEMBER:
                continue
            call = Call(line.strip(), group)
            call.begin()
            pending.append(call)
            while len(pending) > (4 if call.is_async else 0):
                pending.pop(0).check()
            done += 1
    for call in pending:
        call.check()
    return done


def main():
    terms = {"rank": rank, "world_size": size, "timeout": datetime.timedelta(seconds=60)}
    if how == "store":
        whole = dist.TCPStore("127.0.0.1", port, size, rank == 0, use_libuv=False)
        terms["store"] = dist.PrefixStore("weights", whole)
    if how == "plugin":
        import tutti_torch  # PyTorch before 2.14 does not look for the entry point
    dist.init_process_group("tutti" if how == "plugin" else "gloo", **terms)
    try:
        done = run()
    except RuntimeError as error:
        text = str(error).replace("\n", " ")
        print("told", time.monotonic(), type(error).__name__, text, flush=True)
        os._exit(1)
    dist.destroy_process_group()
    print(f"{done} calls, {failures} wrong", flush=True)
    sys.exit(1 if failures else 0)


main()
