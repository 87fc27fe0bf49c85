"""What the rounds come to: tutti's time beside the others', by cell and over all, and the goals."""

import math
import statistics

from plot import size_text
from rounds import line, ratios, told, told_load

as_fast = 1.1  # times the other's time
goals = {"mean": 1.8, "as fast": 0.95, "worst": 0.8}
judged = {
    "all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier",
    "sendrecv_pingpong",
}  # fmt: skip
blocking = "ddp_4x25MiB_blocking"
kibi, mebi = 1 << 10, 1 << 20


def goal_beside_pytorch(cell):
    """How many times as fast tutti is to be, if there is a goal."""
    label, ranks, size = cell
    if label != "all_reduce" or ranks not in (2, 4):
        return None
    return 100 if size <= 16 * kibi else {256 * kibi: 20, 64 * mebi: 2}.get(size)


goals_beside = {"pytorch": goal_beside_pytorch}


def others_of(bench, cell):
    """By name: the cell with which that one is compared."""
    others = {name: cell for name in bench.times[cell] if not name.startswith("tutti")}
    if cell[0] == "ddp_4x25MiB":
        in_turns = (blocking, *cell[1:])
        for name in bench.times.get(in_turns, {}):
            if not name.startswith("tutti"):
                others[f"{name}, blocking"] = in_turns
    return others


def compare(bench, cell):
    """tutti's name, and by name of the others their median and the quartiles of the ratios."""
    ours = next((name for name in bench.times[cell] if name.startswith("tutti")), None)
    if ours is None:
        return None, {}
    compared = {}
    for name, theirs in others_of(bench, cell).items():
        plain = name.removesuffix(", blocking")
        a, b = bench.rounds_of(cell, ours), bench.rounds_of(theirs, plain)
        both = sorted(a.keys() & b.keys())
        quartiles = ratios([a[turn][0] for turn in both], [b[turn][0] for turn in both])
        compared[name] = (bench.median(theirs, plain), quartiles)
    return ours, compared


def print_table(bench):
    """The ratio to the fastest other, by cell."""
    fastest = {}
    heads = ["operation", "ranks", "size", "tutti, µs", "others, µs", "tutti / other"]
    heads += ["way"] if bench.ways else []
    print(f"{line(heads)}\n|{'---|' * len(heads)}")
    for cell in bench.times:
        ours, others = compare(bench, cell)
        if ours is None:
            continue
        label, ranks, size = cell
        cells = [label, str(ranks), size_text(size) if size else "-"]
        cells.append(f"{bench.median(cell, ours):,.4g}")
        cells.append(", ".join(f"{name} {took:,.4g}" for name, (took, _) in others.items()))
        cells.append(", ".join(f"{name} {told(each)}" for name, (_, each) in others.items()))
        cells += [bench.way(cell, ours)] if bench.ways else []
        print(line(cells))
        if others:
            name = min(others, key=lambda name: others[name][0])
            fastest[cell] = (others[name][1][1], name)
    return fastest


def summarize(what, fastest):
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
    return [f"{goal} {reached[goal]:.2f}" for goal in goals if reached[goal] < goals[goal]]


def times_text(times):
    return f"{times:,.0f}" if times >= 100 else f"{times:.3g}"


def print_goals(bench, other, goal_of):
    """tutti beside one other whose goals are of single cells; those that are missed."""
    missed = []
    cells = [cell for cell in bench.times if other in compare(bench, cell)[1]]
    if cells:
        heads = ["operation", "ranks", "size", f"times as fast as {other}", "goal", ""]
        print(f"\n{line(heads)}\n|{'---|' * len(heads)}")
    for cell in cells:
        label, ranks, size = cell
        quartiles = compare(bench, cell)[1][other][1]
        goal = goal_of(cell)
        met = goal is None or 1 / quartiles[1] >= goal
        verdict = "" if goal is None else "met" if met else "MISSED"
        what = [label, str(ranks), size_text(size) if size else "-"]
        print(line([*what, times_text(1 / quartiles[1]), f"{goal:g}" if goal else "-", verdict]))
        if not met:
            missed.append(f"{label} of {size_text(size)} among {ranks} ranks beside {other}")
    return missed


def report(bench, options):
    """The exit status."""
    if options.csv == "-":
        return 0
    fastest = print_table(bench)
    print(f"\nMedians of {options.rounds} rounds in which all take turns; a ratio is the median of")
    print("the rounds', with quartiles. Below 1, tutti is faster.", end=" ")
    print(told_load(bench.loads) if bench.loads else "Nobody looked for other load.")
    fastest = {cell: found for cell, found in fastest.items() if cell[0] in judged}
    for ranks in bench.ranks if len(bench.ranks) > 1 else ():
        of_these = {cell: found for cell, found in fastest.items() if cell[1] == ranks}
        summarize(f"{ranks} ranks", of_these)
    missed = summarize("all", fastest)
    for other, goal_of in goals_beside.items():
        missed += print_goals(bench, other, goal_of)
    names = {name for peers in bench.times.values() for name in peers}
    if "judge" in options.flags:
        if not fastest:
            print("judged: there is nothing to judge by")
            return 1
        wanted = ", ".join(f"{goal} {value}" for goal, value in goals.items())
        wanted += "".join(f", the goals beside {other}" for other in goals_beside if other in names)
        print(f"judged ({wanted}): {'MISSED ' + ', '.join(missed) if missed else 'met'}")
    return 1 if missed and "judge" in options.flags else 0
