#!/usr/bin/env python3
"""Cost and output of recrawls: sites crawled, crawled again unchanged, and again after a known set of changes.

    BED=DIR benches/recrawl.py CRAWL_BINARY [--nginx nginx] [--types FILE] [--port 8790] [--keep DIR] [--no-validators]

BED is a folder with `www/SITE/` for each site, and a seed of each, http://SITE.anything/path, in `seeds.txt`. The sites are copied
(as hard links), served by our own nginx under SITE.recrawl.test, and changed there. In each of the larger sites some pages get a new
paragraph within their text, new linked pages are added, and others are removed.

Prints CPU seconds (wait4), bytes that nginx sent (with headers), and the changes in the records. Exits with 1 if a run reports other
changes, costs at least 40 % of the first run's CPU, or 10 % of its bytes. With --no-validators the server sends neither ETag nor
Last-Modified, so that every page comes whole; then the bytes are not checked.
"""
import argparse, collections, html, json, os, re, shutil, signal, subprocess, sys, tempfile, time

CHANGED, ADDED, REMOVED = 50, 20, 10


def nginx_conf(folder, sites, port, types, validators):
    """Types are the distribution's; other files are text, which is nginx's default (`default_type`), so that files of
        programs are pages.
    """
    silent = "" if validators else 'etag off; if_modified_since off; add_header Last-Modified "";'
    servers = "\n".join(f"server {{ listen 127.0.0.1:{port}; server_name {s}.recrawl.test; root {folder}/www/{s}; index index.html; }}" for s in sites)
    return f"""pid {folder}/nginx.pid; error_log {folder}/nginx.err crit; worker_processes 1; daemon off;
events {{ worker_connections 4096; }}
http {{
include {types}; sendfile on; {silent} keepalive_requests 100000;
client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
log_format m "$bytes_sent $status $host $uri"; access_log {folder}/access.log m;
{servers}
}}
"""


def crawl(binary, folder, port, sites, number, flags=()):
    command = [binary, "--seed", f"{folder}/seeds.txt", "--delay", "0s", "-c", "16", "--host-concurrency", "16", "--allow-private-addresses",
               "--state-dir", f"{folder}/state", "-o", f"{folder}/{number}.jsonl", *flags]
    for site in sites:
        command += ["--resolve", f"{site}.recrawl.test:{port}:127.0.0.1"]
    open(f"{folder}/access.log", "w").close()
    start = time.monotonic()
    with open(f"{folder}/{number}.log", "wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"run {number} ended with {status}:\n" + open(f"{folder}/{number}.log", errors="replace").read()[-3000:])
    sent, statuses = 0, collections.Counter()
    with open(f"{folder}/access.log") as log:
        for line in log:
            size, code, _ = line.split(" ", 2)
            sent += int(size)
            statuses[code] += 1
    records = []
    if os.path.exists(f"{folder}/{number}.jsonl"):
        with open(f"{folder}/{number}.jsonl") as lines:
            records = [{"url": r["url"], "change": r["metadata"]["change"], "links": r["links"], "letters": letters(r["content"] or r["text"])} for r in map(json.loads, lines)]
    result = {"cpu": usage.ru_utime + usage.ru_stime, "wall": time.monotonic() - start, "sent": sent, "records": records}
    changes = collections.Counter(r["change"] for r in records)
    print(f"run {number}: {result['cpu']:7.2f} CPU s {result['wall']:7.2f} s {sent / 1e6:9.2f} MB sent; {dict(statuses)}; records {dict(changes)}", flush=True)
    return result


def copy_sites(source, target):
    """Copies as hard links, and symbolic links as their targets, since a site is self-contained. Broken links are skipped."""
    for at, _, names in os.walk(source, followlinks=True):
        there = os.path.join(target, os.path.relpath(at, source))
        os.makedirs(there, exist_ok=True)
        for name in names:
            real = os.path.realpath(os.path.join(at, name))
            if os.path.isfile(real):
                os.link(real, os.path.join(there, name))


def rewrite(path, text):
    """Writes a new file: the hard link to the bed must not be changed. Its new time gives it a new ETag in nginx."""
    os.remove(path)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def letters(text):
    """A text without marks and spaces, which is equal for HTML and Markdown."""
    return re.sub(r"[\W_]+", "", text)


def place_in_text(path, content):
    """End of the first paragraph of a file within the page's content; None without one."""
    text = open(path, encoding="utf-8", errors="surrogateescape").read()
    for paragraph in re.finditer(r"<p\b[^>]*>(.*?)</p>", text, re.I | re.S):
        words = letters(html.unescape(re.sub(r"<[^>]*>", " ", paragraph[1])))
        if len(words) >= 40 and words in content:
            return paragraph.end()
    return None


def change(folder, port, sites, records):
    """Changes the sites; returns the expected changes of a run by URL."""
    content = {r["url"]: r["letters"] for r in records}
    prefix = {s: f"http://{s}.recrawl.test:{port}/" for s in sites}
    pages = collections.defaultdict(list)
    linked = collections.Counter(link for r in records for link in r["links"])
    for record in records:
        for site, base in prefix.items():
            path = record["url"].removeprefix(base)
            if record["url"].startswith(base) and path.endswith(".html") and "%" not in path and "?" not in path:
                pages[site].append((record["url"], f"{folder}/www/{site}/{path}"))
    expected, removed = {}, 0
    large = sorted(pages, key=lambda s: -len(pages[s]))[:5]
    for n, site in enumerate(large):
        usable = [(url, path) for url, path in sorted(pages[site]) if place_in_text(path, content[url])]
        step = max(1, len(usable) // (CHANGED // 5 + REMOVED // 5 + 3))
        chosen = usable[step::step]
        for k in range(CHANGED // 5):
            url, path = chosen[k]
            text = open(path, encoding="utf-8", errors="surrogateescape").read()
            new, links = f"What page {k} of {site} says since this morning stands in this paragraph, and nobody had said it before in these words.", ""
            if k < ADDED // 5:
                name = f"added-{n}-{k}.html"
                links = f' More of it stands in <a href="{name}">the page that was added as number {n}-{k}</a>.'
                added = os.path.join(os.path.dirname(path), name)
                words = " ".join(f"word{(n * 1000 + k * 37 + i * i) % 9973}" for i in range(150))
                with open(added, "w") as file:
                    file.write(f"<!DOCTYPE html><html lang=en><head><title>Added {n}-{k}</title></head><body><main><h1>Added {n}-{k}</h1><p>This page number {n}-{k} was added later. {words}.</p></main></body></html>")
                expected[url.rsplit("/", 1)[0] + "/" + name] = "new"
            at = place_in_text(path, content[url])
            rewrite(path, f"{text[:at]}<p>{new}{links}</p>{text[at:]}")
            expected[url] = "changed"
        for url, path in chosen[CHANGED // 5:]:
            if removed < REMOVED * (n + 1) // 5 and not path.endswith("/index.html"):
                os.remove(path)
                expected[url] = "gone"
                removed += 1
    counts = collections.Counter(expected.values())
    print(f"done on the server: {dict(counts)}")
    if counts != {"changed": CHANGED, "new": ADDED, "gone": REMOVED}:
        sys.exit("the sites are too small for the changes")
    return expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nginx", default="nginx")
    parser.add_argument("--types", default="/etc/nginx/mime.types", help="nginx's table of media types")
    parser.add_argument("--port", type=int, default=8790)
    parser.add_argument("--keep", help="a folder for sites, state and outputs that stays")
    parser.add_argument("--no-validators", action="store_true", help="send neither ETag nor Last-Modified")
    args = parser.parse_args()
    bed = os.environ.get("BED") or sys.exit("BED is not set: the folder with www/SITE/ and seeds.txt")
    sites = sorted(os.listdir(f"{bed}/www"))
    folder = args.keep or tempfile.mkdtemp(prefix="recrawl-", dir=os.environ.get("TMPDIR"))
    os.makedirs(folder, exist_ok=True)
    # nginx started by root reads as another user
    os.chmod(folder, 0o755)
    copy_sites(f"{bed}/www", f"{folder}/www")
    with open(f"{folder}/seeds.txt", "w") as seeds:
        for line in open(f"{bed}/seeds.txt"):
            host, path = re.match(r"http://([^/]+)(/\S*)", line).groups()
            seeds.writelines(f"http://{s}.recrawl.test:{args.port}{path}\n" for s in sites if host.startswith(s + "."))
    with open(f"{folder}/nginx.conf", "w") as conf:
        conf.write(nginx_conf(folder, sites, args.port, args.types, not args.no_validators))
    server = subprocess.Popen([args.nginx, "-p", folder, "-c", f"{folder}/nginx.conf"])
    faults = []
    try:
        binary = os.path.abspath(args.binary)
        first = crawl(binary, folder, args.port, sites, 1)
        again = crawl(binary, folder, args.port, sites, 2, ["--recrawl", "all"])
        cpu, sent = again["cpu"] / first["cpu"], again["sent"] / first["sent"]
        print(f"unchanged: {100 * cpu:.1f} % of the CPU, {100 * sent:.2f} % of the bytes, {len(again['records'])} records")
        faults += [f"{len(again['records'])} records of an unchanged site"] * bool(again["records"])
        faults += ["40 % of the CPU"] * (cpu >= 0.4) + ["10 % of the bytes"] * (sent >= 0.1 and not args.no_validators)
        expected = change(folder, args.port, sites, first["records"])
        third = crawl(binary, folder, args.port, sites, 3, ["--recrawl", "all"])
        told = {r["url"]: r["change"] for r in third["records"]}
        for url in sorted(expected.keys() | told.keys()):
            if expected.get(url) != told.get(url):
                faults.append(f"{url}: done {expected.get(url)}, told {told.get(url)}")
        print(f"changes: {sum(expected.get(u) == c for u, c in told.items())} of {len(expected)} told, {len(told.keys() - expected.keys())} others")
        fourth = crawl(binary, folder, args.port, sites, 4, ["--recrawl", "auto"])
        print(f"auto, at once: {100 * fourth['cpu'] / first['cpu']:.1f} % of the CPU, {len(fourth['records'])} records")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(faults[:40]) or "as it should be")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
