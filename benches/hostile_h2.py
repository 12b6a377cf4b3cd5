"""A faulty server of HTTP/2 over TLS, for hostile_server.py. The first label of the host selects the fault.

The first request of a host, for robots.txt, is answered with 404. Floods end after some seconds, or when the crawler hangs up.
"""
import socketserver, ssl, struct, subprocess, threading, time

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
ACK = END_STREAM = 0x1
END_HEADERS = 0x4
REFUSED_STREAM = 0x7
PREFACE = 24
LONGEST = 6
BODY = b"<!doctype html><title>A page</title><p>Everything is fine here, and the words of this page come over the second version of the protocol."
# `:status` 404 and 200 of the static table, and `content-type` as a literal
MISSING, FINE = b"\x8d", b"\x88\x0f\x10\x09text/html"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def page(stream):
    return frame(HEADERS, END_HEADERS, stream, FINE) + frame(DATA, END_STREAM, stream, BODY)


def flood(pieces):
    """Sends the same frames repeatedly."""
    def behave(send, stream):
        until = time.monotonic() + LONGEST
        block = pieces(stream) * 200
        while time.monotonic() < until:
            send(block)
    return behave


def after(first, pieces):
    """Sends frames of a stream once, and others without end."""
    def behave(send, stream):
        send(first(stream))
        flood(pieces)(send, stream)
    return behave


def once(pieces):
    return lambda send, stream: send(pieces(stream))


head = lambda stream: frame(HEADERS, END_HEADERS, stream, FINE)
# label → (expected behaviour of a good crawler, frames for a request)
HOSTS = {
    "fine": ("a record", once(page)),
    "refused": ("retried after the backoff, then one error", once(lambda s: frame(RST_STREAM, 0, s, struct.pack(">I", REFUSED_STREAM)))),
    "goaway": ("retried after the backoff, then one error", once(lambda s: frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0)))),
    "cut": ("never taken as complete", once(lambda s: head(s) + frame(DATA, 0, s, BODY) + frame(RST_STREAM, 0, s, struct.pack(">I", 2)))),
    "pings": ("given up, in bounded CPU", flood(lambda s: frame(PING, 0, 0, bytes(8)))),
    "settings": ("given up, in bounded CPU", flood(lambda s: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)))),
    "windows": ("given up, in bounded CPU", flood(lambda s: frame(WINDOW_UPDATE, 0, s, struct.pack(">I", 1)))),
    "priorities": ("given up, in bounded CPU", flood(lambda s: frame(PRIORITY, 0, s + 2, bytes(5)))),
    "unknown": ("given up, in bounded CPU", flood(lambda s: frame(0xEE, 0, s, bytes(9)))),
    "empty": ("given up, in bounded CPU", after(head, lambda s: frame(DATA, 0, s))),
    "continued": ("given up, in bounded memory", after(lambda s: frame(HEADERS, 0, s, FINE), lambda s: frame(CONTINUATION, 0, s, b"\x0f\x2b\x7f\x80\x01" + b"x" * 255))),
    "table": ("an error in bounded memory", once(lambda s: frame(HEADERS, END_HEADERS, s, b"\x88\x40\x01a\x7f\x80\x1f" + b"v" * 4095 + b"\xbe" * 12_000))),
    "long": ("an error, nothing is allocated", once(lambda s: b"\xff\xff\xff" + bytes([DATA, 0]) + struct.pack(">I", s))),
    "pushed": ("an error", once(lambda s: frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", 2) + b"\x82\x86\x84") + page(s))),
    "silent": ("given up", lambda send, s: time.sleep(LONGEST)),
}
streams, lock = {}, threading.Lock()


class Connection(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.settimeout(30)
        try:
            with self.server.context.wrap_socket(self.request, server_side=True) as self.tls:
                self.converse()
        except (OSError, ValueError):
            pass

    def read(self, count):
        data = b""
        while len(data) < count:
            got = self.tls.recv(count - len(data))
            if not got:
                raise OSError("the crawler hung up")
            data += got
        return data

    def converse(self):
        if self.tls.selected_alpn_protocol() != "h2":
            return
        label = self.server.names.pop(id(self.tls), "fine").split(".")[0]
        self.read(PREFACE)
        self.tls.sendall(frame(SETTINGS))
        while True:
            head = self.read(9)
            length, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
            payload = self.read(length)
            if kind == SETTINGS and not flags & ACK:
                self.tls.sendall(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self.tls.sendall(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                with lock:
                    streams[label] = streams.get(label, 0) + 1
                    first = streams[label] == 1
                if first:
                    self.tls.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, MISSING))
                else:
                    HOSTS[label][1](self.tls.sendall, stream)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self, address, folder):
        """Creates a certificate in the folder by openssl; raises OSError without it."""
        self.certificate, key = f"{folder}/h2.pem", f"{folder}/h2.key"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=h2.test",
                 "-addext", "subjectAltName=DNS:*.h2.test", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", self.certificate]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.names, self.context = {}, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.context.sni_callback = lambda tls, name, _: self.names.__setitem__(id(tls), name or "fine")
        super().__init__(address, Connection)

    def handle_error(self, request, client_address):
        """Ignores broken connections."""


def start(address, folder):
    server = Server(address, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
