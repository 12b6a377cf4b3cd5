"""Forbidden addresses in every source of URLs on the static path: notations × vectors, with a canary at each address.

Only 127.0.0.1 is allowed. Each notation has its own port, at which every other address of the namespace is a canary. For each
vector a second crawl, which may contact all addresses, shows how many notations the vector reaches at all.
"""
import os, subprocess
from attempt import Attempt
from support.network import ALLOWED, Canaries, Names, isolated
from support.pages import Pages

SITE, FIRST, LIMIT = 18000, 20000, 60
V4 = "127.0.0.2"
# a notation with {port} has its port elsewhere than at the end
NOTATIONS = (
    V4, "127.2", "127.0.2", "2130706434", "0x7f000002", "0x7f.0.0.2", "0x7F.0x0.0x0.0x2", "0177.0.0.2", "0177.0x0.00.02", "017700000002",
    "127.0.0.2.", "127.255.255.254", "%31%32%37.0.0.2", "127%2e0%2e0%2e2", "１２７.０.０.２", "127。0。0。2", "①②⑦.0.0.②",
    "[::1]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]", "[0:0:0:0:0:ffff:127.0.0.2]", "[::127.0.0.2]", "[64:ff9b::127.0.0.2]", "[2002:7f00:2::]",
    "[fd00::1]", "[fe80::1]", "[fe80::1%25lo]", "[2001:db8::1]", "0.0.0.0", "0", "[::]", "0.0.0.1", "10.0.0.1", "012.0.0.1", "172.16.0.1", "192.168.0.1", "3232235521",
    "0300.0250.0.1", "169.254.169.254", "0xA9FEA9FE", "[::ffff:169.254.169.254]", "100.64.0.1", "198.18.0.1", "192.0.2.1", "255.255.255.255",
    "127.0.0.1@127.0.0.2", "127.0.0.1%2f@127.0.0.2", "127.0.0.1:18000@127.0.0.2", "127.0.0.1&@127.0.0.2", "localhost:18000%23@127.0.0.2",
    "127.0.0.2:{port}#@127.0.0.1:18000", "127.0.0.2:{port}\\@127.0.0.1:18000", "v4.test", "v6.test", "mapped.test", "metadata.test", "private.test", "zero.test",
    "both.test", "rebinds.test", "v4.test.", "V4.TEST",
)
# the kernel treats them as 127.0.0.1 and ::1
ZERO = ("0.0.0.0", "0", "zero.test")
NAMES = {"v4.test": [V4], "v6.test": ["::1"], "mapped.test": ["::ffff:127.0.0.2"], "metadata.test": ["169.254.169.254"],
         "private.test": ["10.0.0.1"], "zero.test": ["0.0.0.0"], "both.test": [ALLOWED, V4]}
WORDS = "<p>" + "The harbour office says which boats sail and when the next tide comes in. " * 8 + "</p>"
FEED = "<rss version='2.0'><channel><title>f</title>{}</channel></rss>"
URLSET = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{}</loc></url></urlset>"
INDEX = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>{}</loc></sitemap></sitemapindex>"


def page(head="", body=WORDS):
    return f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>"


def robots(line):
    return f"User-agent: *\nDisallow:\n{line}\n"


# vector → function of (server, host, target) that creates the pages of a host
VECTORS = {}


def vector(name):
    def register(function):
        VECTORS[name] = function
        return function
    return register


def in_page(name, head="", body="", words=WORDS):
    """A vector in the markup of a page, with {} for the target. Without words the crawl also tries other sources of the page's text."""
    @vector(name)
    def set_up(server, host, target):
        server.add((host, "/"), page(head.replace("{}", target), body.replace("{}", target) + words))


in_page("link", body="<a href='{}'>x</a>")
in_page("meta refresh", head="<meta http-equiv=refresh content='0; url={}'>", words="")
in_page("canonical", head="<link rel=canonical href='{}'>")
in_page("base", head="<base href='{}'>", body="<a href='relative'>x</a>")
in_page("frame and embedded", body="<iframe src='{}'></iframe><frame src='{}'><img src='{}'><script src='{}'></script><object data='{}'></object>"
        "<embed src='{}'><link rel=stylesheet href='{}'><style>@import '{}';</style><video src='{}'></video><form action='{}'></form>")
in_page("amp", head="<link rel=amphtml href='{}'>", body="<div id=root></div><noscript>Enable JavaScript</noscript><script src=/app.js></script>", words="")
in_page("alternate, next, oembed", head="<link rel=alternate hreflang=de href='{}'><link rel=next href='{}'>"
        "<link rel=alternate type='application/json+oembed' href='{}'><link rel=alternate media='only screen and (max-width: 640px)' href='{}'>")
in_page("feed of a page", head="<link rel=alternate type='application/rss+xml' href='{}'>")


@vector("seed")
def seed(server, host, target): pass
@vector("redirect")
def redirect(server, host, target): server.add((host, "/"), status=302, Location=target)
@vector("redirect, 2 hops")
def redirect_twice(server, host, target):
    server.add((host, "/"), status=301, Location="/hop")
    server.add((host, "/hop"), status=307, Location=target)
@vector("Refresh and Link header")
def headers(server, host, target): server.add((host, "/"), page(), Refresh=f"0; url={target}", Link=f"<{target}>; rel=canonical, <{target}>; rel=next")
@vector("entry of a feed")
def entry(server, host, target):
    server.add((host, "/"), page("<link rel=alternate type='application/rss+xml' href='/feed'>"))
    server.add((host, "/feed"), FEED.format(f"<item><title>x</title><link>{target}</link></item>"), "application/rss+xml")
@vector("robots.txt redirect")
def robots_redirect(server, host, target):
    server.add((host, "/robots.txt"), status=302, Location=target)
    server.add((host, "/"), page())
@vector("sitemap line")
def sitemap_line(server, host, target):
    server.add((host, "/robots.txt"), robots(f"Sitemap: {target}"), "text/plain")
    server.add((host, "/"), page())
@vector("sitemap")
def sitemap(server, host, target):
    server.add((host, "/robots.txt"), robots(f"Sitemap: http://{host}:{server.port}/map.xml"), "text/plain")
    server.add((host, "/map.xml"), URLSET.format(target.replace("&", "&amp;")), "application/xml")
    server.add((host, "/"), page())
@vector("sitemap index")
def sitemap_index(server, host, target):
    sitemap(server, host, target)
    server.add((host, "/map.xml"), INDEX.format(target.replace("&", "&amp;")), "application/xml")
@vector("sitemap redirect")
def sitemap_redirect(server, host, target):
    sitemap(server, host, target)
    server.add((host, "/map.xml"), status=302, Location=target)
@vector("opt-out file redirect")
def opt_out(server, host, target):
    for path in ("/ai.txt", "/.well-known/tdmrep.json"):
        server.add((host, path), status=302, Location=target)
    server.add((host, "/"), page())


def run(binary, folder):
    return isolated("ssrf", binary, folder)


def urls():
    for number, notation in enumerate(NOTATIONS):
        port = FIRST + number
        authority = notation.format(port=port) if "{port}" in notation else f"{notation}:{port}"
        yield f"http://{authority}/canary/{number}"


def crawl(binary, folder, seeds, allowed):
    """Runs a crawl to its end; returns its messages."""
    folder.mkdir()
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
    words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl", "--scope", "any",
             "--strategy", "auto", "--delay", "0s", "--proxy", "none", "--chrome", "/nonexistent/chromium", "--depth", "2", "--max-time", f"{LIMIT}s"]
    for network in allowed:
        words += ["--allow-address", network]
    environment = {**os.environ, "CRAWL_FETCH_RETRIES": "0", "CRAWL_POLITENESS_ADDRESS_SHARE": "0", "CRAWL_FETCH_CONNECT_TIMEOUT": "3s",
                   "CRAWL_CRAWL_SOFT404": "false", "CRAWL_FETCH_READ_TIMEOUT": "5s"}
    ended = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT + 30)
    return ended.stderr


def forbidden(hits):
    """Evidence by notation number, from hits at forbidden addresses."""
    found = {}
    for port, address, said in hits:
        if address != ALLOWED or NOTATIONS[port - FIRST] in ZERO:
            found.setdefault(port - FIRST, f"{address}:{port} got {said.splitlines()[0] if said else 'a connection'}")
    return found


def attack(binary, folder):
    turns = {"rebinds.test": 0}

    def answers(name):
        if name == "rebinds.test":
            turns[name] += 1
            return [ALLOWED] if turns[name] % 2 else [V4]
        return NAMES.get(name, [ALLOWED] if name.endswith(".good.test") else None)

    Names(answers)
    canaries = Canaries(FIRST, len(NOTATIONS))
    server = Pages(SITE)
    for at, (name, set_up) in enumerate(VECTORS.items()):
        server.answers.clear()
        seeds = []
        for number, target in enumerate(urls()):
            host = f"s{number}.v{at}.good.test"
            set_up(server, host, target)
            seeds.append(target if name == "seed" else f"http://{host}:{SITE}/")
        crawl(binary, folder / f"{at}", seeds, [f"{ALLOWED}/32"])
        found = forbidden(canaries.take())
        # the control: an attack that reaches no target even if all is allowed proves little
        crawl(binary, folder / f"{at}-control", seeds, ["0.0.0.0/0", "::/0"])
        reached = forbidden(canaries.take())
        for number, notation in enumerate(NOTATIONS):
            held = "held, reaches its canary where all is allowed" if number in reached else "held"
            yield Attempt(f"SSRF: {name}", notation, number in found, found.get(number, held))
