"""Clients of `crawl serve` and `crawl mcp` that send any bytes."""
import json, os, pathlib, queue, signal, socket, subprocess, threading, time

LIMIT = 12


class Server:
    """A process that ends with its `with` block."""

    def __init__(self, words, environment, **pipes):
        self.messages = ""
        self.process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def drain(self):
        for line in self.process.stderr:
            self.messages += line.decode("utf-8", "replace")

    def fault(self):
        """Evidence that the process ended or that a thread of it panicked."""
        if self.process.poll() is not None:
            return f"the process ended with {self.process.returncode}"
        return "it panicked" if "panicked" in self.messages else None


class Rest(Server):
    """`crawl serve` at a free port."""

    def __init__(self, binary, environment, database):
        words = [binary, "serve", "--listen", "127.0.0.1:0", "--database", str(database)]
        super().__init__(words, environment, stdin=subprocess.DEVNULL)
        line = self.process.stderr.readline().decode()
        self.port = int(line.split("http://127.0.0.1:")[1].split(",")[0].split("/")[0].split()[0])
        threading.Thread(target=self.drain, daemon=True).start()

    def send(self, data, limit=LIMIT):
        """Sends bytes or pieces of them; returns the whole answer, or None if neither an answer nor an end came in time."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), limit) as connection:
            connection.settimeout(limit)
            try:
                for piece in [data] if isinstance(data, bytes) else data:
                    connection.sendall(piece)
            except OSError:
                # the answer may come before all was sent
                pass
            try:
                deadline = time.monotonic() + limit
                while time.monotonic() < deadline:
                    got = connection.recv(1 << 16)
                    if not got:
                        break
                    answer += got
            except TimeoutError:
                return answer or None
            except OSError:
                pass
        return answer


class Mcp(Server):
    """`crawl mcp` on pipes, after its first exchange."""

    def __init__(self, binary, environment, database):
        super().__init__([binary, "mcp", "--database", str(database)], environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines, self.count = queue.Queue(), 0
        threading.Thread(target=self.drain, daemon=True).start()
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attacks", "version": "1"}})
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def say(self, line):
        try:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def call(self, method, parameters, limit=LIMIT):
        """Answer to a request as text, or None if none came in time."""
        self.count += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": parameters}).encode())
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if json.loads(line).get("id") == self.count:
                return line.decode()
        return None


def environment(folder, **more):
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "CRAWL_POLITENESS_DELAY": "0s", "CRAWL_FETCH_ALLOW_ADDRESSES": "127.0.0.1/32", "CRAWL_FETCH_RETRIES": "0",
            "CRAWL_FETCH_PROXY": "none", "CRAWL_CRAWL_SOFT404": "false", "CRAWL_FETCH_READ_TIMEOUT": "5s", "CRAWL_CHROME_PATH": "/nonexistent/chromium", **more}
