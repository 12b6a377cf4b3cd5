"""A web server on loopback with answers as data."""
import http.server, threading


class Pages(http.server.ThreadingHTTPServer):
    """Answers by (host, path), or by path for every host: (status, headers, body). Other paths are 404. A function creates its body."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, address="127.0.0.1"):
        super().__init__((address, port), Handler)
        self.port, self.answers, self.asked = self.server_address[1], {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, where, body="", kind="text/html; charset=utf-8", status=200, **headers):
        lines = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[where] = (status, {"Content-Type": kind, **lines}, body if callable(body) else body.encode())

    def handle_error(self, request, client_address):
        """Ignores broken connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_GET(self):
        host = self.headers.get("Host", "").split(":")[0]
        path = self.path.split("?")[0]
        self.server.asked.append((host, self.path))
        missing = (404, {"Content-Type": "text/plain"}, b"no such page")
        answers = self.server.answers
        status, headers, body = answers.get((host, path)) or answers.get(path) or missing
        body = body() if callable(body) else body
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_POST = do_HEAD = do_GET

    def log_message(self, *_):
        """Records requests instead of printing them."""
