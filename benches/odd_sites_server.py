"""Server of the odd sites of benches/odd_sites.py: answers of benches/odd_sites_data.py by host and path.

An answer is a text (a page), bytes (sent as they are, after which the connection closes), an `Answer`, or a function of the
`Request` that returns one of these. Each site is a host NAME.test; the log of requests is kept by host.
"""
import collections, dataclasses, hashlib, random, socketserver, ssl, threading, time

REASONS = {200: "OK", 201: "Created", 202: "Accepted", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
           304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 403: "Forbidden", 404: "Not Found",
           406: "Not Acceptable", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}
# words of the texts of pages
WORDS = """harbour river bridge market winter garden letter engine village season window painter island valley school copper
ladder summer bakery museum timber orchard station weather morning captain forest mirror castle pocket silver kitchen lantern
journey meadow thunder basket feather chimney village saddle compass blanket gravel""".split()


@dataclasses.dataclass
class Answer:
    body: object = b""
    status: int = 200
    headers: tuple = ()
    kind: object = "text/html; charset=utf-8"
    # seconds before the head
    wait: float = 0
    close: bool = False


@dataclasses.dataclass
class Request:
    site: str
    port: int
    path: str
    headers: dict
    # requests of this path before this one, and of the site
    before: int
    served: int
    seconds: float

    def url(self, path="/", site=None, scheme="http"):
        return f"{scheme}://{site or self.site}.test:{self.port}{path}"


def prose(name, words=70):
    """A text of its own for each name."""
    chosen = random.Random(hashlib.sha256(name.encode()).digest())
    return " ".join(chosen.choice(WORDS) for _ in range(words)).capitalize() + "."


def page(name, *links, head="", body=""):
    """A page with a text of its own and links; `head` and `body` are HTML."""
    anchors = "".join(f'<p><a href="{link}">{prose(link, 4)}</a></p>' for link in links)
    return (f"<!DOCTYPE html><html><head><title>About {name}</title>{head}</head><body><main><h1>About {name}</h1>"
            f"<p>{prose(name)}</p><p>{prose(name + ' more')}</p>{body}{anchors}</main></body></html>")


class Sites:
    """The sites, and what was asked of them."""

    def __init__(self, sites):
        self.sites = sites
        self.asked = collections.defaultdict(list)
        self.lock = threading.Lock()
        self.began = {}

    def request(self, host, path, headers, port):
        site = host.rsplit(":", 1)[0].removesuffix(".").removesuffix(".test")
        with self.lock:
            now = time.monotonic()
            began = self.began.setdefault(site, now)
            before = sum(path == asked for asked, _ in self.asked[site])
            served = len(self.asked[site])
            self.asked[site].append((path, now - began))
        return Request(site, port, path, headers, before, served, now - began)

    def answer(self, request):
        site = self.sites.get(request.site.split(".")[-1] if request.site not in self.sites else request.site, {})
        paths = site.get("pages", {})
        found = paths.get(request.path)
        if found is None and request.path not in ("/robots.txt", "/ai.txt", "/.well-known/tdmrep.json", "/favicon.ico"):
            found = paths.get("*")
        while callable(found):
            found = found(request)
        if found is None:
            return Answer("<title>Not found</title><h1>Not found</h1>", 404)
        return Answer(found) if isinstance(found, str) else found


class Handler(socketserver.StreamRequestHandler):
    timeout = 30

    def handle(self):
        try:
            if self.server.tls:
                self.request = self.server.tls.wrap_socket(self.request, server_side=True)
                self.setup()
            while self.one():
                pass
        except (OSError, ValueError):
            pass

    def one(self):
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) < 2:
            return False
        headers = {}
        while (field := self.rfile.readline().strip()):
            name, _, value = field.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        sites = self.server.sites
        request = sites.request(headers.get("host", ""), line[1], headers, self.server.server_address[1])
        answer = sites.answer(request)
        if isinstance(answer, bytes):
            self.wfile.write(answer)
            return False
        if not isinstance(answer, Answer):
            # pieces, each with a pause before it
            for pause, piece in answer:
                time.sleep(pause)
                self.wfile.write(piece)
                self.wfile.flush()
            return False
        time.sleep(answer.wait)
        return self.send(answer)

    def send(self, answer):
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        head = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Odd')}", f"Content-Length: {len(body)}"]
        head += [f"Content-Type: {answer.kind}"] if answer.kind else []
        head += answer.headers
        head += ["Connection: close"] if answer.close else []
        # headers may hold bytes of UTF-8
        self.wfile.write("\r\n".join(head).encode("utf-8") + b"\r\n\r\n" + body)
        self.wfile.flush()
        return not answer.close


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def serve(sites, tls=None):
    """Starts a server at a free port of 127.0.0.1."""
    server = Server(("127.0.0.1", 0), Handler)
    server.sites, server.tls = sites, tls
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def tls_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
