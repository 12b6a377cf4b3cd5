#!/usr/bin/env python3
"""Thousands of hosts: the time of the first record, and the request rate over hosts.

    benches/many_hosts.py CRAWL_BINARY [--hosts 8000] [--blocked 5200] [--free 60] [--seconds 40] [--only many|blocked]

`many`: addresses of 127/8 with one page each, a delay of 1 s, 64 slots and a server that answers after 200 ms, so that 320
requests per second are the maximum. Fails if the first record comes later than 3 s after the first request for a page. Fails if
the rate until 90 % of the requests is below 90 % of 320 per second.

`blocked`: 60 addresses beside 5,200 hosts that share one address and its limit. Fails if the 60 get less than 90 % of the
rate that the delay permits. CPU is that of the crawl, user and system.
"""
import argparse, asyncio, os, resource, signal, socket, subprocess, sys, tempfile, time

LATENCY, DELAY, PLACES, JITTER = 0.2, 1.0, 64, 0.1
TEXT = "This host has something to say that no other host says, and it says so at some length for the sake of the test. "


class Site(asyncio.Protocol):
    """One connection; the log holds (arrival, address, path)."""

    def __init__(self, log, pages):
        self.log, self.pages, self.rest = log, pages, b""

    def connection_made(self, transport):
        self.transport = transport
        self.host = transport.get_extra_info("sockname")

    def data_received(self, data):
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, self.rest = self.rest.split(b"\r\n\r\n", 1)
            path = head.split(b" ", 2)[1].decode()
            self.log.append((time.monotonic(), self.host, path))
            asyncio.get_running_loop().call_later(LATENCY, self.answer, path)

    def answer(self, path):
        number = path.strip("/")
        if path == "/" or (number.isdigit() and int(number) <= self.pages):
            links = "".join(f'<a href="/{n}">{n}</a> ' for n in range(1, self.pages + 1)) if path == "/" else ""
            name = f"{self.host[0]} port {self.host[1]} page {path}"
            status, body = "200 OK", f"<title>{name}</title><main><h1>{name}</h1><p>{name}: {TEXT * 4}</p>{links}</main>"
        else:
            status, body = "404 Not Found", "nothing here"
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write((head + body).encode())


async def listen(log, pages, places):
    """Listens at each (address, port); returns the addresses with the actual ports."""
    loop, chosen = asyncio.get_running_loop(), []
    for place in places:
        listener = socket.socket()
        listener.bind(place)
        chosen.append(listener.getsockname())
        await loop.create_server(lambda: Site(log, pages), sock=listener, backlog=8)
    return chosen


async def crawl(binary, directory, places, seconds, watch):
    """Runs the crawl until it ends or `seconds` are over; returns its CPU seconds."""
    seeds = os.path.join(directory, "seeds.txt")
    with open(seeds, "w") as file:
        file.writelines(f"http://{address}:{port}/\n" for address, port in places)
    command = [binary, "--seed", seeds, "--state-dir", os.path.join(directory, "state"), "-q",
               "-O", os.path.join(directory, "out.jsonl"), "--allow-address", "127.0.0.0/8",
               "-c", str(PLACES), "--delay", f"{DELAY}s"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        watch()
        await asyncio.sleep(0.02)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    while process.poll() is None:
        await asyncio.sleep(0.02)
    watch()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def many(args, directory):
    log, output, seen = [], os.path.join(directory, "out.jsonl"), {}
    addresses = [f"127.{10 + n // 40000}.{n // 200 % 200}.{n % 200 + 1}" for n in range(args.hosts)]
    first = (await listen(log, 0, [(addresses[0], 0)]))[0]
    await listen(log, 0, [(address, first[1]) for address in addresses[1:]])

    def watch():
        if "record" not in seen and os.path.exists(output) and os.path.getsize(output):
            seen["record"] = time.monotonic()

    cpu = await crawl(args.crawl, directory, [(address, first[1]) for address in addresses], args.most, watch)
    page = min((at for at, _, path in log if path == "/"), default=float("inf"))
    last = log[len(log) * 9 // 10 - 1][0]
    rate, most = len(log) * 0.9 / (last - log[0][0]), PLACES / LATENCY
    with open(output) as file:
        records = sum(1 for _ in file)
    after = seen["record"] - page if "record" in seen else float("inf")
    print(f"many: {args.hosts} hosts, {len(log)} requests, {records} records; first page {page - log[0][0]:.1f} s after the "
          f"first request, first record {after:.1f} s after it; {rate:.0f} requests a second ({rate / most:.0%} of {most:.0f}); "
          f"{cpu:.1f} s of CPU, {1000 * cpu / len(log):.2f} ms a request")
    return after <= 3 and rate >= 0.9 * most and records == args.hosts


async def blocked(args, directory):
    log = []
    shared = await listen(log, 0, [("127.9.0.1", 0)] * args.blocked)
    free = await listen(log, 200, [(f"127.9.1.{n + 1}", 0) for n in range(args.free)])
    cpu = await crawl(args.crawl, directory, shared + free, args.seconds, lambda: None)
    start, end = log[0][0] + args.seconds * 0.3, log[0][0] + args.seconds * 0.9
    asked = [host for at, host, _ in log if start <= at <= end]
    of_free = set(free)
    rate = sum(host in of_free for host in asked) / (end - start)
    first = min((at for at, host, _ in log if host[0] != "127.9.0.1"), default=float("inf")) - log[0][0]
    full = min(args.free / (DELAY * (1 + JITTER / 2) + LATENCY), PLACES / LATENCY)
    print(f"blocked: {args.free} hosts beside {args.blocked} on one address: first asked after {first:.1f} s, {rate:.1f} "
          f"requests a second ({rate / full:.0%} of {full:.1f}); the address {len(asked) / (end - start) - rate:.1f}; "
          f"{cpu:.1f} s of CPU in {args.seconds} s")
    return rate >= 0.9 * full


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawl")
    parser.add_argument("--hosts", type=int, default=8000)
    parser.add_argument("--blocked", type=int, default=5200)
    parser.add_argument("--free", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--most", type=int, default=600, help="seconds after which `many` is ended")
    parser.add_argument("--only", choices=["many", "blocked"])
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    good = True
    for name, part in (("many", many), ("blocked", blocked)):
        if args.only in (None, name):
            with tempfile.TemporaryDirectory() as directory:
                good &= asyncio.run(part(args, directory))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
