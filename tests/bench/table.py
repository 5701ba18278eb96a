# SPDX-License-Identifier: MIT
"""Numbers and tables, as Markdown has them."""


def number(value):
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 or value == 0 else f"{value:.1f}" if size >= 1 else f"{value:.2f}"


def spread(values):
    """The median, and from where to where."""
    from statistics import median
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    middle = number(median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))} .. {number(max(values))})"


def markdown(head, rows):
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def command(line):
    """What repeats the table."""
    return f"Again: `sudo {line}`\n"
