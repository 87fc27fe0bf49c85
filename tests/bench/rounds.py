"""What comparisons share: rounds in which all kinds are measured in turn, the ratios of what they
took, and how both are told."""

import statistics


def in_turn(kinds, turn):
    """The order of a round: every other one backwards."""
    kinds = list(kinds)
    return kinds if turn % 2 == 0 else kinds[::-1]


def ratios(ours, theirs):
    """Quartiles of the rounds' ratios."""
    each = [a / b for a, b in zip(ours, theirs)]
    if len(each) == 1:
        return each * 3
    return statistics.quantiles(each, n=4, method="inclusive")


def told(quartiles):
    low, middle, high = quartiles
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def line(cells):
    """One of a table."""
    return f"| {' | '.join(cells)} |"


def told_load(loads):
    return f"Other load before a measurement: {max(loads, default=0):.0%} at most."
