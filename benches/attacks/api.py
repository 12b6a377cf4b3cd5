"""Forbidden requests to the REST API and to the MCP server: for addresses, files, data without a token, or the server's end.

A leak is a canary hit, content of a file, an answer without permission, a status of at least 500, a panic, or a timeout.
"""
import json, subprocess
import ssrf
from attempt import Attempt
from support.clients import Mcp, Rest, environment
from support.network import Canaries, Names, isolated
from support.pages import Pages

TOKEN, PROJECT, MARK = "a-token-that-nobody-knows", "harbour-papers", "7f3c9a1e"
MIB = 1 << 20
DEEP = "[" * 100_000


def run(binary, folder):
    return isolated("api", binary, folder)


def attack(binary, folder):
    Names(lambda name: ssrf.NAMES.get(name))
    canaries = Canaries(ssrf.FIRST, len(ssrf.NOTATIONS))
    server = Pages(ssrf.SITE)
    server.add("/", ssrf.page())
    secret = folder / "secret.txt"
    secret.write_text(f"The file of the user says {MARK}")
    database = folder / "projects.sqlite"
    words = [binary, "--seed", f"http://127.0.0.1:{ssrf.SITE}/", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl", "--project", PROJECT,
             "--database", str(database), "--quiet"]
    subprocess.run(words, env=environment(folder), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
    yield from mcp(binary, folder, database, canaries, server, secret)
    yield from rest(binary, folder, database)


# ---- MCP

def tools(secret):
    """(name, tool, arguments) of calls that must be refused, or must reveal nothing."""
    file = f"file://{secret}"
    for url in (file, f"file:{secret}", f"file://localhost{secret}", f"FILE://{secret}", f"view-source:{file}", f"ftp://127.0.0.1{secret}", "data:text/html,<p>x",
                f"jar:{file}!/", "gopher://127.0.0.1:70/_x", "javascript:alert(1)", "chrome://version", "about:blank", "unix:///run/x", "", " ", "http://", "http:///x",
                "http://[", "http://127.0.0.1:99999/", "http://127.0.0.1:-1/", "//127.0.0.2/", "http://\0/", "http://a\r\nHost: b/", "http://127.0.0.1:18000/" + "x" * MIB):
        yield f"crawl_url {url[:40]!r}", "crawl_url", {"url": url}
    for name in ("../../etc/passwd", str(secret), "x' OR '1'='1", "x'; DROP TABLE projects; --", "%", "_", "*", "", "\0", "x" * MIB, "../" * 1000, "\ud83d\ude00" * 1000, "-1", "9" * 400):
        yield f"get_source of project {name[:20]!r}", "get_source", {"project_id": name, "source": "x"}
        yield f"get_source of source {name[:20]!r}", "get_source", {"project_id": PROJECT, "source": name}
        yield f"analyze_boilerplate of {name[:20]!r}", "analyze_boilerplate", {"project_id": name}
        yield f"boilerplate_stats of domain {name[:20]!r}", "boilerplate_stats", {"project_id": PROJECT, "domain": name}
    yield "get_source of a file", "get_source", {"project_id": PROJECT, "source": file}
    for value in (None, True, -1, 1.5, 1e308, 2**64, [], {}, [[]], {"$ref": file}, "x"):
        yield f"max_chars {value!r}", "extract_page", {"html": "<p>x</p>", "max_chars": value}
        yield f"threshold_pct {value!r}", "analyze_boilerplate", {"project_id": PROJECT, "threshold_pct": value}
        yield f"url {value!r}", "crawl_url", {"url": value}
    html = {
        "entity of a file": f"<!DOCTYPE x [<!ENTITY e SYSTEM '{file}'>]><p>&e;</p>", "frame of a file": f"<iframe src='{file}'></iframe><p>x</p>",
        "include": f"<!--#include file='{secret}'--><p><xi:include href='{file}' parse='text'/></p>", "too large": "<p>x</p>" * MIB + "x" * MIB, "longer than a line": "<p>x</p>" * (2 * MIB),
        "deep": "<div>" * 300_000, "unclosed": "<a " * 200_000, "one attribute": "<p a='" + "x" * 4 * MIB, "no markup": "\0" * MIB, "entities": "&" * MIB,
        "template": "{{constructor}} ${7*7} <% x %>", "brackets": "[" * MIB, "angles": "<" * MIB, "backslashes": "\\" * MIB, "stars and underscores": "*_" * MIB, "semicolons": "&a;" * MIB,
    }
    for name, page in html.items():
        yield f"extract_page {name}", "extract_page", {"html": page, "url": file if "file" in name else "http://a.test/"}
    yield "extract_page url of a canary", "extract_page", {"html": "<base href='http://127.0.0.2:20000/'><img src=x><p>words</p>", "url": "http://127.0.0.2:20000/"}


def mcp(binary, folder, database, canaries, server, secret):
    settings = environment(folder)
    with Mcp(binary, settings, database) as client:
        targets = list(ssrf.urls())
        for number, target in enumerate(targets):
            server.add(f"/to/{number}", status=302, Location=target)
        calls = [("direct", url) for url in targets] + [("by redirect", f"http://127.0.0.1:{ssrf.SITE}/to/{number}") for number in range(len(targets))]
        for number, (way, url) in enumerate(calls):
            answer = client.call("tools/call", {"name": "crawl_url", "arguments": {"url": url}}, 30)
            calls[number] = (way, ssrf.NOTATIONS[number % len(targets)], answer, client.fault())
            if number == len(targets) - 1:
                direct = ssrf.forbidden(canaries.take())
        hits = [direct, ssrf.forbidden(canaries.take())]
        for number, (way, notation, answer, fault) in enumerate(calls):
            found = hits[number // len(targets)].get(number % len(targets)) or fault or (None if answer else "no answer")
            yield Attempt(f"MCP: SSRF {way}", notation, bool(found), found or "held")
        for name, tool, arguments in tools(secret):
            yield told("MCP: arguments", name, client, client.call("tools/call", {"name": tool, "arguments": arguments}), canaries)
        lines = {
            "no JSON": b"no json", "half": b'{"jsonrpc":"2.0","id":1,', "deep": DEEP.encode(), "batch": b"[" + b'{"jsonrpc":"2.0","id":"b","method":"ping"},' * 9999 + b"1]",
            "no method": b'{"jsonrpc":"2.0","id":7}', "id of an object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}', "long line": b'{"x":"' + b"x" * 16 * MIB + b'"}', "lone surrogate": b'{"jsonrpc":"2.0","id":"s","method":"\\ud800"}',
            "bytes": bytes(range(128, 256)), "NUL": b"\0" * 999, "second start": b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}',
            "cancel": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99999}}', "unknown": b'{"jsonrpc":"2.0","id":"u","method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
        }
        for name, line in lines.items():
            client.say(line)
            yield told("MCP: lines", name, client, client.call("ping", {}), canaries)


def told(vector, name, client, answer, canaries):
    fault = client.fault()
    if answer is None:
        # a too long line gets no answer, and the next one must be accepted
        fault = fault or (None if client.call("ping", {}, 2) and "longer" in name else "no answer")
    elif MARK in answer:
        fault = f"the file's words: {answer[:100]}"
    elif '"code":-32603' in answer:
        fault = f"an internal error: {answer[:200]}"
    hits = canaries.hits and canaries.take()
    return Attempt(vector, name, bool(fault or hits), fault or (f"canary: {hits[:1]}" if hits else "held"))


# ---- REST

def request(path="/api/v1/projects", method="GET", host="127.0.0.1", token=TOKEN, headers=(), body=b""):
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host is not None else []), *([f"Authorization: Bearer {token}"] if token is not None else []),
             *headers, *([f"Content-Length: {len(body)}"] if body else []), "Connection: close"]
    return "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body


def posted(value, kind="application/json", **more):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return request(method="POST", body=body, headers=[f"Content-Type: {kind}"], **more)


def endless(first, piece):
    yield first
    for _ in range(4096):
        yield piece


def without_right():
    """Requests that must be refused."""
    routes = [("GET", "/projects"), ("POST", "/projects"), ("GET", "/projects/1"), ("DELETE", "/projects/1"), ("GET", "/projects/1/domains"), ("GET", "/projects/1/sources"),
              ("POST", "/projects/1/analyze-boilerplate"), ("GET", "/projects/1/boilerplate-stats"), ("GET", "/jobs/1"), ("DELETE", "/jobs/1")]
    for method, path in routes:
        yield "no token", f"{method} {path}", request("/api/v1" + path, method, token=None)
    for token in ("", " ", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN + "\0", "null", "undefined", "*", "%", "' OR 1=1 --", "x" * 20_000):
        yield "token", repr(token[:30]), request(token=token)
    for name, lines in {"Basic": [f"Authorization: Basic {TOKEN}"], "two tokens": ["Authorization: Bearer x", f"Authorization: Bearer {TOKEN}"], "in a cookie": [f"Cookie: token={TOKEN}"],
                        "another header": [f"X-Authorization: Bearer {TOKEN}"], "proxy": [f"Proxy-Authorization: Bearer {TOKEN}"], "no scheme": [f"Authorization: {TOKEN}"]}.items():
        yield "token", name, request(token=None, headers=lines)
    yield "token", "in the query", request(f"/api/v1/projects?token={TOKEN}&access_token={TOKEN}", token=None)
    for host in ("evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "[::1].evil.test", "[::1]evil.test:80", "localhost:@evil.test", "localhost:80@evil.test", "127.0.0.1:@evil.test",
                 "evil.test:127.0.0.1", "evil.test#localhost", "evil.test/localhost", "localhost,evil.test", "localhost evil.test", "[127.0.0.1].evil.test", "[localhost].evil.test",
                 "evil.test:localhost", "127.0.0.1:x", "[::1", "::1]", ""):
        yield "Host", repr(host), request(host=host)
    yield "Host", "none", request(host=None)
    yield "Host", "two", request(headers=["Host: evil.test"])
    yield "Host", "absolute target", request("http://evil.test/api/v1/projects", host="evil.test", headers=["X-Forwarded-Host: localhost"])
    for origin in ("null", "http://evil.test", "http://localhost", "http://127.0.0.1:1", "file://", "http://127.0.0.1@evil.test", "http://127.0.0.1.evil.test", "", "127.0.0.1", "http://evil.test, http://127.0.0.1"):
        yield "Origin", repr(origin), request(headers=[f"Origin: {origin}"])
    for path in ("/api/v1/health/../projects", "/api/v1/health/%2e%2e/projects", "/api/v1/health%2f..%2fprojects", "//api/v1/projects", "/api/v1//projects", "/API/V1/projects", "/api/v1/health;/../projects",
                 "/api/v1/openapi.json/../projects", "/api/v1/projects/", "/api/v1/projects?/api/v1/health", "/api/v1/projects#/api/v1/health", "/./api/v1/projects", "/api/v1/projects%00", "/api/v1/projects/.",
                 "/api/v1/%70rojects", "http://127.0.0.1/api/v1/projects", "*"):
        yield "open path", path, request(path, token=None)
    smuggled = request(token=None).replace(b"Connection: close", b"X: y")
    for name, lines in {"both lengths": ["Content-Length: 4", "Transfer-Encoding: chunked"], "two lengths": ["Content-Length: 0", f"Content-Length: {len(smuggled)}"], "odd coding": ["Transfer-Encoding: xchunked"],
                        "folded": ["Transfer-Encoding:", " chunked"], "negative": ["Content-Length: -1"], "plus": ["Content-Length: +0"]}.items():
        yield "smuggled", name, request("/api/v1/health", "POST", token=None, headers=lines).replace(b"Connection: close", b"X: y") + b"0\r\n\r\n" + smuggled


def harmful(source):
    """Requests with a token that must be answered in time, without a server error, and without content of a file."""
    for path in ("/../secret.txt", "/../../../../../../etc/passwd", "/%2e%2e/%2e%2e/secret.txt", "/api/v1/..%2f..%2fsecret.txt", "/..\\..\\secret.txt", f"//{source}", f"/file://{source}", "/api/v1/projects/..%2f..%2fsecret.txt",
                 "/api/v1/projects/1/sources/..%2f..%2fsecret.txt", f"/api/v1/projects/1/sources/{source}", "/.git/config", "/projects.sqlite", "/serve-token", "/api/v1/projects/%00", "/api/v1/projects/" + "9" * 400, "/api/v1/projects/-1",
                 "/api/v1/projects/1%27", "/api/v1/projects/1;2", "/api/v1/projects/%F0%28%8C%28", "/" + "x" * 20_000, "/" + "%41" * 9_000, "/api/v1/projects/1/sources/" + "a/" * 5_000):
        yield "path", path[:60], request(path)
    for query in ("limit=-1", "limit=0", "limit=1e9", "limit=99999999999999999999", "limit=x", "limit=1&limit=2", "after=-1", "after=%00", "after[]=1", "domain='%20OR%201=1--", "domain=%", "domain=%F0%28", "source_groups='%3B--",
                  "x" * 9_000, "&" * 9_000, "a=b&" * 2_000, "source_groups=x&" * 2_000):
        yield "query", query[:40], request(f"/api/v1/projects/1/sources?{query}")
    for query in ("threshold_pct=NaN", "threshold_pct=inf", "threshold_pct=-0", "threshold_pct=1e999", "min_pages=99999999999999999999", "min_pages=-1", "min_pages=1.5", "min_block_chars=0", "mode=x", "mode=", "mode=exact&mode=site"):
        yield "query", query, request(f"/api/v1/projects/1/analyze-boilerplate?{query}", "POST")
    for name, value in {"number": {"name": 1}, "null": {"name": None}, "list": [], "text": "x", "empty": {"name": ""}, "long": {"name": "x" * 900_000}, "NUL": {"name": "\0"}, "surrogate": {"name": "\ud800"}, "path": {"name": "../../x"},
                        "injection": {"name": "x'); DROP TABLE projects; --"}, "controls": {"name": "\x1b]0;x\x07\u202e"}, "other keys": {"name": "a", "id": 1, "__proto__": {}}, "nothing": {}}.items():
        yield "body", name, posted(value)
    for name, value in {"deep": DEEP.encode(), "half": b'{"name":', "bytes": bytes(range(256)), "two names": b'{"name":"a","name":"b"}', "number": b'{"name":' + b"9" * 100_000 + b"}", "UTF-16": '{"name":"x"}'.encode("utf-16"),
                        "keys": b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}", "spaces": b" " * 900_000}.items():
        yield "body", name, posted(value)
    for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=utf-7", "", "x/" + "y" * 9_000):
        yield "type", kind[:30], posted({"name": f"of type {kind[:9]}"}, kind)
    yield "size", "16 MiB", posted(b'{"name":"' + b"x" * 16 * MIB + b'"}')
    yield "size", "length of 10^18", request(method="POST", headers=["Content-Type: application/json", "Content-Length: 1000000000000000000"]) + b"{"
    yield "size", "chunks without end", endless(request(method="POST", headers=["Content-Type: application/json", "Transfer-Encoding: chunked"]), b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")
    yield "size", "headers", request(headers=[f"X-{n}: y" for n in range(20_000)])
    yield "size", "one header", request(headers=["X: " + "y" * MIB])
    yield "size", "headers without end", endless(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X-Y: " + b"z" * 9_000 + b"\r\n")
    yield "size", "gzip bomb", posted(b"\x1f\x8b\x08" + bytes(9_000)).replace(b"Content-Type", b"Content-Encoding: gzip\r\nContent-Type")
    yield "size", "Prefer", request("/api/v1/projects/1/analyze-boilerplate", "POST", headers=["Prefer: respond-async, wait=99999999999999999999"])
    for method in ("TRACE", "CONNECT", "PUT", "PATCH", "OPTIONS", "PROPFIND", "get", "G" * 5_000, ""):
        yield "method", method[:20], request(method=method)
    for name, data in {"HTTP/0.9": b"GET /\r\n", "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "TLS": bytes.fromhex("16030100050100000100"), "bytes": bytes(range(256)) * 9, "version": b"GET / HTTP/9.9\r\n\r\n",
                       "bare newlines": b"GET /api/v1/health HTTP/1.1\nHost: localhost\n\n", "upgrade": request(headers=["Upgrade: h2c", "Connection: Upgrade"])}.items():
        yield "protocol", name, data


def status(answer):
    first = answer.split(b"\r\n", 1)[0].split(b" ")
    return int(first[1]) if len(first) > 1 and first[1].isdigit() else 0


def server_fault(server, answer):
    return server.fault() or ("no answer" if answer is None else None)


def admitted(kind, answer):
    """Evidence that a request without permission was answered."""
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    # everybody may make the first of two requests on a connection
    fine = kind != "smuggled" and 200 <= status(answer) < 300
    if fine or PROJECT.encode() in answer or any(code >= 500 for code in statuses):
        return f"answered {statuses}"
    return None


def harmed(answer):
    """Evidence that a request got a file, a server error, or permission for pages of other sites."""
    marks = (MARK.encode(), b"root:x:", b"access-control-allow-origin")
    if status(answer) >= 500 or any(mark in answer.lower() for mark in marks):
        return f"answered {answer[:150]}"
    return None


def rest(binary, folder, database):
    with Rest(binary, environment(folder, CRAWL_SERVE_TOKEN=TOKEN, CRAWL_SERVE_TIMEOUT="5s"), database) as server:
        known = server.send(request())
        if status(known) != 200 or PROJECT.encode() not in known:
            yield Attempt("REST", "all", False, f"the API does not work: {known[:200]}", skipped=True)
            return
        for kind, name, data in without_right():
            fault = server_fault(server, answer := server.send(data)) or admitted(kind, answer)
            yield Attempt(f"REST: {kind}", name, bool(fault), fault or "held")
        for kind, name, data in harmful(folder / "secret.txt"):
            fault = server_fault(server, answer := server.send(data)) or harmed(answer)
            yield Attempt(f"REST: {kind}", name, bool(fault), fault or "held")
        alive = server.send(request())
        yield Attempt("REST: after all", "the server still answers", status(alive or b"") != 200, f"{(alive or b'')[:80]}")
