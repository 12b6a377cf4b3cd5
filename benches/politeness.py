#!/usr/bin/env python3
"""Politeness from a site's view: the gaps between requests, and the pause after a 429, measured at the server.

    benches/politeness.py CRAWL_BINARY [--requests 200] [--delay-ms 200] [--retry-after 2] [crawl flags ...]

Serves a site on loopback: a robots.txt behind a redirect, a sitemap index with a sitemap, and linked pages, every tenth behind a
redirect. Half-way one answer is a 429 with Retry-After. The crawl makes about that many requests, without jitter, and each is timed
on arrival. Prints the smallest gap, the number of gaps shorter than the delay, and the pause after the 429. Exits with 1 if a gap
is shorter or a request came early.

With one request at a time, the default, the pause counts from the answer, so that load of the machine cannot shorten a gap. With
--host-concurrency it counts from start to start, and a delayed request shortens the next gap.
"""
import argparse, http.server, os, socketserver, subprocess, sys, tempfile, threading, time


class Site:
    """The site and its log: (arrival, path, status)."""

    def __init__(self, pages, refuse_at, retry_after):
        self.pages, self.refuse_at, self.retry_after = pages, refuse_at, retry_after
        self.log, self.lock = [], threading.Lock()

    def answer(self, path, base):
        """Status, content type, headers, body."""
        if path == "/robots.txt":
            return 301, "text/plain", {"Location": "/real-robots.txt"}, ""
        if path == "/real-robots.txt":
            return 200, "text/plain", {}, f"User-agent: *\nDisallow: /private/\nSitemap: {base}/index.xml\n"
        if path == "/index.xml":
            return 200, "application/xml", {}, f"<sitemapindex><sitemap><loc>{base}/map.xml</loc></sitemap></sitemapindex>"
        if path == "/map.xml":
            listed = "".join(f"<url><loc>{base}/page/{n}</loc></url>" for n in range(self.pages // 2))
            return 200, "application/xml", {}, f"<urlset>{listed}</urlset>"
        kind, _, number = path.strip("/").partition("/")
        if path != "/" and (kind not in ("page", "moved") or not number.isdigit() or int(number) >= self.pages):
            return 404, "text/plain", {}, "nothing here"
        n = int(number or 0)
        if kind == "page" and n % 10 == 7:
            return 302, "text/plain", {"Location": f"/moved/{n}"}, ""
        links = "".join(f'<a href="/page/{m}">{m}</a> ' for m in (2 * n + 1, 2 * n + 2) if m < self.pages)
        text = f"Page {n} has something to say that no other page says, for instance that {n} times {n} is {n * n}. "
        return 200, "text/html", {}, f"<title>Page {n}</title><main><h1>Page {n}</h1><p>{text * 5}</p>{links}</main>"

    def ask(self, path, base):
        arrived = time.monotonic()
        with self.lock:
            first = path not in [known for _, known, _ in self.log]
            if self.refuse_at is not None and len(self.log) >= self.refuse_at and path.startswith("/page/") and first:
                self.refuse_at = None
                answer = 429, "text/plain", {"Retry-After": str(self.retry_after)}, "too many"
            else:
                answer = self.answer(path, base)
            self.log.append((arrived, path, answer[0]))
        return answer


def serve(site):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            status, kind, headers, body = site.ask(self.path, f"http://{self.headers['Host']}")
            body = body.encode()
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def crawl(binary, port, delay_ms, flags, limit):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/seeds.txt", "w") as seeds:
            print(f"http://127.0.0.1:{port}/", file=seeds)
        words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/out.jsonl",
                 "--delay", f"{delay_ms}ms", "--allow-address", "127.0.0.1/32", "--quiet", *flags]
        done = subprocess.run(words, timeout=limit, env={**os.environ, "CRAWL_POLITENESS_JITTER": "0"})
        if done.returncode != 0:
            sys.exit(f"the crawl ended with {done.returncode}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--delay-ms", type=int, default=200)
    parser.add_argument("--retry-after", type=int, default=2)
    args, flags = parser.parse_known_args()
    # a tenth of the pages takes two requests; the rest is robots.txt, the sitemaps, the probes and the refused page
    pages = max(args.requests * 10 // 11, 10)
    site = Site(pages, args.requests // 2, args.retry_after)
    crawl(args.binary, serve(site), args.delay_ms, flags, 60 + args.requests * args.delay_ms / 250)

    log = sorted(site.log)
    gaps = [(later[0] - earlier[0], earlier, later) for earlier, later in zip(log, log[1:])]
    smallest, before, after = min(gaps)
    short = [gap for gap, *_ in gaps if gap < args.delay_ms / 1000]
    print(f"{len(log)} requests in {log[-1][0] - log[0][0]:.1f} s, {sum(300 <= status < 400 for *_, status in log)} redirects")
    print(f"delay {args.delay_ms} ms: smallest gap {smallest * 1000:.1f} ms ({before[1]} -> {after[1]}), "
          f"{len(short)} of {len(gaps)} gaps shorter")
    refused = next((index for index, entry in enumerate(log) if entry[2] == 429), None)
    if refused is None:
        sys.exit("nothing was refused: too few requests came")
    silence = log[refused + 1][0] - log[refused][0]
    early = [path for at, path, _ in log[refused + 1:] if at - log[refused][0] < args.retry_after]
    again = [at - log[refused][0] for at, path, _ in log[refused + 1:] if path == log[refused][1]]
    print(f"429 at request {refused + 1} with Retry-After {args.retry_after} s: left alone for {silence:.3f} s, "
          f"{len(early)} requests came early; the page was asked for again after {again[0]:.3f} s" if again else
          "the refused page was not asked for again")
    sys.exit(1 if short or early or not again else 0)


if __name__ == "__main__":
    main()
