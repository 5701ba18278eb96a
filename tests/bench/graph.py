# SPDX-License-Identifier: MIT
"""
How a figure grows, as a small picture in SVG: panels side by side over one x, both logarithmic. Readable on white and on dark
paper: it has no paper of its own, and its colours have contrast on both.
"""
import math

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 250, 190, 52, 34, 40
INK, COLOURS = "#7d8590", ("#2f81f7", "#d9822b", "#3fa34d")


def _decades(values):
    """From a 1, 2 or 5 times a power of ten to another, around all of them; at least a decade, so that what is flat looks so."""
    steps = [m * 10.0**e for e in range(-4, 10) for m in (1, 2, 5)]
    high = min(s for s in steps if s >= max(values))
    return max(s for s in steps if s <= min(min(values), high / 10)), high


def _tick(value):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _ticks(low, high):
    """Powers of ten; more where there are few."""
    for factors in ((1,), (1, 2, 5)):
        found = [m * 10.0**e for e in range(-4, 10) for m in factors if low * 0.999 <= m * 10.0**e <= high * 1.001]
        if len(found) >= 3:
            break
    return found


class _Axis:
    def __init__(self, values, at, length):
        self.low, self.high = _decades(values)
        self.at, self.length = at, length

    def place(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.at + share * self.length


def _panel(left, title, xlabel, xs, series):
    """@series: (name, [(x, y)]) each."""
    wide, high = WIDTH - LEFT - 12, HEIGHT - TOP - BOTTOM
    x = _Axis(xs, left + LEFT, wide)
    y = _Axis([v for _, points in series for _, v in points], TOP + high, -high)
    out = [f'<text x="{left + LEFT}" y="14" font-weight="bold">{title}</text>']
    for value in _ticks(y.low, y.high):
        at = y.place(value)
        out.append(f'<path d="M{left + LEFT} {at:.1f}h{wide}" class="g"/>'
                   f'<text x="{left + LEFT - 5}" y="{at + 3.5:.1f}" text-anchor="end">{_tick(value)}</text>')
    for value in _ticks(x.low, x.high):
        at = x.place(value)
        out.append(f'<path d="M{at:.1f} {TOP}v{high}" class="g"/>'
                   f'<text x="{at:.1f}" y="{TOP + high + 14}" text-anchor="middle">{_tick(value)}</text>')
    out.append(f'<text x="{left + LEFT + wide / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{xlabel}</text>')
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i]
        line = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        out += [f'<circle cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="2.4" fill="{colour}"/>' for a, b in points]
        if len(series) > 1:
            out.append(f'<text x="{left + LEFT + 84 * i}" y="27" style="fill:{colour}">{name}</text>')
    return out


def draw(xlabel, panels):
    """@panels: (title, [(name, [(x, y)])]) each; points without a positive value are left out."""
    out, left = [], 0
    for title, series in panels:
        series = [(name, [(a, b) for a, b in points if a and b and a > 0 and b > 0]) for name, points in series]
        series = [(name, points) for name, points in series if points]
        if series:
            out += _panel(left, title, xlabel, [a for _, points in series for a, _ in points], series)
            left += WIDTH
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {HEIGHT}" width="{left}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="10">\n'
            f"<style>text{{fill:{INK}}}.g{{stroke:{INK};stroke-opacity:.25;stroke-width:.7}}</style>\n" + "\n".join(out) + "\n</svg>\n")
