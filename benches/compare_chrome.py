#!/usr/bin/env python3
"""Renderer and playwright-core in turn over the same local JavaScript pages, with the same Chromium and the same number of tabs.

    cargo build --release -p crawl-chrome --example bench
    npm install --prefix DIR playwright-core
    benches/compare_chrome.py target/release/examples/bench DIR [--tabs 4,1] [--rounds 5] [--wait told|rest] [--chromium PATH]
    benches/compare_chrome.py target/release/examples/bench --memory 500 [--tabs 4]

Sixty pages of four kinds (filled at once, after a fetch, after timers, and by a chunk that is loaded when its place comes
into view) are served from here on 127.0.0.1. Each side renders them once to warm up and then once measured, in the tabs that it
has open. Playwright goes to DOMContentLoaded and awaits one promise: with `told` until the page has its last element (it is
told what no crawler knows), with `rest` until nothing has changed for --quiet milliseconds. A page counts if its HTML has the
text of its last element. CPU seconds are those of all processes of a side (driver and browser) in the measured part, and `whole`
with start and warm-up. `ratio` is that of the medians, `by round` the median of the rounds' ratios. `--memory N`: N pages in a row by the renderer alone, and after each hundred the memory of all its
processes (proportional set size, so what they share counts once).
"""
import argparse, asyncio, ctypes, json, multiprocessing, os, shutil, statistics, subprocess, sys

KINDS = ("immediate", "fetch", "timers", "lazy")
TICKS = os.sysconf("SC_CLK_TCK")
SHOW = """
const show = (kind, n, items) => {
  const box = document.getElementById('app');
  for (const item of items) {
    const article = document.createElement('article');
    article.innerHTML = `<h2>${item.title}</h2><p>${item.text}</p><ul>${item.tags.map(t => `<li><a href="#${t}">${t}</a></li>`).join('')}</ul>`;
    box.append(article);
  }
  const end = document.createElement('p');
  end.id = 'end';
  end.textContent = `The last line of ${kind} page ${n}.`;
  box.append(end);
};
const made = n => Array.from({ length: 20 }, (_, i) => ({ title: `Part ${i} of page ${n}`, text: `Words of part ${i}. `.repeat(12), tags: ['a', 'b', 'c'] }));
"""
START = {
    "immediate": "show('immediate', N, made(N))",
    "fetch": "fetch('/data/N').then(r => r.json()).then(items => show('fetch', N, items))",
    "timers": "setTimeout(() => { app.textContent = 'Soon'; setTimeout(() => { app.textContent = ''; show('timers', N, made(N)) }, 50) }, 30)",
    "lazy": "new IntersectionObserver((e, o) => { if (e[0].isIntersecting) { o.disconnect(); import('/chunk.js?N').then(m => m.fill(N)) } }).observe(app)",
}
PAGE = """<!doctype html><html lang=en><head><title>{kind} {n}</title><link rel=stylesheet href=/app.css></head><body>
<header>A site</header><div id=app style="min-height:1px"></div><script src=/app.js></script><script>{start}</script></body></html>"""
CHUNK = "export const fill = n => fetch('/data/' + n).then(r => r.json()).then(items => show('lazy', n, items));"
CSS = "body { font: 16px/1.5 sans-serif } article { margin: 1em; padding: 1em; border: 1px solid #ccc }\n" * 20


def answer(path):
    """Content type and body for a path."""
    first, _, rest = path.strip("/").partition("/")
    if first in KINDS:
        return "text/html; charset=utf-8", PAGE.format(kind=first, n=rest, start=START[first].replace("N", rest))
    if first == "data":
        items = [{"title": f"Part {i} of page {rest}", "text": f"Words of part {i}. " * 12, "tags": list("abc")} for i in range(20)]
        return "application/json", json.dumps(items)
    files = {"app.js": SHOW, "chunk.js": CHUNK}
    return ("text/javascript", files[first]) if first in files else ("text/css", CSS)


async def serve_one(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode().split("?")[0]
            if path.startswith("/data/"):
                await asyncio.sleep(0.02)  # latency of a server
            kind, body = answer(path)
            body = body.encode()
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def serve(port_to):
    async def run():
        server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
        port_to.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()
    asyncio.run(run())


def tree(root):
    """The processes below one, itself included, with their CPU seconds and those of reaped children."""
    children, ticks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        ticks[int(name)] = sum(map(int, fields[11:15])) / TICKS
    found, queue = {}, [root]
    while queue:
        pid = queue.pop()
        found[pid] = ticks.get(pid, 0)
        queue += children.get(pid, [])
    return found


def memory(pids):
    """Proportional set size of processes together, in MB."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


class Side:
    """A running driver: a line of pages in, a line of figures out."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def render(self, pages):
        before = sum(tree(self.process.pid).values())
        self.process.stdin.write(json.dumps(pages) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args} ended")
        result = json.loads(line)
        if result["missed"]:
            print(f"{self.process.args[0]} missed {len(result['missed'])}: {result['missed'][:3]}", file=sys.stderr)
        processes = tree(self.process.pid)
        whole = sum(processes.values())
        return {**result, "cpu": whole - before, "whole": whole, "pss": memory(processes)}

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def one_round(command, warm, pages):
    side = Side(command)
    side.render(warm)
    result = side.render(pages)
    side.end()
    return {"pages/s": len(pages) / result["seconds"], "cpu": result["cpu"], "whole": result["whole"], "found": result["found"]}


def compare(args, base):
    pages = lambda offset: [[f"{base}/{kind}/{offset + n}", f"The last line of {kind} page {offset + n}."] for n in range(15) for kind in KINDS]
    for tabs in map(int, args.tabs.split(",")):
        commands = {
            "renderer": [args.binary, args.chromium, str(tabs)],
            "playwright": ["node", os.path.join(os.path.dirname(__file__), "compare_chrome.mjs"), os.path.abspath(args.playwright),
                           args.chromium, str(tabs), args.wait, str(args.quiet)],
        }
        results = {name: [] for name in commands}
        for n in range(args.rounds):
            # in turn, with alternating order, so that other load affects both
            for name in sorted(commands, reverse=n % 2 == 0):
                results[name].append(one_round(commands[name], pages(1000), pages(0)))
        middle = {name: {key: statistics.median(r[key] for r in rounds) for key in rounds[0]} for name, rounds in results.items()}
        print(f"{tabs} tabs, 60 pages, playwright waits: {args.wait}; medians of {args.rounds} rounds in turn")
        for name, m in middle.items():
            each = " ".join(f"{r['pages/s']:.1f}/{r['cpu']:.2f}" for r in results[name])
            print(f"  {name:10s} {m['pages/s']:6.1f} pages/s {m['cpu']:6.2f} CPU s {m['whole']:6.2f} whole {m['found']:3.0f} found   {each}")
        pairs = list(zip(results["renderer"], results["playwright"]))
        for name, of in (("ratio", lambda key: middle["renderer"][key] / middle["playwright"][key]),
                         ("by round", lambda key: statistics.median(a[key] / b[key] for a, b in pairs))):
            print(f"  {name:10s} {of('pages/s'):6.2f}         {of('cpu'):6.2f}       {of('whole'):6.2f}", flush=True)


def grow(args, base):
    side = Side([args.binary, args.chromium, args.tabs.split(",")[0]])
    for start in range(0, args.memory, 100):
        part = range(start, min(start + 100, args.memory))
        result = side.render([[f"{base}/{KINDS[n % 4]}/{n}", f"The last line of {KINDS[n % 4]} page {n}."] for n in part])
        print(f"{part.stop:6d} pages: {result['pss']:7.0f} MB all processes, {result['memory'] / 2**20:6.0f} MB anonymous and shared, "
              f"{result['tabs']} tabs, {result['browsers']} browsers, {result['found']} found, {result['cpu']:.1f} CPU s", flush=True)
    side.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the example `bench` of crates/chrome, a release build")
    parser.add_argument("playwright", nargs="?", help="the folder in which playwright-core is installed")
    parser.add_argument("--tabs", default="4,1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wait", choices=("told", "rest"), default="told")
    parser.add_argument("--quiet", type=int, default=100, help="milliseconds, for --wait rest")
    parser.add_argument("--memory", type=int, default=0, metavar="N")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome") or "")
    args = parser.parse_args()
    # orphans of a side become our children, so their time is not lost
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    ours, theirs = multiprocessing.Pipe(False)
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    base = f"http://127.0.0.1:{ours.recv()}"
    if args.memory:
        grow(args, base)
    elif args.playwright:
        compare(args, base)
    else:
        parser.error("name the folder of playwright-core, or give --memory")
    server.terminate()


if __name__ == "__main__":
    main()
