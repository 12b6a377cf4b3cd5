#!/usr/bin/env python3
"""Workers in PostgreSQL and one process with SQLite over the same sites: URLs, texts, and CPU seconds of workers and server.

    BED=DIR benches/postgres_sites.py CRAWL_BINARY [--workers 1,2,4] [--depth 1]

BED is a folder with `seeds.txt` and, for sites whose names do not resolve, `resolve.txt` (one HOST:PORT:ADDRESS per line). Needs Debian's
package postgresql. Each page waits until the fingerprint of its host has settled, so that its text does not depend on the order of pages.
"""
import argparse, collections, json, os, subprocess, sys, tempfile, time
from postgres_faults import Database


def words(args, folder, state, output):
    bed = os.environ["BED"]
    command = [os.path.abspath(args.binary), "--seed", f"{bed}/seeds.txt", "--delay", "0s", "-c", "16", "--host-concurrency", "16", "--allow-private-addresses",
               "--depth", str(args.depth), "--state-dir", f"{folder}/{state}", "-o", output, "--quiet"]
    if os.path.exists(f"{bed}/resolve.txt"):
        with open(f"{bed}/resolve.txt") as lines:
            command += [word for line in lines if line.strip() for word in ("--resolve", line.strip())]
    return command


def run(commands):
    """Runs commands at the same time; returns wall and CPU seconds."""
    began, cpu = time.monotonic(), 0
    environment = {**os.environ, "CRAWL_DEDUP_RELEASE": "settled"}
    processes = {}
    for command in commands:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
        processes[process.pid] = process
    for process in processes.values():
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"a process ended with {process.returncode}")
        cpu += usage.ru_utime + usage.ru_stime
    return time.monotonic() - began, cpu


def read(paths):
    found, counts = {}, collections.Counter()
    for path in paths:
        with open(path) as lines:
            for line in lines:
                record = json.loads(line)
                counts[record["url"]] += 1
                found[record["url"]] = record
    return found, counts


def server_cpu(pid):
    """CPU seconds of the server and of all its processes so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    ticks = sum(map(int, fields[11:15]))
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--depth", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="postgres-sites-") as folder:
        os.chmod(folder, 0o755)
        wall, base = run([words(args, folder, "alone", f"{folder}/alone.jsonl")])
        alone, _ = read([f"{folder}/alone.jsonl"])
        print(f"{'sqlite':10s} {len(alone):6d} records {wall:7.1f} s {base:7.1f} s CPU", flush=True)
        wall, again = run([words(args, folder, "alone2", f"{folder}/alone2.jsonl")])
        compare("sqlite", alone, *read([f"{folder}/alone2.jsonl"]), wall, again, 0, base)
        for number in map(int, args.workers.split(",")):
            os.makedirs(f"{folder}/pg{number}")
            database = Database(f"{folder}/pg{number}")
            before = server_cpu(database.process.pid)
            os.makedirs(f"{folder}/out{number}")
            store = ["--store", database.url, "--crawl", "c"]
            wall, cpu = run([words(args, folder, f"w{number}-{n}", f"{folder}/out{number}/*.jsonl") + store for n in range(number)])
            server = server_cpu(database.process.pid) - before
            listed = subprocess.run([args.binary, "outputs", "--json", *store], check=True, capture_output=True).stdout
            compare(f"{number} workers", alone, *read(part["path"] for part in json.loads(listed)), wall, cpu, server, base)
            database.stop()


def compare(name, alone, found, counts, wall, cpu, server, base):
    twice = sum(n > 1 for n in counts.values())
    both = alone.keys() & found.keys()
    other = [url for url in both if alone[url].get("text") != found[url].get("text")]
    print(f"{name:10s} {len(found):6d} records {wall:7.1f} s {cpu:7.1f} s CPU ({cpu / base:.2f}), with the server {(cpu + server) / base:.2f}; "
          f"{len(alone.keys() ^ found.keys())} other URLs, {twice} twice, {len(other)} other texts", flush=True)
    for url in other[:5]:
        print(f"  {url} {alone[url].get('boilerplate', {}).get('status')} {found[url].get('boilerplate', {}).get('status')}")


if __name__ == "__main__":
    main()
