"""A separate network for a family: forbidden addresses are canaries on its loopback interface.

`isolated` runs the attacks of a module in a new network namespace. There `Network` assigns private addresses, addresses of
cloud metadata and those of the name servers to the loopback interface. No packet leaves the machine, and no rights are needed.
"""
import fcntl, json, os, pathlib, selectors, socket, struct, subprocess, sys, threading, time
from attempt import Attempt

ADDRESSES = ("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "198.18.0.1", "192.0.2.1", "8.8.8.8",
             "0.0.0.1", "255.255.255.255")
ADDRESSES_V6 = ("fd00::1", "64:ff9b::7f00:2", "2002:7f00:2::", "fe80::1", "::127.0.0.2", "2001:db8::1")
ALLOWED = "127.0.0.1"
SET_ADDRESS, SET_MASK, SET_FLAGS, UP_AND_RUNNING = 0x8916, 0x891C, 0x8914, 0x41
PATIENCE = 0.3
# variable with the namespace of the machine
OUTER, NAMESPACE = "ATTACKS_OUTER_NAMESPACE", "/proc/self/ns/net"
HERE = pathlib.Path(__file__).resolve().parent


def isolated(module, binary, folder):
    """Yields the attempts of `module.attack(binary, folder)`, which runs in its own network namespace."""
    words = ["unshare", "--map-root-user", "--net", sys.executable, str(HERE / "inside.py"), module, binary, str(folder)]
    try:
        process = subprocess.Popen(words, env={**os.environ, OUTER: os.readlink(NAMESPACE)}, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        yield Attempt(module, "all", False, f"no namespaces: {error}", skipped=True)
        return
    count = 0
    for line in process.stdout:
        count += 1
        yield Attempt(**json.loads(line))
    if process.wait() != 0:
        reason = f"the attacks ended with {process.returncode}: `unshare --map-root-user --net` has to work"
        yield Attempt(module, f"all after {count}", False, reason, skipped=True)


def name_servers():
    with open("/etc/resolv.conf") as lines:
        words = [line.split() for line in lines]
    return [line[1] for line in words if len(line) > 1 and line[0] == "nameserver" and ":" not in line[1]]


def set_up():
    """Starts the loopback interface of the namespace, and assigns the addresses. Refuses to do so in the machine's namespace."""
    if os.environ.get(OUTER, os.readlink(NAMESPACE)) == os.readlink(NAMESPACE):
        sys.exit("this is not a network namespace of its own")
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(control, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))
    for number, address in enumerate(dict.fromkeys([*ADDRESSES, *name_servers()])):
        if not address.startswith("127."):
            name = f"lo:{number}".encode()
            for request, value in ((SET_ADDRESS, address), (SET_MASK, "255.255.255.255")):
                fcntl.ioctl(control, request, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value)))
    try:
        control = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = socket.if_nametoindex("lo")
        for address in ADDRESSES_V6:
            fcntl.ioctl(control, SET_ADDRESS, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, address), 128, index))
    except OSError:
        print("IPv6 is off: its canaries cannot be hit", file=sys.stderr)
    add_interface()


def add_interface():
    """Adds an interface other than loopback: without one Chromium sends no datagram by WebRTC."""
    commands = ("link add site0 type veth peer name site1", "addr add 192.168.77.1/24 dev site0", "link set site0 up", "link set site1 up",
                "route add default dev site0")
    try:
        for words in commands:
            subprocess.run(["ip", *words.split()], check=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"WebRTC sends nothing here, whatever the browser allows: {error}", file=sys.stderr)


def plain(address):
    return address.removeprefix("::ffff:")


class Canaries:
    """Sockets on every address, for TCP and UDP, at ports from `first` on. Each hit is (port, local address, first bytes)."""

    def __init__(self, first, count):
        self.hits, self.selector, self.lock = [], selectors.DefaultSelector(), threading.Lock()
        for port in range(first, first + count):
            self.listen(port, socket.SOCK_STREAM, self.accept)
            self.listen(port, socket.SOCK_DGRAM, self.datagram)
        threading.Thread(target=self.serve, daemon=True).start()

    def listen(self, port, kind, handler):
        listener = socket.socket(socket.AF_INET6, kind)
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("::", port))
        if kind == socket.SOCK_STREAM:
            listener.listen(64)
        else:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        self.selector.register(listener, selectors.EVENT_READ, handler)

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def accept(self, listener):
        connection, _ = listener.accept()
        local = connection.getsockname()
        threading.Thread(target=self.converse, args=(connection, plain(local[0]), local[1]), daemon=True).start()

    def converse(self, connection, address, port):
        with connection:
            connection.settimeout(PATIENCE)
            try:
                said = connection.recv(300)
                self.note(port, address, said)
                body = b"<title>canary</title><p>This text is a secret of the canary, which no crawl may read.</p>"
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\n"
                                   b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
            except OSError:
                self.note(port, address, b"a connection without a request")

    def datagram(self, listener):
        said, ancillary, _, _ = listener.recvmsg(2048, 64)
        local = socket.inet_ntop(socket.AF_INET6, ancillary[0][2][:16])
        self.note(listener.getsockname()[1], plain(local), b"UDP " + said[:40])

    def note(self, port, address, said):
        with self.lock:
            self.hits.append((port, address, "".join(chr(byte) if 32 <= byte < 127 or byte == 10 else "." for byte in said)))

    def take(self):
        """Hits since the last call, including those in transit."""
        time.sleep(PATIENCE)
        with self.lock:
            hits, self.hits = self.hits, []
        return hits


class Names:
    """A name server at every address. `answers(name)` returns the addresses of a name; each query is recorded."""

    def __init__(self, answers):
        self.answers, self.queries, self.lock = answers, [], threading.Lock()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("0.0.0.0", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            question, peer = self.socket.recvfrom(2048)
            try:
                self.answer(question, peer)
            except (IndexError, struct.error, UnicodeDecodeError, OSError):
                continue

    def answer(self, question, peer):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        name = ".".join(labels).lower()
        kind = struct.unpack_from(">H", question, at + 1)[0]
        with self.lock:
            self.queries.append(name)
        found = self.answers(name) or []
        family, length = {1: (socket.AF_INET, 4), 28: (socket.AF_INET6, 16)}.get(kind, (None, 0))
        wanted = [address for address in found if family == (socket.AF_INET6 if ":" in address else socket.AF_INET)]
        data = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, length) + socket.inet_pton(family, address) for address in wanted)
        flags = 0x8180 if found else 0x8183
        head = question[:2] + struct.pack(">HHHHH", flags, 1, len(wanted), 0, 0)
        self.socket.sendto(head + question[12:at + 5] + data, peer)

    def take(self):
        with self.lock:
            queries, self.queries = self.queries, []
        return queries
