#!/usr/bin/env python3
"""Measures this crawler beside other programs, and its state from a thousand to millions of URLs. Writes `results.json`.

    benches/bench.py --crawl BIN --server BIN --growth BIN [--rounds 3] [--pages 5000] [--urls 1000000] [--sites DIR]
                     [--peer NAME=COMMAND] [--output DIR]

`just bench` builds the programs, runs this and draws the plots. --server and --growth are the examples `serve_many` and
`many_urls`. wget and Scrapy take part where they are installed; a missing program is named and left out. --peer adds one more:
{seeds} in its command stands for a file with the seeds, and it prints one line for each page. --sites is a folder with
`seeds.txt` and, for names that do not resolve, `resolve.txt` and `seeds-by-address.txt`: its sites are crawled too.

All programs crawl the same pages in turn, 16 requests at a time and without delays. CPU and memory are those of the process and
its children (wait4); the server is not counted. Figures are medians of the rounds.
"""
import argparse, datetime, json, os, platform, re, shlex, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
GROWTH = {
    "url_cpu_us": r"([\d.]+) µs of CPU a URL", "url_bytes": r"([\d.]+) bytes a URL",
    "page_cpu_us": r"([\d.]+) µs of CPU a page", "page_bytes": r"([\d.-]+) bytes more a page",
    "open_s": r"opened after a clean end in ([\d.]+) s", "open_after_kill_s": r"opened as after a kill in ([\d.]+) s",
}


def measure(command, out, log):
    """Runs a command; returns wall seconds, CPU seconds, peak resident memory in MB."""
    start = time.monotonic()
    with open(log, "wb") as messages, open(out, "wb") as lines:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=lines, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024,
            "code": process.returncode}


def count_lines(path):
    with open(path, "rb") as lines:
        return sum(1 for _ in lines)


def crawl(binary, site, folder):
    command = [binary, "--seed", site["seeds"], "--delay", "0s", "-c", "16", "--host-concurrency", "16", "--allow-private-addresses",
               "--state-dir", f"{folder}/state", "-o", f"{folder}/pages.jsonl", "--quiet"]
    command += [word for line in site["resolve"] for word in ("--resolve", line)]
    return command, (0,), lambda: count_lines(f"{folder}/pages.jsonl")


def wget(site, folder):
    command = ["wget", "-r", "-l", "inf", "-e", "robots=off", "--follow-tags=a,area", "-nv", "-P", f"{folder}/wget", "-i", site["by_address"]]
    # 8: a page was missing
    return command, (0, 8), lambda: sum(len(files) for _, _, files in os.walk(f"{folder}/wget"))


def scrapy(program, site, folder):
    command = [program, "runspider", f"{HERE}/compare/scrapy_spider.py", "-a", f"seeds={site['by_address']}", "-o", f"{folder}/scrapy.jsonl",
               "-s", "ROBOTSTXT_OBEY=False", "-s", "DOWNLOAD_DELAY=0", "-s", "LOG_LEVEL=ERROR", "-s", "CONCURRENT_REQUESTS=16",
               "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=16"]
    return command, (0,), lambda: count_lines(f"{folder}/scrapy.jsonl")


def peer(command, site, folder):
    words = [word.replace("{seeds}", site["by_address"]) for word in shlex.split(command)]
    return words, (0,), lambda: count_lines(f"{folder}/stdout")


def programs(args):
    """Name and command of each program that is installed."""
    found = {"crawl": lambda site, folder: crawl(os.path.abspath(args.crawl), site, folder)}
    for given in args.peer:
        name, _, command = given.partition("=")
        found[name] = lambda site, folder, command=command: peer(command, site, folder)
    if shutil.which("wget"):
        found["wget"] = wget
    else:
        print("wget is not installed: left out")
    if program := shutil.which(args.scrapy):
        found["Scrapy"] = lambda site, folder: scrapy(program, site, folder)
    else:
        print("Scrapy is not installed (pip install scrapy): left out")
    return found


def compare(found, site, rounds):
    """Runs all programs in turn; returns the medians of each."""
    runs = {name: [] for name in found}
    for n in range(rounds):
        for name, program in found.items():
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                command, wanted, pages = program(site, folder)
                result = measure(command, f"{folder}/stdout", f"{folder}/log")
                if result["code"] not in wanted:
                    with open(f"{folder}/log", errors="replace") as log:
                        sys.exit(f"{name} ended with {result['code']}:\n{log.read()[-2000:]}")
                runs[name].append(result | {"pages": pages()})
                print(f"{site['name']} {n + 1}/{rounds} {name:8s} {runs[name][-1]}", flush=True)
    return {name: {key: statistics.median(run[key] for run in of) for key in ("wall", "cpu", "mb", "pages")} for name, of in runs.items()}


def generated(args, found):
    """Compares on the generated site."""
    server = subprocess.Popen([args.server, str(args.pages)], stdout=subprocess.PIPE, text=True)
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as seeds:
            seeds.write(server.stdout.readline())
            seeds.flush()
            site = {"name": "generated", "seeds": seeds.name, "by_address": seeds.name, "resolve": []}
            return compare(found, site, args.rounds)
    finally:
        server.terminate()
        server.wait()


def of_folder(bed, found, rounds):
    """Compares on the sites of a folder."""
    seeds, by_address, resolve = (os.path.join(bed, name) for name in ("seeds.txt", "seeds-by-address.txt", "resolve.txt"))
    lines = []
    if os.path.exists(resolve):
        with open(resolve) as file:
            lines = [line.strip() for line in file if line.strip()]
    site = {"name": "sites", "seeds": seeds, "by_address": by_address if os.path.exists(by_address) else seeds, "resolve": lines}
    return compare(found, site, rounds)


def growth(program, most):
    """Figures of the state by number of URLs."""
    figures = []
    for urls in (n for n in STEPS if n <= most):
        text = subprocess.run([program, str(urls), str(min(urls, max(5_000, urls // 50)))], check=True, capture_output=True, text=True).stdout
        print(text, end="", flush=True)
        figures.append({"urls": urls} | {name: float(re.search(pattern, text)[1]) for name, pattern in GROWTH.items()})
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crawl", required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--growth", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--sites")
    parser.add_argument("--scrapy", default="scrapy", help="the program, if it is not on the path")
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--only", default="generated,sites,growth", help="parts to measure; the others keep their earlier figures")
    parser.add_argument("--output", default="bench-results")
    args = parser.parse_args()
    for program in (args.crawl, args.server, args.growth):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is no program: build it first (just bench)")
    found = programs(args)
    os.makedirs(args.output, exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    path = os.path.join(args.output, "results.json")
    results = {}
    if os.path.exists(path):
        with open(path) as file:
            results = json.load(file)
    results |= {"date": datetime.date.today().isoformat(), "machine": f"{cores} cores, {platform.machine()}", "rounds": args.rounds}
    parts = {
        "generated": lambda: generated(args, found),
        "sites": lambda: of_folder(args.sites, found, args.rounds) if args.sites else results.get("sites"),
        "growth": lambda: growth(args.growth, args.urls),
    }
    for part in args.only.split(","):
        results[part] = parts[part]()
        # each part is kept, whatever happens to the next one
        with open(path, "w") as file:
            json.dump(results, file, indent=1)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
