"""What the rounds come to: tutti's time beside the others', by cell and over all, and the goals."""

import math
import statistics

from plot import size_text
from rounds import line, ratios, told, told_load

as_fast = 1.1  # times the other's time
goals = {"mean": 1.8, "as fast": 0.95, "worst": 0.8}
goals_of = {"tutti": goals, "tutti-alloc": goals | {"mean": 3}}
judged = {
    "all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier",
    "sendrecv_pingpong",
}  # fmt: skip
goals_of_works = {"as fast": 0.95}
blocking = "ddp_4x25MiB_blocking"
kibi, mebi = 1 << 10, 1 << 20


def is_of_works(label):
    """Whether it is judged as an operation that does not block, or as an exchange."""
    name = label.partition(":")[0]
    return name.endswith("_async") or name in ("exchange", "exchange_call", "halo2d")


def goal_beside_pytorch(cell, _):
    """How many times as fast tutti is to be, if there is a goal."""
    label, ranks, size = cell
    if label != "all_reduce" or ranks not in (2, 4):
        return None
    return 100 if size <= 16 * kibi else {256 * kibi: 20, 64 * mebi: 2}.get(size)


def goal_beside_plain(cell, data):
    """How many times as long reproducible sums may take as plain ones."""
    label, _, size = cell
    if label not in ("all_reduce", "reduce", "reduce_scatter") or size < 256 * kibi:
        return None
    return 10 if data in ("spread", "extreme") else 1.5


def goal_beside_sockets(cell, _):
    """How many times as long a message may take as over bare sockets."""
    return 1.15 if cell[2] < mebi else 1 / 0.95


goals_beside = {
    "pytorch": ("fast", goal_beside_pytorch),
    "plain": ("long", goal_beside_plain),
    "sockets": ("long", goal_beside_sockets),
}
no_library = ("plain", "sockets")


def others_of(bench, cell):
    """By name: the cell with which that one is compared."""
    others = {name: cell for name in bench.times[cell] if name not in bench.own}
    if cell[0] == "ddp_4x25MiB":
        in_turns = (blocking, *cell[1:])
        for name in bench.times.get(in_turns, {}):
            if name not in bench.own:
                others[f"{name}, blocking"] = in_turns
    return others


def own_rows(bench):
    """The cells, each with tutti's name or, one after the other, names."""
    return [(cell, name) for cell in bench.times for name in bench.own if name in bench.times[cell]]


def compare(bench, cell, ours):
    """By name of the others their median and the quartiles of the ratios."""
    compared = {}
    for name, theirs in others_of(bench, cell).items():
        plain = name.removesuffix(", blocking")
        a, b = bench.rounds_of(cell, ours), bench.rounds_of(theirs, plain)
        both = sorted(a.keys() & b.keys())
        quartiles = ratios([a[turn][0] for turn in both], [b[turn][0] for turn in both])
        compared[name] = (bench.median(theirs, plain), quartiles)
    return compared


def print_table(bench):
    """The ratio to the fastest other, by what tutti is told apart by, by cell."""
    fastest = {kind: {} for kind in bench.own.values()}
    heads = ["operation", "ranks", "size", "tutti, µs", "others, µs", "tutti / other"]
    heads += ["way"] if bench.ways else []
    print(f"{line(heads)}\n|{'---|' * len(heads)}")
    for cell, ours in own_rows(bench):
        others = compare(bench, cell, ours)
        label, ranks, size = cell
        cells = [label, str(ranks), size_text(size) if size else "-"]
        cells.append(f"{ours} {bench.median(cell, ours):,.4g}")
        cells.append(", ".join(f"{name} {took:,.4g}" for name, (took, _) in others.items()))
        cells.append(", ".join(f"{name} {told(each)}" for name, (_, each) in others.items()))
        cells += [bench.way(cell, ours)] if bench.ways else []
        print(line(cells))
        others = {name: each for name, each in others.items() if name not in no_library}
        if others:
            name = min(others, key=lambda name: others[name][0])
            fastest[bench.own[ours]][cell] = (others[name][1][1], name)
    return fastest


def summarize(what, wanted, fastest):
    """What a group of cells comes to; what of it is beside the goals."""
    if not fastest:
        return []
    values = [ratio for ratio, _ in fastest.values()]
    mean = math.exp(-statistics.fmean(map(math.log, values)))
    share = sum(ratio <= as_fast for ratio in values) / len(values)
    worst = max(fastest, key=lambda cell: fastest[cell][0])
    ratio, name = fastest[worst]
    size = f" of {size_text(worst[2])}" if worst[2] else ""
    print(
        f"{what}: {mean:.3g} times as fast as the fastest other (geometric mean of "
        f"{len(values)} cells); as fast, within 10 %, in {share:.0%}; worst: {worst[0]}{size} "
        f"among {worst[1]} ranks, {1 / ratio:.2g} times as fast as {name}"
    )
    reached = {"mean": mean, "as fast": share, "worst": 1 / ratio}
    return [f"{goal} {reached[goal]:.2f}" for goal in wanted if reached[goal] < wanted[goal]]


def times_text(times):
    return f"{times:,.0f}" if times >= 100 else f"{times:.3g}"


def print_goals(bench, other, how, goal_of):
    """tutti beside one other whose goals are of single cells; those that are missed."""
    missed = []
    rows = [(cell, ours) for cell, ours in own_rows(bench) if other in bench.times[cell]]
    heads = ["operation", "ranks", "size", "", f"times as {how} as {other}", "goal", ""]
    print(f"\n{line(heads)}\n|{'---|' * len(heads)}")
    for cell, ours in rows:
        label, ranks, size = cell
        ratio = compare(bench, cell, ours)[other][1][1]
        times = ratio if how == "long" else 1 / ratio
        goal = goal_of(cell, bench.options.data)
        met = goal is None or (times <= goal if how == "long" else times >= goal)
        verdict = "" if goal is None else "met" if met else "MISSED"
        what = [label, str(ranks), size_text(size) if size else "-", ours]
        print(line([*what, times_text(times), f"{goal:.3g}" if goal else "-", verdict]))
        if not met:
            missed.append(f"{ours}, {label} of {size_text(size)} among {ranks} ranks")
    return missed


def summarize_all(bench, front, wanted, fastest):
    """Of each number of ranks, and of all; what is missed."""
    for ranks in bench.ranks if len(bench.ranks) > 1 else ():
        of_these = {cell: found for cell, found in fastest.items() if cell[1] == ranks}
        summarize(f"{front}{ranks} ranks", wanted, of_these)
    return summarize(f"{front}all", wanted, fastest)


def judge_groups(bench, kind, fastest):
    """The verdicts on blocking calls, and on works and exchanges, where there are such."""
    front = f"{kind}, " if len(set(bench.own.values())) > 1 else ""
    groups = [
        (kind, front, goals_of[kind], lambda label: label in judged),
        (f"{kind}, works", f"{front}works, ", goals_of_works, is_of_works),
    ]
    verdicts = []
    for what, start, wanted, belongs in groups:
        cells = {cell: found for cell, found in fastest.items() if belongs(cell[0])}
        missed = summarize_all(bench, start, wanted, cells)
        words = ", ".join(f"{name} {value}" for name, value in wanted.items())
        verdicts += [(what, words, missed)] if cells else []
    return verdicts


def judge(verdicts):
    """Tells; the exit status. `verdicts`: of what, the goals, which are missed."""
    if not verdicts:
        print("judged: there is nothing to judge by")
        return 1
    for what, wanted, missed in verdicts:
        print(f"judged {what} ({wanted}): {'MISSED ' + '; '.join(missed) if missed else 'met'}")
    return 1 if any(missed for _, _, missed in verdicts) else 0


def report(bench, options):
    """The exit status."""
    if options.csv == "-":
        return 0
    fastest = print_table(bench)
    print(f"\nMedians of {options.rounds} rounds in which all take turns; a ratio is the median of")
    print("the rounds', with quartiles. Below 1, tutti is faster.", end=" ")
    print(told_load(bench.loads) if bench.loads else "Nobody looked for other load.")
    verdicts = []
    for kind, cells in fastest.items():
        verdicts += judge_groups(bench, kind, cells)
    for other, (how, goal_of) in goals_beside.items():
        if other in bench.names():
            missed = print_goals(bench, other, how, goal_of)
            verdicts.append((f"beside {other}", "as in the table", missed))
    return judge(verdicts) if "judge" in options.flags else 0
