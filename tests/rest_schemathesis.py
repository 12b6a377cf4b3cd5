#!/usr/bin/env python3
"""The REST API compared with its own document, by schemathesis with all checks on.

    tests/rest_schemathesis.py [CRAWL_BINARY] [--examples 50] [--seed N]

Crawls a small site into a project, starts `crawl serve` on it, and runs schemathesis twice: with generated ids, and with existing
ones (without DELETE, so that they stay). Exits with 1 at the first failure. Without the package `schemathesis` (PyPI) it prints a
message and exits with 0.
"""
import argparse, http.server, importlib.util, json, os, pathlib, signal, subprocess, sys, tempfile, threading, urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = "a-token-for-one-test-run"
FOOTER = "<p>Harbour office, quay nine, open on weekdays from eight to four and by appointment on Saturdays</p>"


class Site(http.server.BaseHTTPRequestHandler):
    """Ten pages under one footer."""

    def do_GET(self):
        number = {"/": 0, **{f"/p/{n}.html": n for n in range(1, 10)}}.get(self.path)
        links = "".join(f'<li><a href="/p/{n}.html">sheet {n}</a></li>' for n in range(1, 10))
        own = f"<p>Sheet number {number} says in its only paragraph what none of the other sheets of this site has to say.</p>"
        page = f"<html lang=en><title>Sheet {number}</title><main><h1>Sheet {number}</h1>{own}<ul>{links}</ul>{FOOTER}</main>"
        body = b"" if number is None else page.encode()
        self.send_response(404 if number is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def crawl(binary, folder, env):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    seeds = folder / "seeds.txt"
    seeds.write_text(f"http://127.0.0.1:{site.server_address[1]}/\n")
    subprocess.run(
        [binary, "--seed", seeds, "--state-dir", folder / "state", "-O", folder / "out.jsonl", "--delay", "0s", "--quiet",
         "--allow-address", "127.0.0.0/8", "--project", "sheets", "--source-group", "news", "--database", folder / "p.sqlite"],
        check=True, env=env, timeout=60)
    site.shutdown()
    site.server_close()


def start(binary, folder, env):
    """The server and its address, which is on its first line of output."""
    words = [binary, "serve", "--listen", "127.0.0.1:0", "--database", folder / "p.sqlite"]
    server = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
    line = server.stderr.readline()
    if "listening on" not in line:
        server.kill()
        sys.exit(f"the server did not start: {line}{server.stderr.read()}")
    threading.Thread(target=lambda: sys.stderr.writelines(server.stderr), daemon=True).start()
    return server, line.split()[2].rstrip(",")


def ask(url, method="GET", **headers):
    request = urllib.request.Request(url, method=method, headers={"Authorization": f"Bearer {TOKEN}", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def known(url, folder):
    """A configuration of schemathesis with existing ids."""
    project = ask(f"{url}/api/v1/projects")["projects"][0]["id"]
    source = ask(f"{url}/api/v1/projects/{project}/sources")["sources"][0]["id"]
    job = ask(f"{url}/api/v1/projects/{project}/analyze-boilerplate", "POST", Prefer="respond-async")["id"]
    text = "".join(
        f'[[operations]]\ninclude-path-regex = "^/api/v1/{kind}/"\nparameters = {{ "path.id" = "{id}", "path.source_id" = "{source}" }}\n'
        for kind, id in [("projects", project), ("jobs", job)])
    # a parameter that schemathesis would not generate: the second run is without it
    path = folder / "known.toml"
    path.write_text(text)
    return path


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("binary", nargs="?", default=str(ROOT / "target/debug/crawl"))
    parse.add_argument("--examples", default="50")
    parse.add_argument("--seed", default="1")
    asked = parse.parse_args()
    if importlib.util.find_spec("schemathesis") is None:
        print("skipped: the package schemathesis is not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="crawl-rest-") as folder:
        folder = pathlib.Path(folder)
        env = {"HOME": str(folder), "PATH": os.environ["PATH"], "CRAWL_SERVE_TOKEN": TOKEN}
        crawl(asked.binary, folder, env)
        server, url = start(asked.binary, folder, env)
        try:
            run = [sys.executable, "-m", "schemathesis.cli"]
            flags = ["run", f"{url}/api/v1/openapi.json", "--checks", "all", "--max-examples", asked.examples, "--seed", asked.seed,
                     "--header", f"Authorization: Bearer {TOKEN}", "--no-color"]
            for words in [["--config-file", str(known(url, folder)), *flags, "--exclude-method", "DELETE"], flags]:
                code = subprocess.run(run + words, cwd=folder).returncode
                if code or server.poll() is not None:
                    return 1
        finally:
            server.send_signal(signal.SIGTERM)
            if server.wait(timeout=30):
                print(f"the server ended with {server.returncode}", file=sys.stderr)
                return 1
    print("no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
