#!/usr/bin/env python3
"""Our binary and a peer in turn over the same sites; medians of CPU seconds, wall seconds and peak memory, and ratios.

    BED=DIR benches/compare_sites.py CRAWL_BINARY [--rounds 3] [--limit N] [-- PEER COMMAND ...]

BED is a folder with `seeds.txt` and, for sites whose names do not resolve, `resolve.txt` (one HOST:PORT:ADDRESS per line). In the
peer's command, {bed} stands for that folder; its output goes to /dev/null. Without a peer only our figures are printed. CPU and
memory are the kernel's (wait4), so a child of the peer counts if the peer waits for it.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time


def measure(command, log):
    """Runs a command; returns wall seconds, CPU seconds, peak resident memory in MB, exit code."""
    start = time.monotonic()
    with open(log, "wb") as messages:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024, "code": process.returncode}


def ours(binary, bed, folder, limit):
    command = [binary, "--seed", f"{bed}/seeds.txt", "--delay", "0s", "-c", "16", "--host-concurrency", "16",
               "--allow-private-addresses", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl", "--quiet"]
    if os.path.exists(f"{bed}/resolve.txt"):
        with open(f"{bed}/resolve.txt") as lines:
            command += [word for line in lines if line.strip() for word in ("--resolve", line.strip())]
    return command + (["--limit", str(limit)] if limit else [])


def check(name, result, log, wanted):
    if result["code"] not in wanted:
        with open(log, errors="replace") as messages:
            sys.exit(f"{name} ended with {result['code']}:\n{messages.read()[-2000:]}")


def show(name, results):
    middle = {key: statistics.median(r[key] for r in results) for key in ("cpu", "wall", "mb")}
    runs = "  ".join(f"{r['cpu']:.1f}/{r['wall']:.1f}/{r['mb']:.0f}" for r in results)
    print(f"{name:8s} {middle['cpu']:8.2f} {middle['wall']:8.2f} {middle['mb']:8.0f}    {runs}")
    return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, help="stop our binary after so many records")
    own, peer = (sys.argv[1:], []) if "--" not in sys.argv else (sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:])
    args = parser.parse_args(own)
    bed = os.environ.get("BED") or sys.exit("BED is not set: the folder with seeds.txt")
    peer = [word.replace("{bed}", bed) for word in peer]
    mine, theirs, records = [], [], 0
    with tempfile.TemporaryDirectory(prefix="compare-sites-") as folder:
        for n in range(args.rounds):
            log = f"{folder}/log"
            os.makedirs(f"{folder}/{n}")
            result = measure(ours(os.path.abspath(args.binary), bed, f"{folder}/{n}", args.limit), log)
            check("crawl", result, log, (5,) if args.limit else (0,))
            mine.append(result)
            with open(f"{folder}/{n}/pages.jsonl") as lines:
                records = sum(1 for line in lines if json.loads(line))
            os.remove(f"{folder}/{n}/pages.jsonl")
            if peer:
                result = measure(peer, log)
                check("peer", result, log, (0,))
                theirs.append(result)
    print(f"{records} records; medians of {args.rounds} rounds in turn; each run as cpu/wall/mb")
    print(f"{'':8s} {'CPU s':>8s} {'wall s':>8s} {'MB':>8s}")
    a = show("crawl", mine)
    if peer:
        b = show("peer", theirs)
        print(f"{'ratio':8s} " + " ".join(f"{a[key] / b[key]:8.2f}" for key in ("cpu", "wall", "mb")))


if __name__ == "__main__":
    main()
