"""Runs of the binary in a separate folder, with secrets that must not be found afterwards."""
import os, signal, stat, subprocess, tempfile, uuid
from attempt import Attempt
from .search import contents, find

TIMEOUT = 60
# environment variables that a run may use
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}


class Case:
    """A folder, the secrets of its runs, and their output."""

    def __init__(self, binary, folder, name):
        self.binary, self.name, self.dir = binary, name, folder / name
        self.dir.mkdir()
        self.secrets, self.own, self.lines, self.shown_once = {}, set(), {}, ""

    def secret(self, name, ending=""):
        """A new secret. `ending` may hold characters that URLs percent-encode."""
        self.secrets[name] = f"cn{uuid.uuid4().hex[:14]}{ending}"
        return self.secrets[name]

    def file(self, name, text):
        """A file of the user, which may hold secrets."""
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.own.add(path)
        return str(path)

    def start(self, *args, umask=0o022, env=(), **more):
        # a file, since no thread reads a pipe while the process runs
        errors = tempfile.TemporaryFile()
        environment = ENVIRONMENT | {"HOME": str(self.dir), "XDG_STATE_HOME": str(self.dir / "xdg")} | dict(env)
        process = subprocess.Popen([self.binary, *args], cwd=self.dir, env=environment, umask=umask, stderr=errors,
                                   stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, **more)
        process.errors = errors
        return process

    @staticmethod
    def said(process):
        """Standard error of a process so far."""
        process.errors.seek(0)
        return process.errors.read()

    def end(self, process, stdin=None, stop=False):
        """Waits for a process and keeps its output."""
        if stop:
            process.send_signal(signal.SIGTERM)
        try:
            out, _ = process.communicate(stdin, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        err = self.said(process)
        process.errors.close()
        self.note("standard output", out)
        # the line that shows a generated token
        self.note("standard error", err.replace(self.shown_once.encode(), b"") if self.shown_once else err)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def note(self, place, data):
        self.lines.setdefault(place, []).append(data)

    def run(self, *args, **more):
        return self.end(self.start(*args, **more))

    def crawl(self, *args):
        """The arguments of a crawl without pauses, on loopback."""
        return ["--state-dir", "state", "--delay", "0s", "--allow-address", "127.0.0.0/8", "--strategy", "static", *args]

    def left(self):
        """Files that the runs left, by kind of place."""
        for path in sorted(self.dir.rglob("*")):
            if path.is_file() and not path.is_symlink() and path not in self.own:
                yield self.place(path), path

    def place(self, path):
        top = path.relative_to(self.dir).parts[0]
        known = {"state": "state", "state2": "state", "state3": "state", "warc": "archive", "xdg": "default folders", "out.jsonl": "records", "pages": "records",
                 "p.sqlite": "database of projects", "p.sqlite-wal": "database of projects"}
        if path.name == "lock":
            return "lock"
        return known.get(top, "other files")

    def leaks(self, allowed=()):
        """An attempt for each secret and place; `allowed` has exempt pairs."""
        places = {place: list(data) for place, data in self.lines.items()}
        for place, path in self.left():
            places.setdefault(place, []).extend(contents(path))
        for name, secret in self.secrets.items():
            for place, pieces in places.items():
                if (name, place) not in allowed:
                    found = find(secret, pieces)
                    yield Attempt(f"secrets: {place}", f"{self.name}: {name}", found is not None, found or "")

    def open_to_others(self, *names):
        """An attempt for each file and folder under some names: leaked if other users have any right to it."""
        for name in names:
            top = self.dir / name
            for path in sorted([top, *top.rglob("*")]):
                if path.exists():
                    yield self.rights(path)

    def rights(self, path):
        """Attempts to use a file or folder as another user."""
        mode = stat.S_IMODE(path.lstat().st_mode)
        kind = "folders" if path.is_dir() else "files"
        return Attempt(f"secrets: {kind} that others can read", f"{self.name}: {path.relative_to(self.dir)}",
                       bool(mode & 0o077), f"mode {mode:o}")

    def expect(self, condition, what):
        """Fails if a run did not reach the attacked state: its result would be meaningless."""
        if not condition:
            detail = b"\n".join(self.lines.get("standard error", [])).decode(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name}: {what}\n{detail}")
