#!/usr/bin/env python3
"""Attacks on a crawl binary, counted by vector: attempts and leaks.

    python3 benches/attacks CRAWL_BINARY [--before OLDER_BINARY] [--verbose] [FAMILY ...]

A family is a module of this folder with `run(binary, folder)`. It yields an `Attempt` for each attack on the binary, with
`folder` as its workplace. All servers listen on loopback addresses, and every attack ends by itself. Without a family all run.
Prints a table of vectors with attempts and leaks: in the older binary, if one is given, and in the other. Exits with 1 if an
attack leaks in the other.
"""
import argparse, collections, importlib, pathlib, sys, tempfile, time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
NO_FAMILIES = {"__main__", "attempt"}


def families():
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NO_FAMILIES)


def tally(binary, names, verbose):
    """[attempts, leaks, skipped] of each vector, in the order of the families."""
    counts = {}
    for name in names:
        family = importlib.import_module(name)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="crawl-attack-") as folder:
            for attempt in family.run(binary, pathlib.Path(folder)):
                count = counts.setdefault(attempt.vector, collections.Counter())
                count["skipped" if attempt.skipped else "tried"] += 1
                count["leaked"] += attempt.leaked
                if verbose or attempt.leaked or attempt.skipped:
                    state = "skipped" if attempt.skipped else "LEAKED" if attempt.leaked else "held"
                    print(f"{state} {attempt.vector}: {attempt.name}: {attempt.detail}", file=sys.stderr, flush=True)
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=lambda path: str(pathlib.Path(path).resolve(strict=True)))
    parser.add_argument("families", nargs="*", choices=[*families(), []], metavar="FAMILY", help=", ".join(families()))
    parser.add_argument("--before", type=lambda path: str(pathlib.Path(path).resolve(strict=True)),
                        help="an older binary that is attacked as well")
    parser.add_argument("--verbose", action="store_true", help="print each attack, not only those that get through")
    given = parser.parse_intermixed_args()
    names = given.families or families()
    before = tally(given.before, names, given.verbose) if given.before else {}
    now = tally(given.binary, names, given.verbose)
    print("| vector | tried | leaked before | leaks now | skipped |\n|---|---|---|---|---|")
    for vector in {**now, **before}:
        old, new = before.get(vector), now.get(vector, collections.Counter())
        print(f"| {vector} | {new['tried']} | {old['leaked'] if old else '-'} | {new['leaked']} | {new['skipped']} |")
    sys.exit(any(count["leaked"] for count in now.values()))


if __name__ == "__main__":
    main()
