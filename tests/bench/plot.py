"""Draws time and bandwidth over size as SVG, one row for each operation and number of ranks."""

import math
from xml.sax.saxutils import escape

# Colours that the colour-blind tell apart (Okabe and Ito), and a mark for each.
looks = [
    ("#0072b2", "circle"),
    ("#d55e00", "square"),
    ("#009e73", "diamond"),
    ("#cc79a7", "circle"),
    ("#e69f00", "square"),
    ("#56b4e9", "diamond"),
]
panel_width, panel_height = 400, 230
left, gap, top, row_height, margin = 80, 90, 70, 320, 25
label_width = 30
width = left + 2 * panel_width + gap + margin


def size_text(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or size % 1024 or unit == "GiB":
            return f"{size} {unit}"
        size //= 1024


def short_size_text(size):
    return size_text(size).replace("iB", "").replace(" B", "").replace(" ", "")


def time_text(micros):
    for limit, unit, name in ((1e3, 1, "µs"), (1e6, 1e3, "ms"), (math.inf, 1e6, "s")):
        if micros < limit * (1 - 1e-9):
            return f"{micros / unit:g} {name}"


def rate_text(rate):
    for limit, unit, name in ((1e-3, 1e-6, "kB/s"), (1, 1e-3, "MB/s"), (math.inf, 1, "GB/s")):
        if rate < limit * (1 - 1e-9):
            return f"{rate / unit:g} {name}"


def text(x, y, words, anchor="middle", size=12, weight="normal", turn=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}"{turn}>{escape(words)}</text>'
    )


def stroke(x1, y1, x2, y2, colour):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def mark(x, y, look):
    colour, shape = look
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"{turn}/>'


class Scale:
    """A logarithmic axis: where a value lies between `start` and `end`."""

    def __init__(self, values, start, end):
        self.low, self.high = min(values), max(values)
        if self.low == self.high:
            self.low, self.high = self.low / 2, self.high * 2
        self.start, self.end = start, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def decades(self):
        """Values to label: powers of ten, and 2 and 5 of them where these are few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 3 else (1,)
        values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [value for value in values if self.low <= value <= self.high]


def whole_decades(values):
    """The least power of ten range around values, so that ticks stand at both ends."""
    return [
        10.0 ** math.floor(math.log10(min(values))),
        10.0 ** math.ceil(math.log10(max(values) * 1.0001)),
    ]


def size_labels(sizes, across):
    """As many as have room."""
    labels = []
    for size in sizes:
        if not labels or across(size) - across(labels[-1]) >= label_width:
            labels.append(size)
    return labels


def panel(x, y, title, lines, name_of):
    """One diagram; `lines`: by look the points, size and value."""
    sizes = sorted({size for points in lines.values() for size, _ in points})
    values = [value for points in lines.values() for _, value in points]
    across = Scale(sizes, x, x + panel_width)
    up = Scale(whole_decades(values), y + panel_height, y)
    parts = [text(x + panel_width / 2, y - 8, title, weight="bold")]
    for value in up.decades():
        parts.append(stroke(x, up(value), x + panel_width, up(value), "#dddddd"))
        parts.append(text(x - 6, up(value) + 4, name_of(value), "end", 11))
    for size in size_labels(sizes, across):
        parts.append(stroke(across(size), y, across(size), y + panel_height, "#eeeeee"))
        parts.append(text(across(size), y + panel_height + 16, short_size_text(size), size=11))
    parts.append(text(x + panel_width / 2, y + panel_height + 34, "bytes of a rank's tensor"))
    parts.append(
        f'<rect x="{x}" y="{y}" width="{panel_width}" height="{panel_height}" fill="none" '
        'stroke="#444444"/>'
    )
    for look, points in lines.items():
        places = [(across(size), up(value)) for size, value in sorted(points)]
        path = " ".join(f"{at:.1f},{height:.1f}" for at, height in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{look[0]}" stroke-width="2"/>')
        parts += [mark(at, height, look) for at, height in places]
    return parts


def legend(names, title):
    parts = [text(width / 2, 22, title, size=14, weight="bold")]
    each = 150
    x = width / 2 - each * len(names) / 2
    for name, look in names.items():
        parts.append(stroke(x, 41, x + 28, 41, look[0]))
        parts.append(mark(x + 14, 41, look))
        parts.append(text(x + 36, 45, name, "start"))
        x += each
    return parts


def write_plot(path, medians, title):
    """`medians`: by (operation, ranks, bytes), by peer, microseconds."""
    rows, names = {}, {}
    for (label, ranks, size), peers in medians.items():
        for name, took in peers.items() if size > 0 and ":" not in label else ():
            name = name.removesuffix("-yield")  # the same library, started in another way
            look = names.setdefault(name, looks[len(names) % len(looks)])
            rows.setdefault((label, ranks), {}).setdefault(look, []).append((size, took))
    if not rows:
        raise ValueError("no operation with a size was measured")
    height = top + row_height * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        *legend(names, f"Collective operations: {title}"),
    ]
    for index, ((label, ranks), lines) in enumerate(rows.items()):
        y = top + 20 + index * row_height
        what = f"{label}, {ranks} rank{'s' if ranks != 1 else ''}"
        parts += panel(left, y, f"{what}: time", lines, time_text)
        rates = {
            look: [(size, size / took * 1e-3) for size, took in points]
            for look, points in lines.items()
        }
        x = left + panel_width + gap
        parts += panel(x, y, f"{what}: bandwidth", rates, rate_text)
    parts.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")
