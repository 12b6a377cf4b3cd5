"""More sites of benches/odd_sites.py: robots.txt, redirects, URLs, traps and servers. Keys as in benches/odd_sites_data.py."""
import random

from odd_sites_data import A, SITES, gap, leaves, site, text, to
from odd_sites_server import page


def robots(name, why, body, want="/ /a", avoid="/b", **more):
    answer = body if callable(body) or not isinstance(body, (str, bytes)) else A(body, kind="text/plain")
    site(f"robots-{name}", why, {"/robots.txt": answer, "/": page("/", "/a", "/b"), **leaves("/a", "/b")}, want, avoid=avoid, **more)


# ---- robots.txt
robots("bom", "a byte order mark", "\ufeffUser-agent: *\nDisallow: /b\n")
robots("cr", "CR line ends", "User-agent: *\rDisallow: /b\r")
robots("utf16", "UTF-16", "User-agent: *\nDisallow: /b\n".encode("utf-16"))
robots("500", "500", A("no", 500), want="", avoid="/ /a /b", code=4, says=["robots"])
robots("429", "429", A("no", 429), want="", avoid="/ /a /b", code=4, says=["robots"])
robots("429-once", "429 once", lambda r: A("no", 429) if not r.before else text("User-agent: *\nDisallow: /b"))
robots("403", "403 allows all", A("no", 403), want="/ /a /b", avoid="")
robots("moved", "a redirect on the host", to("/r2.txt", 301))
SITES["robots-moved"]["pages"]["/r2.txt"] = text("User-agent: *\nDisallow: /b")
robots("moved-host", "a redirect to another host", lambda r: to(r.url("/r.txt", "robots-there")), hosts=["robots-there"])
SITES["robots-there"] = {"why": "", "pages": {"/r.txt": text("User-agent: *\nDisallow: /b")}, "want": "", "hidden": True}
robots("loop", "a redirect loop allows all", to("/robots.txt"), want="/ /a /b", avoid="")
robots("html", "an HTML page allows all", page("robots"), want="/ /a /b", avoid="")
robots("large", "600 KB with the rule first", "User-agent: *\nDisallow: /b\n" + "# filler\n" * 70_000)
robots("delay", "Crawl-delay 0.5", "User-agent: *\nCrawl-delay: 0.5\nDisallow: /b\n", check=gap(0.45))
robots("delay-day", "Crawl-delay of a day", "User-agent: *\nCrawl-delay: 86400\n", want="", code=4, avoid="/ /a /b", says=["86400|a day"])
robots("delay-long", "Crawl-delay of 100 seconds is capped, which is said", "User-agent: *\nCrawl-delay: 100\nDisallow: /b\n", settings={"POLITENESS_MAX_CRAWL_DELAY": "1s"})
robots("equal", "Allow and Disallow of equal length", "User-agent: *\nDisallow: /a\nAllow: /a\nDisallow: /b\n")
robots("stars", "* and $", "User-agent: *\nDisallow: /*b$\nAllow: /a*\n")
robots("groups", "several groups of one agent", "User-agent: crawl\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n\nUser-agent: crawl\nDisallow: /b\n")
robots("case", "names in other case", "USER-AGENT: CRAWL/1.0\nDISALLOW: /b\n")
robots("percent", "percent-encoding", "User-agent: *\nDisallow: /%62\n")
robots("noindex", "lines noindex have no effect", "User-agent: *\nNoindex: /a\nDisallow: /b\n")
robots("empty", "an empty Disallow", "User-agent: *\nDisallow:\n", want="/ /a /b", avoid="")
robots("nul", "NULs and control characters", b"User-agent: *\x00\nDisallow: /b\x00\n")
robots("spaces", "spaces before colons, tabs, comments", "  User-agent :\t*  # all\n\tDisallow : /b # b\n")
robots("no-group", "rules without a group", "Disallow: /b\n", want="/ /a", more=True, avoid="")
robots("url", "a rule that is a URL matches no path, as for Google", lambda r: text(f"User-agent: *\nDisallow: {r.url('/b')}\n"), want="/ /a /b", avoid="")
robots("slow", "robots.txt after 2 seconds", A("User-agent: *\nDisallow: /b\n", wait=2, kind="text/plain"))
robots("all", "all is forbidden", "User-agent: *\nDisallow: /\n", want="", avoid="/ /a /b", code=4, says=["robots"])
robots("seed", "the seed is forbidden, its pages are not", "User-agent: *\nDisallow: /$\n", want="", avoid="/", code=4, says=["robots"], more=True)
site("x-robots", "X-Robots-Tag of agents", {"/": page("/", "/other", "/ours", "/none"), "/other": A(page("/other"), headers=("X-Robots-Tag: otherbot: noindex",)), "/ours": A(page("/ours", "/under"), headers=("X-Robots-Tag: crawl: noindex",)), "/none": A(page("/none", "/hidden"), headers=("X-Robots-Tag: none",)), **leaves("/under", "/hidden")}, "/ /other /under", avoid="/hidden")
site("meta-robots", "meta robots of agents", {"/": page("/", "/other", "/ours", "/nofollow", "/all"), "/other": page("/other", head="<meta name=googlebot content=noindex>"), "/ours": page("/ours", "/under", head="<meta name=Crawl content='NOINDEX, follow'>"), "/nofollow": page("/nofollow", "/hidden", head="<meta content='nofollow' name='ROBOTS'>"), "/all": page("/all", head="<meta name=robots content=all>"), **leaves("/under", "/hidden")}, "/ /other /under /nofollow /all", avoid="/hidden")
site("nofollow", "links of rel=nofollow", {"/": page("/", "/a", body="<a rel='NoFollow noopener' href=/b>b</a>"), **leaves("/a", "/b")}, "/ /a", avoid="/b")

# ---- canonical links
for name, target in (("host", "http://elsewhere.test/x"), ("404", "/nowhere"), ("home", "/"), ("bad", "http://[")):
    site(f"canonical-{name}", f"all pages have the canonical URL {target}", {path: page(path, "/a", "/b", head=f'<link rel=canonical href="{target}">') for path in ("/", "/a", "/b")}, "/ /a /b", most=4)
site("canonical-loop", "two pages that are each other's canonical", {"/": page("/", "/a", "/b"), "/a": page("/a", head="<link rel=canonical href=/b>"), "/b": page("/b", head="<link rel=canonical href=/a>")}, "/ /a /b", most=3)

# ---- redirects
site("chain-9", "nine redirects", {"*": lambda r: to(f"/{int(r.path[1:]) + 1}"), "/9": page("/9"), "/": to("/1")}, "/9", most=10)
site("chain-12", "twelve redirects", {"*": lambda r: to(f"/{int(r.path[1:]) + 1}"), "/12": page("/12"), "/": to("/1")}, "", code=4, most=11, says=["more than 10 redirects"])
site("cookie-loop", "a page needs its cookie: the message names --cookies", {"/": lambda r: page("/") if "k=1" in r.headers.get("cookie", "") else A("", 302, ("Location: /", "Set-Cookie: k=1; Path=/"))}, "", code=4, most=2, says=["--cookies"])
site("cookie-loop-kept", "the same with --cookies", SITES["cookie-loop"]["pages"], "/", flags=["--cookies"], most=2)
site("cookie-second", "the second page needs the cookie of the first", {"/": A(page("/", "/a"), headers=("Set-Cookie: s=1",)), "/a": lambda r: page("/a") if "s=1" in r.headers.get("cookie", "") else A("cookies, please", 403)}, "/ /a", flags=["--cookies"])
site("consent", "a consent wall with redirect and cookie", {"/": lambda r: page("/", "/a") if "ok" in r.headers.get("cookie", "") else to("/consent?back=/"), "/a": lambda r: page("/a") if "ok" in r.headers.get("cookie", "") else to("/consent?back=/a"), "/consent?back=/": A("", 302, ("Location: /", "Set-Cookie: c=ok; Path=/")), "/consent?back=/a": A("", 302, ("Location: /a", "Set-Cookie: c=ok; Path=/"))}, "/ /a", flags=["--cookies"], most=6)
site("apex", "www leads to the apex, whose links name www", {"/": lambda r: to(r.url("/", "apex"), 301) if r.site != "apex" else page("/", r.url("/a", "www.apex")), "/a": lambda r: to(r.url("/a", "apex"), 301) if r.site != "apex" else page("/a")}, "/ /a", seeds=["http://www.apex.test:{port}/"], hosts=["www.apex"])
site("slash-loop", "/a leads to /a/ and back", {"/": page("/", "/a", "/b"), "/a": to("/a/"), "/a/": to("/a"), "/b": page("/b")}, "/ /b", most=5)
site("redirect-forms", "odd Locations", {"/": page("/", *(f"/r{n}" for n in range(14))), "/r0": to("/t0#part"), "/r1": to("t1"), "/r2": to("../../t2"), "/r3": to("/t 3"), "/r4": to("/té4"), "/r5": to("?q=5"), "/r6": lambda r: to(f"//redirect-forms.test:{r.port}/t6"), "/r7": to("  /t7  "), "/r8": to("/t%e9"), "/r9": to("/t9", 303), "/r10": to("/t10", 307), "/r11": to("/t11", 308), "/r12": to("/t12", 300, "choices"), "/r13": to("\\t13"),
     **leaves("/t0", "/t1", "/t2", "/t%203", "/t%C3%A94", "/r5?q=5", "/t6", "/t7", "/t%E9", "/t9", "/t10", "/t11", "/t12", "/t13")}, "/ /t0 /t1 /t2 /t%203 /t%C3%A94 /t6 /t7 /t%E9 /t9 /t10 /t11 /t12 /t13", more=True)
site("redirect-latin", "a Location in Latin-1", {"/": page("/", "/r"), "/r": b"HTTP/1.1 302 Found\r\nLocation: /t\xe9\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "*": lambda r: page(r.path) if r.path == "/t%E9" else A("no", 404)}, "/ /t%E9", more=True)
site("redirect-no-location", "302 with a page and without Location", {"/": page("/", "/a"), "/a": A(page("/a"), 302)}, "/", says=["bad_redirect"])
site("choices", "300 with a body and no Location", {"/": page("/", "/a"), "/a": A(page("/a", "/b"), 300), "/b": page("/b")}, "/", more=True)
site("304-unasked", "304 without validators", {"/": page("/", "/a"), "/a": A("", 304)}, "/", most=3)
site("2xx", "201, 202, 203 with pages", {"/": page("/", "/1", "/2", "/3"), "/1": A(page("/1"), 201), "/2": A(page("/2"), 202), "/3": A(page("/3"), 203)}, "/ /1 /2 /3")
site("to-home", "missing pages lead to the home page", {"/": page("/", *(f"/old/{n}" for n in range(20))), "*": to("/", 301)}, "/", most=24)
site("seed-moved", "the seed has moved to another host", {"/": lambda r: to(r.url("/", "seed-new"), 301)}, "seed-new/ seed-new/a", hosts=["seed-new"], more=True)
SITES["seed-new"] = {"why": "", "pages": {"/": page("/", "/a"), "/a": page("/a")}, "want": "", "hidden": True}

# ---- URLs
site("spellings", "one page in many spellings", {"/": page("/", "/caf%C3%A9", "/caf%c3%a9", "/café", "//café", "/x/../café", "/./caf%C3%A9", "/café?", "/café#a", "/caf%C3%A9;jsessionid=A1B2"), "*": lambda r: page("café")}, "/ /caf%C3%A9", most=2)
site("parameters", "orders of parameters, sessions, campaigns", {"/": page("/", "/p?a=1&amp;b=2", "/p?b=2&amp;a=1", "/p?a=1&amp;b=2&amp;PHPSESSID=0123456789abcdef0123", "/p?a=1&amp;b=2&amp;sid=0123456789abcdef0123456789abcdef", "/p?a=1&amp;b=2&amp;utm_source=x", "/p?&amp;a=1&amp;&amp;b=2&amp;"), "*": lambda r: page("p")}, "/ /p?a=1&b=2", most=2)
site("sessions", "a new session id in each link", {"*": lambda r: page(r.path.split("?")[0], *(f"/{n}?PHPSESSID={random.randbytes(13).hex()}" for n in range(8)))}, "/ /0 /1 /2 /3 /4 /5 /6 /7", most=10)
site("session-paths", "a new session id in each path", {"/": lambda r: page("/", *(f"/s{random.randbytes(8).hex()}/{n}" for n in range(5))), "*": lambda r: page(r.path.split("/")[-1], *(f"/s{random.randbytes(8).hex()}/{n}" for n in range(5)))}, "/", more=True, most=260)
site("long", "URLs of 3,000 and of 5,000 characters", {"/": page("/", "/l?q=" + "a" * 3000, "/l?q=" + "b" * 5000), "*": lambda r: page(r.path)}, "/ /l?q=" + "a" * 3000, most=2)
site("backslash", "backslashes", {"/": page("/", "\\a", "/b\\c"), "/a": page("/a"), "/b/c": page("/b/c")}, "/ /a /b/c")
site("dot-host", "a dot at the end of the host", {"/": lambda r: page("/", f"http://dot-host.test.:{r.port}/a"), "/a": page("/a")}, "/ /a", most=2)
site("userinfo", "a user in a link", {"/": lambda r: page("/", f"http://me:pw@userinfo.test:{r.port}/a"), "/a": page("/a")}, "/ /a")
site("above", ".. above the root", {"/": page("/", "../../a", "/../b"), **leaves("/a", "/b")}, "/ /a /b")
site("xn--bcher-kva", "an IDN host", {"/": lambda r: page("/", f"http://BÜCHER.test:{r.port}/a"), "/a": page("/a")}, "/ /a", seeds=["http://bücher.test:{port}/"])
site("index-page", "/ and /index.html", {"/": page("/", "/index.html", "/a"), "/index.html": page("/", "/a"), "/a": page("/a")}, "/ /a", more=True, most=3)

# ---- traps
site("calendar", "an endless calendar", {"/": page("/", "/cal?month=2026-11"), "*": lambda r: page("calendar", *(f"/cal?month={y}-{m:02}" for y in (2020, 2026, 2031, 2050) for m in range(1, 13)))}, "/", more=True, most=120)
FACETS = ["color", "size", "brand", "price", "stock", "sale", "new", "rate", "ship", "age"]


def facets(request):
    path, _, query = request.path.partition("?")
    have = dict(part.split("=") for part in query.split("&") if "=" in part)
    links = ["/shop?" + "&amp;".join(f"{key}={value}" for key, value in sorted({**have, facet: "1"}.items())) for facet in FACETS]
    return page("shop", *links, *(f"/item/{n}" for n in range(10)))


site("facets", "1,024 combinations of facets that show the same items", {"/": page("/", "/shop"), "/shop": facets, "*": lambda r: facets(r) if r.path.startswith("/shop") else page(r.path)}, "/ /shop " + " ".join(f"/item/{n}" for n in range(10)), more=True, most=120)
site("growing", "relative links that grow", {"*": lambda r: page("same", "a/", "b/")}, "/", more=True, most=120)
site("random-links", "random links to pages of their own", {"*": lambda r: page(r.path, *(f"/{random.randbytes(5).hex()}" for _ in range(5)))}, "/", more=True, code=5, flags=["--limit", "100"], most=140)
site("random-same", "random links to one text", {"*": lambda r: page("same", *(f"/{random.randbytes(5).hex()}" for _ in range(5)))}, "/", more=True, most=260)
site("searches", "result pages that link to searches", {"*": lambda r: page("results", *(f"/search?q={random.choice('abcdefgh')}{r.served}{n}" for n in range(5)))}, "/", more=True, most=120)
site("sorts", "sort orders and print versions of one list", {"/": page("/", *(f"/list?sort={s}&amp;dir={d}&amp;print={p}" for s in ("name", "date", "price") for d in ("asc", "desc") for p in (0, 1))), "*": lambda r: page("list")}, "/", more=True, most=14)
site("pages", "endless pagination with one content", {"*": lambda r: page("list", f"/list?page={int((r.path.split('=') + ['0'])[1]) + 1}")}, "/", more=True, most=120)
site("pages-body", "the next page in Link headers, endless", {"*": lambda r: A(page("list"), headers=(f"Link: </list?page={int((r.path.split('=') + ['0'])[1]) + 1}>; rel=next",))}, "/", more=True, most=120)
site("soft-404", "missing pages with 200", {"/": page("/", "/a", "/gone"), "/a": page("/a"), "*": lambda r: "<title>Oops</title><h1>Page not found</h1><p>Sorry, the page that you looked for does not exist on this server."}, "/ /a", more=True, check=lambda asked, records: None if "soft_not_found" in records.get("/gone", {"warnings": ["soft_not_found"]})["warnings"] else "no warning")
site("login-wall", "all pages lead to the login", {"/": page("/", *(f"/p/{n}" for n in range(8))), "*": lambda r: page("login") if r.path.startswith("/login") else to(f"/login?next={r.path}")}, "/", more=True, most=20)
site("challenge", "403 with a challenge", {"*": A("<title>Just a moment...</title><p>Checking your browser", 403, ("Server: cloudflare", "cf-mitigated: challenge"))}, "", code=4, most=1, says=["challenge|browser|refuses"])
site("age-gate", "an age gate with 200", {"*": lambda r: "<title>Are you 18?</title><h1>Are you over 18?</h1><form method=post><button>Yes</button></form>" if r.path != "/" else page("/", "/a", "/b")}, "/", more=True, most=3)
