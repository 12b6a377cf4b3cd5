"""Another local user against a crawl with a browser, and against `crawl serve`: files, processes, ports and sockets.

The crawl runs as one unprivileged user with a common umask, and the attacks as another one. So this family needs root.
"""
import json, os, pathlib, signal, socket, stat, subprocess, threading, time
from attempt import Attempt
from support.pages import Pages

USER, OTHER = 61001, 61002
SECRET = "7f3c9a1e-secret"
PATIENCE = 40
# page that keeps the browser busy
PAGE = "<!doctype html><title>t</title><div id=o></div><script>localStorage.s = '7f3c9a1e-secret'; fetch('/slow').then(r => r.text()).then(t => o.append(t))</script>"


def run(binary, folder):
    if os.geteuid() != 0:
        return [Attempt("local user", "all", False, "needs root", skipped=True)]
    return attack(binary, folder)


def drop(uid):
    """Switches this process to the user."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o022)


def as_other(function, *arguments):
    """Result of a function in a process of the other user."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            drop(OTHER)
            found = function(*arguments)
        except Exception as error:
            found = f"the attack failed: {error!r}"
        with os.fdopen(write, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(found)


def processes(group):
    """Ids of the user's processes, of crawl and browser."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == group:
                found.append(entry.name)
        except OSError:
            continue
    return found


# ---- attacks: each returns evidence, or none

def below(path):
    """Listable folders from a path on, each with its files."""
    for folder, _, names in os.walk(path):
        yield folder, [os.path.join(folder, name) for name in names]


def readable(*paths):
    """The first readable file below the paths."""
    for file in [*paths, *(file for path in paths for _, files in below(path) for file in files)]:
        try:
            if stat.S_ISREG(os.stat(file).st_mode):
                with open(file, "rb") as opened:
                    opened.read(1)
                return f"{file} was read"
        except OSError:
            continue
    return None


def listed(*paths):
    for path in paths:
        try:
            names = os.listdir(path)
            return f"{path} was listed: {names[:3]}" if names else None
        except OSError:
            continue
    return None


def writable(*paths):
    for folder in [*paths, *(folder for path in paths for folder, _ in below(path))]:
        try:
            (pathlib.Path(folder) / "planted").write_text("x")
            return f"a file was planted in {folder}"
        except OSError:
            continue
    return None


def in_proc(pids, name, mark=None):
    for pid in pids:
        try:
            data = pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
        except OSError:
            continue
        if data and (mark is None or mark.encode() in data):
            return f"/proc/{pid}/{name} was read"
    return None


def links(pids):
    for pid in pids:
        for name in ("root", "cwd", "exe", "fd/0", "fd/3"):
            try:
                return f"/proc/{pid}/{name} leads to {os.readlink(f'/proc/{pid}/{name}')}"
            except OSError:
                continue
    return None


def ports():
    """TCP ports on which the user listens."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[7]) == USER:
                    yield int(fields[1].rsplit(":", 1)[1], 16)


def asked(request, marks):
    for port in ports():
        try:
            with socket.create_connection(("127.0.0.1", port), 2) as connection:
                connection.sendall(request)
                answer = connection.recv(1 << 16)
        except OSError:
            continue
        if any(mark in answer for mark in marks):
            return f"port {port} answered {answer[:80]!r}"
    return None


def debugging():
    return asked(b"GET /json/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", [b"webSocketDebuggerUrl", b"Browser"])


def proxy(port):
    plain = f"GET http://127.0.0.1:{port}/inside HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
    return asked(plain, [b"only for the crawl"])


def tunnel(port):
    return asked(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode(), [b" 200 "])


def sockets(names):
    for name in names:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect("\0" + name[1:] if name.startswith("@") else name)
                return f"connected to {name}"
            except OSError:
                continue
    return None


def unix_sockets(pids):
    """Names of the sockets that the processes hold."""
    inodes = set()
    for pid in pids:
        try:
            inodes.update(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            continue
    with open("/proc/net/unix") as lines:
        fields = [line.split() for line in list(lines)[1:]]
    return [line[7] for line in fields if len(line) > 7 and f"socket:[{line[6]}]" in inodes]


def signals(pids):
    for pid in pids:
        try:
            os.kill(int(pid), 0)
            return f"{pid} took a signal"
        except OSError:
            continue
    return None


def shared_memory():
    for entry in pathlib.Path("/dev/shm").iterdir():
        try:
            if entry.stat().st_uid == USER:
                with open(entry, "rb"):
                    return f"{entry} was opened"
        except OSError:
            continue
    return None


# ---- targets

def start(words, folder, **more):
    environment = {"HOME": f"{folder}/home", "PATH": os.environ["PATH"], "TMPDIR": f"{folder}/tmp", "CRAWL_FETCH_ALLOW_ADDRESSES": "127.0.0.1/32", "CRAWL_POLITENESS_DELAY": "0s",
                   "CRAWL_CHROME_SETTLE": "60s", "CRAWL_CRAWL_SOFT404": "false", "INTRANET_PASSWORD": SECRET, **more}
    with open(folder / "messages", "a") as messages:
        return subprocess.Popen(words, cwd=folder / "home", env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, preexec_fn=lambda: drop(USER))


def end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def set_up(folder):
    """Folders of a user, and pages of which one keeps the browser busy until the event is set."""
    folder.chmod(0o755)
    for name, mode in (("home", 0o755), ("tmp", 0o1777)):
        (folder / name).mkdir()
        os.chown(folder / name, USER, USER)
        (folder / name).chmod(mode)
    done, server = threading.Event(), Pages(0)
    server.add("/", PAGE)
    server.add("/plain", f"<title>t</title><p>{'The harbour office says which boats sail. ' * 9}{SECRET}</p>")
    server.add("/slow", lambda: (done.wait(PATIENCE * 2), b"done")[1])
    server.add("/inside", "only for the crawl")
    (folder / "config.toml").write_text(f'[[fetch.auth]]\nsite = "http://127.0.0.1:{server.port}"\nuser = "me"\npassword_env = "INTRANET_PASSWORD"\n[fetch]\nheaders = ["X-Key: {SECRET}"]\n')
    os.chown(folder / "config.toml", USER, USER)
    (folder / "config.toml").chmod(0o600)
    return done, server


def attack(binary, folder):
    done, server = set_up(folder)
    home = folder / "home"
    words = [binary, "--config", f"{folder}/config.toml", "--seed", f"http://127.0.0.1:{server.port}/", "--proxy", f"http://user:{SECRET}@127.0.0.1:9", "--state-dir", f"{home}/state", "-o", f"{home}/pages.jsonl", "--warc", f"{home}/warc",
             "--project", "p", "--database", f"{home}/projects.sqlite", "--strategy", "chrome", "--chrome-no-sandbox"]
    crawl = start(words, folder)
    try:
        deadline = time.monotonic() + PATIENCE
        while not any(path == "/slow" for _, path in server.asked) and time.monotonic() < deadline and crawl.poll() is None:
            time.sleep(0.1)
        browser = "" if any(path == "/slow" for _, path in server.asked) else f"the browser is not at work: {(folder / 'messages').read_text()[-300:]}"
        yield from during(folder, server, crawl, browser)
    finally:
        done.set()
        end(crawl)
    plain = [f"{word}plain" if word.startswith("http://127.0.0.1:") else "static" if word == "chrome" else word for word in words]
    start(plain, folder).wait(PATIENCE)
    yield from after(folder, home)
    yield from of_serve(binary, folder, home)


def outcome(name, found, browser=""):
    return Attempt("local user", name, bool(found), found or browser or "held", skipped=bool(browser))


def during(folder, server, crawl, browser):
    pids = processes(USER)
    profiles = [str(path) for path in (folder / "tmp").iterdir()]
    names = [name for name in unix_sockets(pids) if name.startswith(("/", "@"))]
    home = folder / "home"
    yield outcome("state while it is on", as_other(readable, f"{home}/state"))
    yield outcome("command line of the browser in /proc", as_other(in_proc, [pid for pid in pids if pid != str(crawl.pid)], "cmdline", SECRET), browser)
    yield outcome("environment in /proc", as_other(in_proc, pids, "environ"))
    yield outcome("memory and maps in /proc", as_other(in_proc, pids, "maps") or as_other(in_proc, pids, "mem"))
    yield outcome("links of /proc", as_other(links, pids))
    yield outcome("signal", as_other(signals, pids))
    yield outcome("profile of the browser, read", as_other(readable, *profiles), browser)
    yield outcome("profile of the browser, listed", as_other(listed, *profiles), browser)
    yield outcome("profile of the browser, written", as_other(writable, *profiles), browser)
    yield outcome("debugging port", as_other(debugging), browser)
    yield outcome("proxy of the browser, request", as_other(proxy, server.port), browser)
    yield outcome("proxy of the browser, tunnel", as_other(tunnel, server.port), browser)
    yield outcome("sockets of the browser", as_other(sockets, names), browser)
    yield outcome("shared memory", as_other(shared_memory), browser)


def after(folder, home):
    for name, path in {"lock": "state/lock", "frontier": "state", "archive": "warc", "database of projects": "projects.sqlite"}.items():
        yield outcome(f"file: {name}", as_other(readable, f"{home}/{path}"))
    yield outcome("file planted in the state", as_other(writable, f"{home}/state", f"{home}/warc"))
    secrets = [path for path in (home / "state").rglob("*") if path.is_file() and path.suffix != ".sqlite" and SECRET.encode() in path.read_bytes()]
    yield outcome("password in a file of the state", f"{[str(path) for path in secrets]}" if secrets else None)
    yield outcome("left in the temporary folder", as_other(readable, *[str(path) for path in (folder / "tmp").iterdir()]))


def of_serve(binary, folder, home):
    server = start([binary, "serve", "--listen", "127.0.0.1:0", "--database", f"{home}/projects.sqlite"], folder)
    try:
        deadline = time.monotonic() + PATIENCE
        while "listening" not in (folder / "messages").read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        yield outcome("token of the server", as_other(readable, f"{home}/.local/state/crawl"))
        yield outcome("server without a token", as_other(asked, b"GET /api/v1/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", [b" 200 "]))
    finally:
        end(server)
