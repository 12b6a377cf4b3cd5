#!/usr/bin/env python3
"""Rate and CPU of a crawl of one host as its frontier grows: many_pages.py CRAWL SERVER [--pages 1000000].

SERVER is the example `serve_many` (cargo build --release -p crawl-fetch --example serve_many), which serves a generated site of
that many pages on loopback. Prints a line for each 50,000 records: records per second and CPU milliseconds per record in that
span and in total, the size of the state, and the resident set. The last line compares the figures at the end of the crawl
with those at 100,000 records. Takes 8 to 15 minutes and 12 GB of disk for a million pages.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

SPAN = 50_000
BASE = 100_000


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next((int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS")), 0)


def folder_mb(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()) >> 20


class Lines:
    """Counts the lines of a growing file."""

    def __init__(self, path):
        self.path, self.at, self.count = path, 0, 0

    def read(self):
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                file.seek(self.at)
                while chunk := file.read(1 << 20):
                    self.at += len(chunk)
                    self.count += chunk.count(b"\n")
        return self.count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crawl")
    parser.add_argument("server")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--dir", help="folder for state and output (default: a temporary one)")
    parser.add_argument("option", nargs="*", help="further options of the crawl, after --")
    args = parser.parse_args()
    server = subprocess.Popen([args.server, str(args.pages)], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory(dir=args.dir) as folder:
            measure(args, url, folder)
    finally:
        server.terminate()
        server.wait()


def measure(args, url, folder):
    state, out = os.path.join(folder, "state"), os.path.join(folder, "out.jsonl")
    command = [args.crawl, "--seed", url, "--state-dir", state, "-o", out, "--allow-address", "127.0.0.0/8", "-c", "16",
               "--delay", "0s", "--fields", "id,url,text", *args.option]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines, start, at_base = Lines(out), time.monotonic(), None
    last = (0, start, 0.0)
    while run.poll() is None:
        time.sleep(0.2)
        count, now = lines.read(), time.monotonic()
        if count - last[0] < SPAN:
            continue
        try:
            cpu, resident = cpu_seconds(run.pid), resident_mb(run.pid)
        except (FileNotFoundError, ProcessLookupError):
            break
        rate, each = (count - last[0]) / (now - last[1]), 1000 * (cpu - last[2]) / (count - last[0])
        whole = count / (now - start)
        print(f"{count:>9,} records  span {rate:7,.0f}/s {each:.3f} ms  whole {whole:7,.0f}/s {1000 * cpu / count:.3f} ms  "
              f"state {folder_mb(state):,} MB  resident {resident:,} MB", flush=True)
        if at_base is None and count >= BASE:
            at_base = (whole, 1000 * cpu / count)
        last = (count, now, cpu)
    end, count = time.monotonic(), lines.read()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime
    print(f"exit {run.returncode}, {count:,} records in {end - start:.0f} s, {count / (end - start):,.0f}/s, "
          f"{1000 * cpu / max(count, 1):.3f} ms CPU a record, peak {usage.ru_maxrss >> 10} MB")
    if at_base:
        print(f"against {BASE:,} records: rate {count / (end - start) / at_base[0]:.2f}, "
              f"CPU a record {1000 * cpu / count / at_base[1]:.2f}")
    if run.returncode != 0:
        sys.exit("the crawl failed")


if __name__ == "__main__":
    main()
