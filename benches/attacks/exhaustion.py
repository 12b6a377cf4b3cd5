"""Attacks on CPU, memory, disk, descriptors and slots: by pages, servers, files, API clients, and settings.

Each attack states its bounds: CPU seconds, MB of memory, seconds until the end, MB on disk. They apply to a development
build, which is about ten times slower than a release build, and are far below the cost of a missing bound.
"""
import concurrent.futures, dataclasses, json, os, pathlib, re, shutil, signal, subprocess, sys, threading, time

from attempt import Attempt
from exhausting import inputs, places

HERE = pathlib.Path(__file__).parent
# concurrent attacks; the time bounds allow for them
AT_A_TIME = 4
# exit codes of a crawl: done, no seed fetched, stopped by a limit
ENDS = (0, 4, 5)
TICK = 0.02
PEAK = re.compile(r"VmHWM:\s+(\d+)")


@dataclasses.dataclass
class Bounds:
    cpu: float = 20
    memory: float = 300
    seconds: float = 60
    # the state holds a body of 10 MiB once, and its record is written twice
    disk: float = 40
    descriptors: int = 250

    def __str__(self):
        return f"CPU < {self.cpu:g} s, memory < {self.memory:g} MB, ends in {self.seconds:g} s, disk < {self.disk:g} MB"


@dataclasses.dataclass
class Use:
    cpu: float
    memory: float
    seconds: float
    disk: float
    descriptors: int
    code: int
    stdout: str
    stderr: str

    def beyond(self, bounds):
        """Exceeded bounds, in words."""
        found = []
        for name in ("cpu", "memory", "seconds", "disk", "descriptors"):
            if getattr(self, name) > getattr(bounds, name):
                found.append(f"{name} {getattr(self, name):.1f} > {getattr(bounds, name):g}")
        if self.code in (101, -signal.SIGABRT, -signal.SIGSEGV):
            found.append(f"crashed with {self.code}")
        return found


def size_of(folder):
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except OSError:
                pass  # it was removed meanwhile
    return total / 2**20


def used_by(words, folder, bounds, stdin=None, env=None):
    """Runs a command in `folder` until its end, or for at most twice its time."""
    (folder / "stdout").touch()
    begun, disk, descriptors = size_of(folder), 0, 0
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        started = time.monotonic()
        child = subprocess.Popen(words, cwd=folder, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err,
                                 env={**os.environ, **(env or {})})
        ended, status, usage, memory = 0, 0, None, 0
        while not ended:
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            if ended:
                break
            disk = max(disk, size_of(folder) - begun)
            try:
                descriptors = max(descriptors, len(os.listdir(f"/proc/{child.pid}/fd")))
                # not that of `wait4`, which includes the memory of the parent
                memory = max(memory, int(PEAK.search(pathlib.Path(f"/proc/{child.pid}/status").read_text())[1]) / 1024)
            except (OSError, TypeError):
                pass  # it has just ended
            if time.monotonic() - started > bounds.seconds * 1.1:
                os.kill(child.pid, signal.SIGKILL)
            time.sleep(TICK)
        seconds = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    read = lambda name: (folder / name).read_bytes()[:20_000].decode(errors="replace")
    disk = max(disk, size_of(folder) - begun)
    return Use(usage.ru_utime + usage.ru_stime, memory, seconds, disk, descriptors, child.returncode,
               read("stdout"), read("stderr"))


def outcome(vector, name, use, bounds, wanted=None):
    problems = use.beyond(bounds)
    if wanted and not wanted(use):
        problems.append(f"unexpected end: {use.code} {use.stderr.strip()[-160:]!r}")
    spent = f"{use.cpu:.1f} CPU s, {use.memory:.0f} MB, {use.seconds:.1f} s, {use.disk:.1f} MB on disk"
    return Attempt(vector, name, bool(problems), "; ".join([*problems, spent, str(bounds)]))


def of_page(binary, folder, case):
    (folder / "page.html").write_bytes(case.make())
    bounds = Bounds(**case.bounds)
    use = used_by([binary, "extract", "page.html", "--url", "https://example.org/page"], folder, bounds)
    return outcome("exhaustion: pages", case.name, use, bounds)


def of_file(binary, folder, case):
    words = case.make(folder)
    bounds = Bounds(**case.bounds)
    stdin = open(folder / "stdin", "rb") if (folder / "stdin").exists() else None
    use = used_by([binary, *words], folder, bounds, stdin, case.env)
    return outcome(f"exhaustion: {case.vector}", case.name, use, bounds, case.wanted)


def of_server(binary, folder, case, base):
    url = case.path if case.path.startswith("http") else base + case.path
    bounds = Bounds(**case.bounds)
    env = {"CRAWL_FETCH_STRATEGY": "static", "CRAWL_FETCH_READ_TIMEOUT": "3s", "CRAWL_FETCH_TOTAL_TIMEOUT": "6s",
           "CRAWL_FETCH_RETRIES": "0", "CRAWL_FETCH_CA_FILE": str(inputs.CERTIFICATE), **case.env}
    words = [binary, "--seed", url, "--state-dir", "state", "-O", "pages.jsonl", "--delay", "0s", "--quiet",
             "--allow-address", "127.0.0.0/8", "--limit", "200", "--max-time", "12s", *case.flags]
    use = used_by(words, folder, bounds, env=env)
    return outcome(f"exhaustion: {case.vector}", case.name, use, bounds, lambda use: use.code in ENDS)


def one(kind, binary, parent, number, case, *more):
    folder = parent / f"{number}-{case.name.replace('/', '_').replace(' ', '-')[:40]}"
    folder.mkdir()
    try:
        return kind(binary, folder, case, *more)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(binary, folder):
    inputs.make_certificate(folder)
    server = subprocess.Popen([sys.executable, str(HERE / "exhausting" / "server.py"), str(inputs.KEY), str(inputs.CERTIFICATE)],
                              stdout=subprocess.PIPE, text=True)
    try:
        ports = json.loads(server.stdout.readline())
        base = f"http://127.0.0.1:{ports['http']}"
        tasks = [(of_page, case) for case in inputs.PAGES]
        tasks += [(of_file, case) for case in inputs.files(binary, folder, base)]
        tasks += [(of_server, case, base) for case in inputs.servers(ports)]
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            running = [pool.submit(one, task[0], binary, folder, number, *task[1:]) for number, task in enumerate(tasks)]
            for future in running:
                yield future.result()
        yield from places.run(binary, folder, base)
    finally:
        server.kill()
        server.wait()
