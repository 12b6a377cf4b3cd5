"""Servers on loopback that request secrets and record what they get."""
import base64, http.server, socket, socketserver, struct, threading

PROSE = "<p>" + " ".join(f"Sentence {n} of the harbour log tells of wind, tide and boats." for n in range(30)) + "</p>"


class Server:
    """A combined web server and HTTP proxy. URLs in its pages have `page_secret` as their password, and robots.txt has `robots_secret`."""

    def __init__(self, page_secret="", robots_secret="", host="127.0.0.1"):
        outer = self
        self.robots_secret = robots_secret
        self.seen, self.hang = [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                status, kind, body, more = outer.answer(self.path.removeprefix("http://harbour.test"), page_secret)
                self.send_response(status)
                for name, value in more:
                    self.send_header(name, value)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def do_CONNECT(self):
                outer.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                self.send_response(502)
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Quiet((host, 0), Handler)
        self.port = self.server.server_address[1]
        self.origin = f"http://{host}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def with_user(self, user, password, path="/"):
        return f"http://{user}:{password}@127.0.0.1:{self.port}{path}"

    def answer(self, path, secret):
        html = "text/html; charset=utf-8"
        if path == "/robots.txt":
            return 200, "text/plain", f"User-agent: *\nSitemap: {self.with_user('map', self.robots_secret, '/map.xml')}\n", []
        if path == "/map.xml":
            urls = "".join(f"<url><loc>{self.with_user('loc', secret, f'/located/{n}')}</loc></url>" for n in range(2))
            return 200, "application/xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>', []
        if path == "/feed.xml":
            item = f"<item><title>x</title><link>{self.with_user('feed', secret, '/fed')}</link></item>"
            return 200, "application/rss+xml", f"<rss version='2.0'><channel><title>f</title>{item}</channel></rss>", []
        if path == "/hang":
            self.hang.wait(20)
        if path == "/away":
            return 302, html, "", [("Location", self.with_user("moved", secret, "/moved"))]
        if path == "/loop":
            return 302, html, "", [("Location", self.with_user("loop", secret, "/loop"))]
        if path == "/bad-location":
            return 302, html, "", [("Location", f"ftp://bad:{secret}@127.0.0.1/x")]
        if path == "/closed":
            return 401, html, "closed", [("WWW-Authenticate", 'Basic realm="x"')]
        if path in ("/gone", "/user-linked"):
            return 404, html, "gone", []
        more = [("Set-Cookie", f"sid={self.cookie}; Path=/")] if self.cookie else []
        return 200, html, self.page(path, secret), more

    cookie = ""

    def page(self, path, secret):
        url = lambda user, path: self.with_user(user, secret, path)
        links = "".join(f'<a href="{target}">harbour {n}</a> ' for n, target in enumerate(self.links(path, url)))
        head = ""
        if secret and path == "/":
            head = (f'<link rel="canonical" href="{url("canon", "/")}"><meta property="og:image" content="{url("og", "/i.png")}">'
                    f'<link rel="alternate" type="application/rss+xml" href="{url("feed", "/feed.xml")}">'
                    f'<meta property="og:url" content="{url("ogurl", "/")}">'
                    f'<link rel="amphtml" href="{url("amp", "/amp")}">')
        if secret and path == "/based":
            head = f'<base href="{url("base", "/")}">'
        image = f'<img src="{url("img", "/picture.png")}" alt="the harbour at noon" width="800" height="600">' if secret else ""
        return (f"<!doctype html><html lang=en><head><title>Log {path}</title>{head}</head><body><article><h1>Log {path}</h1>"
                f"{PROSE}{image}<p>{links}</p></article></body></html>")

    def links(self, path, url):
        if path != "/":
            return ["relative-" + path.strip("/").replace("/", "-") + "x"] if path == "/based" else []
        return ["/other", "/away", "/loop", "/bad-location", "/closed", "/gone", "/based", url("link", "/linked"),
                url("user", "/user-linked"), f"//{url('rel', '/scheme-relative').removeprefix('http://')}"]

    def got(self, header, value):
        return any(value in headers.get(header.lower(), "") for _, headers in self.seen)

    def got_basic(self, header, user, password):
        return self.got(header, base64.b64encode(f"{user}:{password}".encode()).decode())

    def close(self):
        self.hang.set()
        self.server.shutdown()
        self.server.server_close()


class Socks:
    """A SOCKS5 proxy that accepts a password and then refuses every connection."""

    def __init__(self):
        outer = self
        self.seen = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.settimeout(5)
                try:
                    self.talk()
                except OSError:
                    pass

            def talk(self):
                version, methods = struct.unpack("BB", self.request.recv(2))
                self.request.recv(methods)
                self.request.sendall(b"\x05\x02")
                outer.seen.append(self.request.recv(600))
                self.request.sendall(b"\x01\x00")
                self.request.recv(600)
                self.request.sendall(b"\x05\x02\x00\x01\0\0\0\0\0\0")

        class Threads(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
