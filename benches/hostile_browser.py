"""Pages that abuse a browser, as data for hostile_server.py: path → (expected behaviour of a good crawl, HTML).

CANARY stands for the forbidden address, with its port; it counts TCP and UDP.
"""

WORDS = "These words come by a script and are the whole text of the page, which tells of ships, of harbours and of the tide. "
WORKER = "new Worker(URL.createObjectURL(new Blob([`{}`])))"


def page(script, before=""):
    return f"<!doctype html><title>A page of scripts</title>{before}<main id=app></main><script>app.textContent = `{WORDS * 4}`;\n{script}</script>"


ENDED = "its tab is ended, the crawl goes on"
PAGES = {
    "/js/render": ("a record of what the script shows", page("")),
    "/js/loop": ("its script is stopped", page("while (true) {}")),
    "/js/alert": ("its dialogs are closed", page("for (let n = 0; n < 50; n++) { alert(n); confirm(n); prompt(n) }")),
    "/js/grow": ("its growth is cut", page("setInterval(() => { for (let n = 0; n < 2000; n++) app.append('more and more ', document.createElement('p')) })")),
    "/js/push": ("its addresses are no pages", page("setInterval(() => history.pushState(0, '', '/js/push?' + Math.random()), 5)")),
    "/js/open": ("its hops are bounded", page("location = '/js/open?' + Math.random()")),
    "/js/reload": ("its reloads are bounded", page("setTimeout(() => location.reload())")),
    "/js/fetch-meta": ("no connection to a forbidden address", page("for (const to of ['169.254.169.254/latest/', 'CANARY/', '[::1]:22/']) fetch('http://' + to).then(r => r.text()).then(t => app.append(t), () => 0)")),
    "/js/memory": (ENDED, page("const all = []; setInterval(() => { for (let n = 0; n < 8; n++) all.push(new Uint8Array(64 << 20).fill(1)) })")),
    "/js/wasm": (ENDED, page("const all = []; setInterval(() => { const m = new WebAssembly.Memory({ initial: 2048 }); new Uint8Array(m.buffer).fill(1); all.push(m) })")),
    "/js/workers": (ENDED, page(f"for (let n = 0; n < 60; n++) {WORKER.format('const all = []; setInterval(() => all.push(new Uint8Array(32 << 20).fill(1)))')}")),
    "/js/spin": ("workers at work are not waited for", page(f"for (let n = 0; n < 8; n++) {WORKER.format('while (true) {}')}")),
    "/js/storage": ("what it stores is bounded, and gone with it", page("""
const piece = new Blob([new Uint8Array(8 << 20).fill(7)]);
(async () => { for (let n = 0; ; n++) await (await caches.open('c')).put('/x' + n, new Response(piece)) })().catch(() => 0);
indexedDB.open('d').onupgradeneeded = e => { e.target.result.createObjectStore('s', { autoIncrement: true });
  e.target.transaction.oncomplete = () => { for (let n = 0; n < 99; n++) e.target.result?.transaction('s', 'readwrite').objectStore('s').add(piece) } };
(async () => { const d = await navigator.storage.getDirectory(); for (let n = 0; ; n++) { const w = await (await d.getFileHandle('f' + n, { create: true })).createWritable(); await w.write(piece); await w.close() } })().catch(() => 0)""")),
    "/js/network": ("its bytes are bounded", page(f"for (let n = 0; n < 4; n++) {{ {WORKER.format('(async () => { for (;;) await (await fetch(origin + `/js/_bytes`)).text() })()'.replace('`', chr(34)))}; const f = document.createElement('iframe'); f.src = '/js/_frame'; document.body.append(f) }}")),
    "/js/popups": ("no window opens", page("for (let n = 0; n < 50; n++) open('/js/render?' + n, '_blank')")),
    "/js/downloads": ("nothing is saved", page("for (let n = 0; n < 20; n++) { const a = document.createElement('a'); a.href = '/js/_bytes?' + n; a.download = 'x' + n; document.body.append(a); a.click() }")),
    "/js/service-worker": ("none is kept", page("navigator.serviceWorker?.register('/js/_worker.js').catch(() => 0)")),
    "/js/print": ("nothing waits for a printer", page("for (let n = 0; n < 5; n++) print()")),
    "/js/permissions": ("none is granted, and none is waited for", page("""
navigator.geolocation.getCurrentPosition(() => app.append('LEAKED'), () => 0); Notification.requestPermission?.();
navigator.mediaDevices?.getUserMedia({ audio: true, video: true }).then(() => app.append('LEAKED'), () => 0); navigator.requestMIDIAccess?.().catch(() => 0);
navigator.clipboard?.readText().then(t => app.append('LEAKED'), () => 0); navigator.storage?.persist?.()""")),
    "/js/files": ("no file and no page of the browser is read", page("fetch('file:///etc/passwd').then(r => r.text()).then(t => app.append(t)).catch(() => 0)", "<iframe src='file:///etc/passwd'></iframe><iframe src='chrome://version'></iframe>")),
    "/js/stun": ("no datagram leaves the proxy", page("const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:CANARY' }] }); c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o)); setTimeout(() => 0, 900)")),
    "/js/transport": ("no datagram leaves the proxy", page("try { new WebTransport('https://CANARY/').ready.catch(() => 0) } catch {}")),
    "/js/names": ("no name is looked up", page("", "".join(f"<link rel=dns-prefetch href='//n{n}.canary.test'><link rel=preconnect href='//CANARY'>" for n in range(50)))),
    "/js/unload": ("it does not keep its tab", page("onbeforeunload = e => { e.preventDefault(); navigator.sendBeacon('http://CANARY/'); return 'stay' }; setTimeout(() => location = '/js/render?left')")),
    "/js/frames": ("its frames are bounded", page("const f = document.createElement('iframe'); f.src = location.pathname + '?' + Math.random(); document.body.append(f)", "<meta name=robots content=nofollow>")),
}
# resources of the pages: path → (media type, body)
PARTS = {
    "/js/_bytes": ("application/octet-stream", b"x" * (1 << 20)),
    "/js/_frame": ("text/html", b"<script>(async () => { for (;;) await (await fetch('/js/_bytes')).text() })()</script>"),
    "/js/_worker.js": ("text/javascript", b"setInterval(() => fetch('/js/_bytes'))"),
}
