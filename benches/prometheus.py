#!/usr/bin/env python3
"""Comparison of a Prometheus that scrapes a run with the run's summary.

    apt-get install --no-install-recommends prometheus
    benches/prometheus.py CRAWL_BINARY [--prometheus PATH] [--pages 400]

A site on 127.0.0.1 has pages, some of them copies, missing ones, and a redirect. The run shows its metrics for four seconds after
its end, and Prometheus scrapes every second. Exits with 1 if a number differs between Prometheus, the textfile and the summary, or
if the run had fewer than three scrapes.
"""
import argparse, functools, http.server, json, os, shutil, socket, subprocess, sys, tempfile, threading, time, urllib.parse, urllib.request

CONFIG = """
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
  - job_name: crawl
    static_configs: [ { targets: ["127.0.0.1:%d"] } ]
"""


class Site(http.server.BaseHTTPRequestHandler):
    """A list of pages; each third repeats the one before, each tenth is missing, one redirects."""
    protocol_version = "HTTP/1.1"

    def __init__(self, pages, *args):
        self.pages = pages
        super().__init__(*args)

    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.strip("/")
        status, body, more = 200, "", []
        if not name:
            body = "<main><h1>All</h1>" + "".join(f"<p>See <a href='/{n}'>page {n}</a> of this list.</p>" for n in range(self.pages)) + "</main>"
        elif name == "7":
            status, more = 302, [("Location", "/8")]
        elif not name.isdigit() or int(name) % 10 == 9:
            status = 404
        else:
            n = int(name) - (int(name) % 3 == 2)
            words = " ".join(f"word{(n * 7919 + k * 104729) % 99991}" for k in range(200))
            body = f"<main><h1>Page {n}</h1><p>This is what stands on page {n}: {words}.</p></main>"
        data = f"<!doctype html><html lang=en><head><title>Page {name}</title></head><body>{body}</body></html>".encode()
        self.send_response(status)
        for key, value in [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(data))), *more]:
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port, query):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query}), timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def sample(name, labels):
    return name + "".join(f"{{{k}={json.dumps(v)}}}" for k, v in labels.items())


def scraped(port):
    """The last value of each sample of the crawl, and the number of its scrapes during the run."""
    values = {}
    for series in ask(port, 'last_over_time({__name__=~"crawl_.+_total"}[5m])') + ask(port, 'last_over_time(crawl_frontier_urls[5m])'):
        labels = {k: v for k, v in series["metric"].items() if k not in ("__name__", "instance", "job")}
        values[sample(series["metric"].get("__name__", "crawl_frontier_urls"), labels)] = float(series["value"][1])
    scrapes = ask(port, "count_over_time(crawl_running_seconds[5m])")
    rising = ask(port, "changes(crawl_records_total[5m])")
    return values, int(scrapes[0]["value"][1]) if scrapes else 0, int(rising[0]["value"][1]) if rising else 0


def textfile(path):
    values = {}
    for line in open(path):
        if line.startswith("crawl_") and not line.startswith(("crawl_response_seconds", "crawl_running_seconds", "crawl_hosts")):
            name, _, value = line.rpartition(" ")
            values[name] = float(value)
    return values


def of_summary(s):
    """Expected metrics by the summary."""
    counts = {"records_total": s["records"], "pages_total": s["pages"], "errors_total": s["errors"], "received_bytes_total": s["bytesReceived"],
              "boilerplate_bytes_total": s["bytesRemoved"], "written_bytes_total": s["bytesWritten"], "duplicates_total": s["duplicates"]}
    for name, label, of in [("responses_total", "status", "statuses"), ("page_strategies_total", "strategy", "strategies"),
                            ("no_record_total", "kind", "noRecord"), ("changes_total", "change", "changes")]:
        counts |= {sample(name, {label: k}): v for k, v in s[of].items()}
    counts |= {sample("frontier_urls", {"state": k}): s["frontier"][v] for k, v in [("queued", "pending"), ("in_flight", "leased"), ("held", "held")]}
    return {f"crawl_{k}": float(v) for k, v in counts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--prometheus", default="prometheus")
    parser.add_argument("--pages", type=int, default=400)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="prometheus-")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, args.pages))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    metrics, own = free_port(), free_port()
    with open(f"{folder}/prometheus.yml", "w") as conf:
        conf.write(CONFIG % metrics)
    with open(f"{folder}/seeds.txt", "w") as seeds:
        seeds.write(f"http://127.0.0.1:{server.server_port}/\n")
    with open(f"{folder}/crawl.toml", "w") as settings:
        settings.write('[metrics]\nlinger = "4s"\n')
    log = open(f"{folder}/prometheus.log", "wb")
    prometheus = subprocess.Popen([args.prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                   f"--web.listen-address=127.0.0.1:{own}"], stdout=log, stderr=log)
    try:
        for _ in range(100):
            try:
                ask(own, "up")
                break
            except OSError:
                time.sleep(0.1)
        crawl = subprocess.run([os.path.abspath(args.binary), "--seed", f"{folder}/seeds.txt", "--config", f"{folder}/crawl.toml", "--delay", "15ms",
                                "--allow-private-addresses", "--state-dir", f"{folder}/state", "-o", f"{folder}/pages.jsonl", "--log-format", "json",
                                "--metrics-listen", f"127.0.0.1:{metrics}", "--metrics-textfile", f"{folder}/crawl.prom"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        summary = next(m for m in map(json.loads, crawl.stderr.splitlines()) if m.get("message") == "summary")
        values, scrapes, rising = scraped(own)
    finally:
        prometheus.terminate()
        prometheus.wait()
        server.shutdown()
    written, told = textfile(f"{folder}/crawl.prom"), of_summary(summary)
    faults = [f"{name}: Prometheus {values.get(name)}, textfile {written.get(name)}" for name in sorted(values.keys() | written.keys())
              if values.get(name) != written.get(name)]
    faults += [f"{name}: summary {value}, Prometheus {values.get(name)}" for name, value in told.items() if values.get(name) != value]
    faults += [f"only {rising} scrapes fell into the run"] * (rising < 3)
    print(f"{summary['records']} records in {summary['seconds']:.1f} s; {scrapes} scrapes, {rising} of them saw new records; "
          f"{len(values)} samples of Prometheus, {len(written)} of the textfile, {len(told)} of the summary compared")
    print("\n".join(faults) or "all equal")
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
