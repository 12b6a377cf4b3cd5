#!/usr/bin/env python3
"""Draws the figures of `bench.py`: plot.py RESULTS.json DIR. Writes an SVG for light and one for dark pages of each plot."""
import json, math, os, sys

THEMES = {"light": ("#ffffff", "#1f2328", "#2f6fdb", "#9aa4b2", "#d0d7de"), "dark": ("#0d1117", "#e6edf3", "#6ea8fe", "#6e7681", "#30363d")}
WIDTH, BAR, LEFT = 720, 26, 90


def text(x, y, words, color, anchor="start", size=13):
    return f'<text x="{x}" y="{y}" fill="{color}" text-anchor="{anchor}" font-family="sans-serif" font-size="{size}">{words}</text>'


def short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bars(title, figures, theme):
    """Panels of bars: CPU a page, pages a second, memory; one bar a program."""
    back, ink, own, other, _ = THEMES[theme]
    panels = [
        ("CPU, ms a page (less is better)", {n: 1000 * f["cpu"] / f["pages"] for n, f in figures.items()}),
        ("pages a second (more is better)", {n: f["pages"] / f["wall"] for n, f in figures.items()}),
        ("peak memory, MB (less is better)", {n: f["mb"] for n, f in figures.items()}),
    ]
    height = 44 + len(panels) * (34 + BAR * len(figures))
    out = [f'<rect width="{WIDTH}" height="{height}" fill="{back}"/>', text(12, 26, title, ink, size=16)]
    y = 58
    for name, values in panels:
        out.append(text(12, y, name, ink))
        y += 8
        for program, value in values.items():
            length = max(2, (WIDTH - LEFT - 90) * value / max(values.values()))
            color = own if program == "crawl" else other
            out.append(text(LEFT - 8, y + 17, program, ink, "end"))
            out.append(f'<rect x="{LEFT}" y="{y + 4}" width="{length:.1f}" height="{BAR - 8}" rx="2" fill="{color}"/>')
            out.append(text(LEFT + length + 6, y + 17, short(value), ink))
            y += BAR
        y += 26
    return height, out


def lines(figures, theme):
    """State and CPU by number of URLs."""
    back, ink, own, _, grid = THEMES[theme]
    panels = [("state, bytes a pending URL", "url_bytes"), ("CPU of the state, µs a page", "page_cpu_us"), ("time to open the state, s", "open_s")]
    height, steps = 40 + 150 * len(panels), [math.log10(f["urls"]) for f in figures]
    out = [f'<rect width="{WIDTH}" height="{height}" fill="{back}"/>', text(12, 26, "Growth by number of URLs", ink, size=16)]
    place = lambda step: LEFT + (WIDTH - LEFT - 90) * (step - steps[0]) / max(steps[-1] - steps[0], 1)
    for n, (name, key) in enumerate(panels):
        top, most = 62 + 150 * n, max(f[key] for f in figures) or 1
        points = [(place(step), top + 100 - 80 * f[key] / most) for step, f in zip(steps, figures)]
        out.append(text(12, top, name, ink))
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 80}" y1="{top + 100}" y2="{top + 100}" stroke="{grid}"/>')
        out.append(f'<polyline fill="none" stroke="{own}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        for (x, y), figure in zip(points, figures):
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{own}"/>' + text(f"{x:.1f}", f"{y - 7:.1f}", short(figure[key]), ink, "middle", 11))
            out.append(text(f"{x:.1f}", top + 115, f"{figure['urls']:,}", ink, "middle", 11))
    return height, out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        results = json.load(file)
    os.makedirs(sys.argv[2], exist_ok=True)
    for theme in THEMES:
        plots = {part: bars(f"{title}, {results['date']}, {results['machine']}", results[part], theme)
                 for part, title in (("generated", "Generated site"), ("sites", "Documentation sites")) if results.get(part)}
        if results.get("growth"):
            plots["growth"] = lines(results["growth"], theme)
        for name, (height, shapes) in plots.items():
            with open(os.path.join(sys.argv[2], f"{name}-{theme}.svg"), "w") as file:
                file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
                           + "\n".join(shapes) + "\n</svg>\n")


if __name__ == "__main__":
    main()
