"""Secrets of the user, searched for in all output of runs, and the rights of other users to those files.

Each secret is unique. The search covers standard output and error, records, archives, databases and all other files. It finds
plain, percent-encoded, base64 and packed forms, and rows of databases.
"""
import gzip, json, os, shutil, subprocess, time, urllib.error, urllib.request
from attempt import Attempt
from leaks.case import Case
from leaks.world import Server, Socks, free_port

TRACE = ["--log-level", "trace"]
# an archive holds the sites' answers unchanged, and a state their robots.txt
SENT_BY_SITES = {("cookie", "archive"), ("password of links", "archive"), ("password in robots.txt", "archive"),
                 ("password in robots.txt", "state")}


def settings(case, server, extra=""):
    """A settings file with a secret of every kind, and a proxy that is the server itself."""
    by_file = case.file("password", case.secret("password by file") + "\n")
    header, token, proxy = case.secret("X-Api-Key"), case.secret("own header"), case.secret("proxy in settings")
    cookie = server.cookie = case.secret("cookie")
    text = f"""[fetch]
headers = ["X-Api-Key: {header}", "X-Session-Thing: {token}"]
cookies = true
proxy = "{server.with_user('gull', proxy, '')}"
auth = [{{ site = "{server.origin}", user = "gull", password_file = "{by_file}" }}]
retries = 0
{extra}"""
    return case.file("crawl.toml", text), (header, token, proxy, cookie)


def everything(binary, folder, name, *flags):
    """A crawl with all secrets, an archive, a project and a report, twice; then every job over its output."""
    server = Server()
    case = Case(binary, folder, name)
    config, (header, token, proxy, cookie) = settings(case, server)
    seeds = case.file("seeds.txt", f"{server.origin}/\nhttp://harbour.test/\nhttps://harbour.test/\n")
    args = case.crawl("--seed", seeds, "--config", config, "-o", "out.jsonl", "--warc", "warc", "--project", "p",
                      "--database", "p.sqlite", *flags)
    for _ in range(2):
        case.run(*args)
    sent = server.got("X-Api-Key", header) and server.got("X-Session-Thing", token) and server.got("Cookie", cookie)
    case.expect(sent and server.got_basic("Proxy-Authorization", "gull", proxy), "the secrets were not sent")
    for job in (["status"], ["status", "--json"], ["report", "-o", "report.html"], ["state", "check"]):
        case.run(*job, "--state-dir", "state", "--config", config)
    case.run("replay", "warc", "-o", "again.jsonl", "--config", config)
    case.run("projects", "show", "p", "--database", "p.sqlite", "--config", config)
    server.close()
    yield from case.leaks(allowed=SENT_BY_SITES)
    yield from case.open_to_others("state", "warc", "p.sqlite", "p.sqlite-wal", "p.sqlite-shm")


def on_the_command_line(binary, folder):
    """Flags with secrets during a run: its lock, its status, and a second run that is refused."""
    server = Server()
    case = Case(binary, folder, "flags")
    header, proxy, contact = case.secret("--header"), case.secret("--proxy", "/x"), case.secret("--header=")
    coded = proxy.replace("/", "%2F")
    seeds = case.file("seeds.txt", f"{server.origin}/\n{server.origin}/hang\nhttp://harbour.test/\n")
    args = case.crawl("--seed", seeds, "-o", "out.jsonl", "--warc", "warc", "--header", f"X-Api-Key: {header}",
                      f"--header=X-Other: {contact}", "--proxy", server.with_user("gull", coded, ""))
    process = case.start(*args)
    wait_for(lambda: any(path == "/hang" for path, _ in server.seen))
    case.expect(server.got("X-Api-Key", header) and server.got("X-Other", contact), "the headers were not sent")
    case.note("lock of a run that is on", (case.dir / "state/lock").read_bytes())
    yield from case.open_to_others("state", "warc")
    case.note("status of a run that is on", case.run("status", "--state-dir", "state")[1].encode())
    case.run("status", "--json", "--state-dir", "state")
    code, _, refused = case.run(*args)
    case.expect(code == 6 and "held by" in refused, "the second run was not refused")
    case.note("message of a run that is refused", refused.encode())
    case.run("state", "check", "--state-dir", "state")
    other = case.crawl("--seed", seeds, "-o", "out.jsonl")
    other[1] = "state2"
    case.run(*other)
    process.kill()
    case.end(process)
    case.run("status", "--state-dir", "state")
    server.close()
    yield from case.leaks()


def ways_out(binary, folder):
    """Proxies that answer, refuse or are missing, from flags and from the environment, at `trace`."""
    server, socks = Server(), Socks()
    for name, scheme, port, seed in [
        ("http proxy", "http", server.port, "http://harbour.test/"), ("tunnel", "http", server.port, "https://harbour.test/"),
        ("socks5 proxy", "socks5", socks.port, "http://harbour.test/"), ("socks5h proxy", "socks5h", socks.port, "https://harbour.test/"),
        ("absent proxy", "http", free_port(), "http://harbour.test/"), ("absent https proxy", "https", free_port(), "https://harbour.test/"),
    ]:
        for way in ("flag", "environment"):
            case = Case(binary, folder, f"{name} by {way}")
            proxy = f"{scheme}://gull:{case.secret('proxy password', '/x').replace('/', '%2F')}@127.0.0.1:{port}"
            seeds = case.file("seeds.txt", seed + "\n")
            args = case.crawl("--seed", seeds, "-o", "out.jsonl", "--warc", "warc", *TRACE)
            env = {"CRAWL_FETCH_RETRIES": "0", "CRAWL_CRAWL_AI_OPTOUT_FILES": "false"}
            if way == "flag":
                case.run(*args, "--proxy", proxy, env=env)
            else:
                case.run(*args, env=env | {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy})
            yield from case.leaks()
    server.close()
    socks.close()


def seeds_with_passwords(binary, folder):
    """Seeds with a password: in files of each kind, as a flag, on standard input, and in otherwise invalid lines."""
    server = Server()
    for name, line in [("plain", "http://gull:{0}@127.0.0.1:{1}/"), ("user alone", "http://{0}@127.0.0.1:{1}/"),
                       ("bare", "gull:{0}@127.0.0.1:{1}/"), ("bare host", "gull:{0}@harbour.test/"), ("relative", "//gull:{0}@127.0.0.1:{1}/"),
                       ("scheme", "ftp://gull:{0}@127.0.0.1:{1}/"), ("port", "http://gull:{0}@127.0.0.1:99999/"),
                       ("host", "http://gull:{0}@[::zz]/"), ("space", "http://gull:{0}@a b/"), ("backslash", "http:\\\\gull:{0}@127.0.0.1:{1}/"),
                       ("one slash", "http:/gull:{0}@127.0.0.1:{1}/"), ("upper case", "HTTP://gull:{0}@127.0.0.1:{1}/")]:
        for way in ("file", "gzip", "flag", "standard input"):
            case = Case(binary, folder, f"seed, {name}, {way}")
            seed = line.format(case.secret("seed password", "%40"), server.port)
            case.secrets["seed password, as a prefix"] = case.secrets["seed password"][:12]
            args = case.crawl("-o", "out.jsonl", "--warc", "warc", *TRACE)[2:]
            text = f"{server.origin}/other\n{seed}\n"
            if way in ("file", "gzip"):
                data = text.encode()
                source = case.file("seeds.txt", gzip.compress(data) if way == "gzip" else data)
                case.run("--seed", source, *args)
            elif way == "flag":
                case.run("--seed", seed, *args)
                case.run("status", "--seed", seed)
                case.run("report", "--seed", seed)
                case.run("retry-errors", "--seed", seed, *args)
            else:
                process = case.start("--seed", "-", *args, stdin=subprocess.PIPE)
                case.end(process, text.encode())
            names = [str(path.relative_to(case.dir)).encode() for path in case.dir.rglob("*")]
            case.note("names of files", b"\n".join(names))
            yield from case.leaks()
    server.close()


def links_with_passwords(binary, folder):
    """URLs with a password in pages, redirects, sitemaps, feeds and robots.txt of a site."""
    probe = Case(binary, folder, "links")
    server = Server(probe.secret("password of links"), probe.secret("password in robots.txt"))
    seeds = probe.file("seeds.txt", f"{server.origin}/\n")
    env = {"CRAWL_FETCH_RETRIES": "0", "CRAWL_EXTRACT_LINKS": "keep"}
    probe.run(*probe.crawl("--seed", seeds, "-o", "out.jsonl", "--warc", "warc", "--project", "p", "--database", "p.sqlite",
                           "--scope", "any", *TRACE), env=env)
    probe.run(*probe.crawl("--seed", seeds, "-o", "pages/", "--state-dir", "state3")[2:], env=env)
    asked = {path for path, _ in server.seen}
    probe.expect({"/map.xml", "/located/1", "/linked", "/moved"} <= asked, f"the links were not followed: {sorted(asked)}")
    probe.expect(not any("authorization" in headers for _, headers in server.seen), "a password of a link was sent")
    password = probe.secrets["password of links"]
    page = probe.file("page.html", server.page("/", password))
    for job in (["extract", page, "--url", f"{server.origin}/"], ["extract", page, "--url", f"{server.origin}/", "--explain"],
                ["extract", page, "--url", server.with_user("gull", password)],
                ["classify", page, "--url", f"{server.origin}/"], ["check", "url", "--url", server.with_user("gull", password)]):
        probe.run(*job)
    probe.run("replay", "warc", "-o", "again.jsonl")
    server.close()
    yield from probe.leaks(allowed=SENT_BY_SITES)


def wrong_settings(binary, folder):
    """Invalid settings with a secret on the faulty line."""
    files = {
        "string without end": '[serve]\ntoken = "{0}\n', "no quotes": "[serve]\ntoken = {0}\n", "two values": '[serve]\ntoken = "{0}" "x"\n',
        "list for text": '[serve]\ntoken = ["{0}"]\n', "table for text": '[serve]\ntoken = {{ value = "{0}" }}\n',
        "bad escape": '[serve]\ntoken = "\\q{0}"\n', "twice": '[serve]\ntoken = "{0}"\ntoken = "{0}"\n', "no section": 'token = "{0}"\n',
        "wrong section": '[fetch]\ntoken = "{0}"\n', "unknown key": '[serve]\napi_token = "{0}"\n',
        "number for text": '[serve]\ntoken = "{0}x"\n[fetch]\nproxy = 1\n',
        "proxy without scheme": '[fetch]\nproxy = "gull:{0}@127.0.0.1:1"\n', "proxy of a list": '[fetch]\nproxy = ["http://gull:{0}@127.0.0.1:1"]\n',
        "proxy of another kind": '[fetch]\nproxy = "ftp://gull:{0}@127.0.0.1:1"\n', "proxy with a bad port": '[fetch]\nproxy = "http://gull:{0}@127.0.0.1:99999"\n',
        "header without name": '[fetch]\nheaders = ["{0}"]\n', "header of text": '[fetch]\nheaders = "X-Api-Key: {0}"\n',
        "header of a table": '[fetch]\nheaders = [{{ "X-Api-Key" = "{0}" }}]\n', "header Authorization": '[fetch]\nheaders = ["Authorization: Bearer {0}"]\n',
        "header with a line feed": '[fetch]\nheaders = ["X-Api-Key: a\\n{0}"]\n', "password in auth": '[fetch]\nauth = [{{ site = "https://a.test", user = "u", password = "{0}" }}]\n',
        "auth of text": '[fetch]\nauth = ["u:{0}@https://a.test"]\n', "auth is text": '[fetch]\nauth = "u:{0}"\n',
        "password in the site": '[fetch]\nauth = [{{ site = "https://u:{0}@a.test", user = "u", password_env = "HOME" }}]\n',
        "password and a path in the site": '[fetch]\nauth = [{{ site = "https://u:{0}@a.test/x", user = "u", password_env = "HOME" }}]\n',
        "password for the site": '[fetch]\nauth = [{{ site = "{0}", user = "u", password_env = "HOME" }}]\n',
        "password for the variable": '[fetch]\nauth = [{{ site = "https://a.test", user = "u", password_env = "{0}" }}]\n',
        "password for the file": '[fetch]\nauth = [{{ site = "https://a.test", user = "u", password_file = "{0}" }}]\n',
        "user with the password": '[fetch]\nauth = [{{ site = "https://a.test", user = "u:{0}", password_env = "HOME" }}]\n',
        "token for its file": '[serve]\ntoken_file = "{0}"\n', "token with a space": '[serve]\ntoken = "{0} x"\n',
    }
    for name, text in files.items():
        case = Case(binary, folder, f"settings, {name}")
        config = case.file("crawl.toml", text.format(case.secret("secret")))
        for job in (["--seed", "http://127.0.0.1:1/"], ["serve"], ["status", "--state-dir", "x"]):
            if job[0] == "serve":
                serve_for_a_moment(case, "--config", config)
            else:
                case.run(*job, "--config", config)
        yield from case.leaks()
    variables = {"CRAWL_FETCH_PROXY": "gull:{0}@127.0.0.1:1", "CRAWL_FETCH_HEADERS": '["{0}"]', "CRAWL_FETCH_AUTH": '[{{ password = "{0}" }}]',
                 "CRAWL_SERVE_TOKEN_": "{0}", "CRAWL_SERVE_TOKEN": "{0} x", "CRAWL_SERVE_TOKEN_FILE": "{0}"}
    for name, text in variables.items():
        case = Case(binary, folder, f"variable {name}")
        value = text.format(case.secret("secret"))
        case.run("--seed", "http://127.0.0.1:1/", env={name: value})
        serve_for_a_moment(case, env={name: value})
        yield from case.leaks()
    flags = {"proxy without scheme": ["--proxy", "gull:{0}@127.0.0.1:1"], "header without name": ["--header", "{0}"],
             "unknown flag": ["--proxi=http://gull:{0}@127.0.0.1:1"], "proxy beside its flag": ["http://gull:{0}@127.0.0.1:1"],
             "header beside its flag": ["X-Api-Key: {0}"], "token flag": ["--token", "{0}"], "bearer": ["--header", "Authorization: Bearer {0}"],
             "proxy for a number": ["--concurrency", "http://gull:{0}@127.0.0.1:1"], "proxy for a job": ["status", "http://gull:{0}@127.0.0.1:1"]}
    for name, words in flags.items():
        case = Case(binary, folder, f"flag, {name}")
        secret = case.secret("secret")
        case.run(*([] if words[0] == "status" else ["--seed", "http://127.0.0.1:1/"]), *(word.format(secret) for word in words))
        yield from case.leaks()


def serve_for_a_moment(case, *args, **more):
    """Starts `serve` and stops it, unless it ends by itself."""
    process = case.start("serve", "--listen", "127.0.0.1:0", "--database", "p.sqlite", *args, **more)
    wait_for(lambda: b"listening on" in case.said(process) or process.poll() is not None)
    case.end(process, stop=True)


def served(binary, folder):
    """`serve` with a token from each source, called with it, with others and without one, at `trace`."""
    for way in ("settings", "variable", "file", "made"):
        case = Case(binary, folder, f"serve, token by {way}")
        env, args, token = {"CRAWL_LOG_LEVEL": "trace"}, ["serve", "--listen", "127.0.0.1:0", "--database", "p.sqlite"], ""
        if way != "made":
            token = case.secret("token")
        if way == "settings":
            args += ["--config", case.file("crawl.toml", f'[serve]\ntoken = "{token}"\n')]
        elif way == "variable":
            env["CRAWL_SERVE_TOKEN"] = token
        elif way == "file":
            args += ["--token-file", case.file("token", token + "\n")]
        process = case.start(*args, env=env)
        wait_for(lambda: b"listening on" in case.said(process) or process.poll() is not None)
        lines = case.said(process).decode()
        case.expect("listening on" in lines, f"the server did not start: {lines}")
        address = lines.split("listening on http://")[1].split(",")[0]
        if way == "made":
            token = case.secrets["token"] = (case.dir / "xdg/crawl/serve-token").read_text().strip()
            case.own.add(case.dir / "xdg/crawl/serve-token")
            case.shown_once = f"token (shown once, kept in {case.dir}/xdg/crawl/serve-token): {token}"
        wrong = case.secret("wrong token")
        answers = [ask(address, path, given) for given in (token, wrong, None) for path in ("/api/v1/projects", "/api/v1/projects/x", f"/{given}")]
        case.expect(answers[0][0] == 200, "the token was not accepted")
        case.note("answers", b"".join(body for _, body in answers))
        case.end(process, stop=True)
        yield from case.leaks(allowed={("wrong token", "answers")})
        yield from case.open_to_others("p.sqlite", "p.sqlite-wal", "p.sqlite-shm", "xdg/crawl")


def ask(address, path, token):
    request = urllib.request.Request(f"http://{address}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read() + str(error.headers).encode()


def agents(binary, folder):
    """`mcp` with all secrets in its settings, called with URLs that contain a password, at `trace`."""
    server = Server()
    case = Case(binary, folder, "mcp")
    config, (header, *_) = settings(case, server)
    url_secret = case.secret("password in the URL of a call")
    calls = [{"name": "crawl_url", "arguments": {"url": url}} for url in
             (f"{server.origin}/", server.with_user("gull", url_secret, "/other"), "http://harbour.test/", "https://harbour.test/",
              f"ftp://gull:{url_secret}@127.0.0.1/", f"http://gull:{url_secret}@127.0.0.1:99999/")]
    calls += [{"name": "extract_html", "arguments": {"html": server.page("/", ""), "url": server.with_user("gull", url_secret)}}]
    messages = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                             "clientInfo": {"name": "x", "version": "1"}}},
                {"method": "notifications/initialized"}, {"id": 1, "method": "tools/list"},
                *({"id": 2 + n, "method": "tools/call", "params": call} for n, call in enumerate(calls))]
    env = {"CRAWL_LOG_LEVEL": "trace", "CRAWL_FETCH_ALLOW_ADDRESSES": "127.0.0.0/8", "CRAWL_POLITENESS_DELAY": "0s", "CRAWL_FETCH_STRATEGY": "static"}
    process = case.start("mcp", "--database", "p.sqlite", "--config", config, env=env, stdin=subprocess.PIPE)
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        if "id" in message:
            case.note("answers", process.stdout.readline())
    case.end(process)
    case.expect(server.got("X-Api-Key", header), "no page was asked for")
    server.close()
    yield from case.leaks()
    yield from case.open_to_others("p.sqlite", "p.sqlite-wal", "p.sqlite-shm")


def browsers(binary, folder):
    """A rendered page with all secrets: requests of the browser, its processes, and its files."""
    if not any(map(shutil.which, ("chromium", "chromium-headless-shell", "google-chrome"))):
        yield Attempt("secrets: standard error", "browser", False, "there is no Chromium", skipped=True)
        return
    server = Server()
    case = Case(binary, folder, "browser")
    config, (header, *_) = settings(case, server, extra='[chrome]\nsandbox = false\n[log]\nlevel = "trace"\n')
    seeds = case.file("seeds.txt", f"{server.origin}/other\nhttp://harbour.test/\n{server.origin}/hang\n")
    args = ["--state-dir", "state", "--delay", "0s", "--allow-address", "127.0.0.0/8", "--strategy", "chrome", "--seed", seeds,
            "--config", config, "-o", "out.jsonl", "--warc", "warc"]
    (case.dir / "tmp").mkdir()
    process = case.start(*args, env={"TMPDIR": str(case.dir / "tmp")})
    wait_for(lambda: any(path == "/hang" for path, _ in server.seen), 40)
    for child in descendants(process.pid):
        for part in ("cmdline", "environ"):
            case.note("processes of the browser", read(f"/proc/{child}/{part}"))
    # no other user can enter the profile, whatever is in it
    for profile in (case.dir / "tmp").iterdir():
        yield case.rights(profile)
    server.hang.set()
    case.end(process)
    case.expect(any("Chrome" in headers.get("user-agent", "") and header in headers.get("x-api-key", "") for _, headers in server.seen),
                "the browser was not given the header")
    server.close()
    yield from case.leaks(allowed=SENT_BY_SITES)


def descendants(pid):
    """Processes below a process."""
    tasks = os.listdir(f"/proc/{pid}/task") if os.path.exists(f"/proc/{pid}/task") else []
    children = {int(child) for task in tasks for child in read(f"/proc/{pid}/task/{task}/children").split()}
    return [*children, *(below for child in children for below in descendants(child))]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def older_states(binary, folder):
    """A state, a database and default folders that an older version left readable by all: after the next run."""
    server = Server()
    for umask in (0o000, 0o002, 0o022):
        case = Case(binary, folder, f"older state, umask {umask:o}")
        seeds = case.file("seeds.txt", f"{server.origin}/\n")
        args = case.crawl("--seed", seeds, "-o", "out.jsonl", "--warc", "warc", "--project", "p", "--database", "p.sqlite")[2:]
        case.run(*args, umask=umask)
        names = ["xdg/crawl", "p.sqlite"]
        paths = [path for name in names for path in [case.dir / name, *(case.dir / name).rglob("*")]]
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
        case.run(*args, umask=umask)
        yield from case.open_to_others(*names, "p.sqlite-wal", "p.sqlite-shm", "warc")
    server.close()


def wait_for(condition, seconds=15):
    """Waits until a condition is true, up to a limit, which `expect` then reports."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)


def run(binary, folder):
    yield from everything(binary, folder, "crawl", *TRACE)
    yield from everything(binary, folder, "crawl, JSON log", *TRACE, "--log-format", "json")
    for family in (on_the_command_line, ways_out, seeds_with_passwords, links_with_passwords, wrong_settings, served, agents, browsers,
                   older_states):
        yield from family(binary, folder)
