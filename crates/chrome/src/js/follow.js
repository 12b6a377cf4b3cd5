// Tracks pending work of a page, so that events show when it settles: requests, short timers and frames, scripts and
// style sheets that scripts load. Untrackable activity (workers, sockets, streams, …) requires silence as well.

const now = performance.now.bind(performance);
const clock = Date.now.bind(Date);
const later = window.setTimeout.bind(window);
const never = window.clearTimeout.bind(window);
const frame = window.requestAnimationFrame.bind(window);
const then = Promise.prototype.then;
const post = window.scheduler && window.scheduler.postTask && window.scheduler.postTask.bind(window.scheduler);
let underWay = 0;
let lastChange = now();
let wake = null;

const changed = () => {
  lastChange = now();
  if (wake) wake();
};
const begin = () => {
  underWay += 1;
  changed();
};
const end = () => {
  underWay -= 1;
  changed();
};

// Functions that return promises: pending until these settle.
const counts = (owner, ...names) => {
  for (const name of names) {
    const plain = owner && owner[name];
    if (typeof plain !== 'function') continue;
    owner[name] = function (...args) {
      const given = plain.apply(this, args);
      begin();
      then.call(given, end, end);
      return given;
    };
  }
};

// Requests: pending until their headers and, for whole reads, their body arrive. Event sources and sockets do not count.
counts(window, 'fetch');
for (const owner of [Response, Request, Blob]) counts(owner.prototype, 'json', 'text', 'arrayBuffer', 'blob', 'bytes', 'formData');
counts(window.SubtleCrypto && SubtleCrypto.prototype, 'decrypt', 'deriveBits', 'deriveKey', 'digest', 'encrypt', 'exportKey', 'generateKey', 'importKey', 'sign', 'unwrapKey', 'verify', 'wrapKey');
const sendPlain = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function (...args) {
  begin();
  this.addEventListener('loadend', end, { once: true });
  try {
    return sendPlain.apply(this, args);
  } catch (error) {
    end();
    throw error;
  }
};

// Short delays soon after the start: short timers, frames, idle callbacks. A timer that keeps setting the next one is a
// clock. Clocks do not count as pending, but are remembered.
const waiting = [];
const clocks = [];
let depth = 0;
let followUntil = now() + rules.timerWindow;
const follow = (set, clear, isShort) => {
  const plainSet = window[set].bind(window);
  const plainClear = window[clear].bind(window);
  const counted = new Set();
  const ticking = new Set();
  waiting.push(counted);
  clocks.push(ticking);
  window[set] = function (action, when, ...args) {
    if (typeof action !== 'function' || !isShort(when)) return plainSet(action, when, ...args);
    const counts = depth < rules.timerDepth && now() < followUntil;
    const ids = counts ? counted : ticking;
    const level = counts ? depth + 1 : 0;
    const run = function (...given) {
      ids.delete(id);
      const outer = depth;
      depth = level;
      try {
        return action.apply(this, given);
      } finally {
        depth = outer;
        if (counts) changed();
      }
    };
    const id = plainSet(run, when, ...args);
    ids.add(id);
    return id;
  };
  window[clear] = (id) => {
    if (counted.delete(id)) changed();
    ticking.delete(id);
    plainClear(id);
  };
};
follow('setTimeout', 'clearTimeout', (delay) => !(delay > rules.timerDelay));
follow('requestAnimationFrame', 'cancelAnimationFrame', () => true);
follow('requestIdleCallback', 'cancelIdleCallback', () => true);

// Intervals do not count as pending; they show if the page continues after it has settled.
const intervals = new Set();
clocks.push(intervals);
const repeat = window.setInterval.bind(window);
const stop = window.clearInterval.bind(window);
window.setInterval = (...args) => {
  const id = repeat(...args);
  intervals.add(id);
  return id;
};
window.clearInterval = (id) => {
  intervals.delete(id);
  stop(id);
};

// A loaded script may load others: imported scripts appear here after loading (the browser reports their loading).
new PerformanceObserver(() => {
  lastChange = now();
}).observe({ type: 'resource' });

// Activity that continues soon without trackable pending work: the page must be silent since its last event. Schedulers
// of frameworks work in slices, from message to message, and frames exchange messages.
let lastMessage = -Infinity;
const stir = () => {
  lastMessage = lastChange = now();
};
const methodsOf = (owner) => {
  const all = owner ? Object.entries(Object.getOwnPropertyDescriptors(owner)) : [];
  return all.filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function').map(([name]) => name);
};
const stirs = (owner, ...names) => {
  for (const name of names) {
    const plain = owner && owner[name];
    if (typeof plain !== 'function') continue;
    owner[name] = function (...args) {
      stir();
      return plain.apply(this, args);
    };
  }
};
const prototypeOf = (name) => window[name] && window[name].prototype;
stirs(MessagePort.prototype, 'postMessage');
stirs(Element.prototype, 'animate');
stirs(prototypeOf('HTMLImageElement'), 'decode');
stirs(prototypeOf('HTMLCanvasElement'), 'toBlob');
stirs(prototypeOf('NavigatorUAData'), 'getHighEntropyValues');
for (const name of ['Scheduler', 'CookieStore', 'LockManager', 'StorageManager', 'Permissions', 'Geolocation', 'MediaDevices', 'CredentialsContainer']) {
  stirs(prototypeOf(name), ...methodsOf(prototypeOf(name)));
}
window.addEventListener('message', stir, true);

// Functions that answer at any time.
let loose = false;
const loosens = (owner, ...names) => {
  for (const name of names) {
    const plain = owner && owner[name];
    if (typeof plain !== 'function') continue;
    owner[name] = new Proxy(plain, {
      apply: (target, self, args) => ((loose = true), Reflect.apply(target, self, args)),
      construct: (target, args, made) => ((loose = true), Reflect.construct(target, args, made)),
    });
  }
};
const loosensWhenRead = (owner, name) => {
  const plain = owner && Object.getOwnPropertyDescriptor(owner, name);
  if (!plain || !plain.get) return;
  const get = function () {
    loose = true;
    return plain.get.call(this);
  };
  Object.defineProperty(owner, name, { ...plain, get });
};
loosens(window, 'Worker', 'SharedWorker', 'WebSocket', 'EventSource', 'BroadcastChannel', 'FileReader', 'WebTransport', 'RTCPeerConnection');
loosens(window, 'CompressionStream', 'DecompressionStream', 'createImageBitmap');
loosens(window.WebAssembly, 'compile', 'compileStreaming', 'instantiate', 'instantiateStreaming');
loosens(prototypeOf('IDBFactory'), ...methodsOf(prototypeOf('IDBFactory')));
loosens(prototypeOf('CacheStorage'), ...methodsOf(prototypeOf('CacheStorage')));
loosens(prototypeOf('Cache'), ...methodsOf(prototypeOf('Cache')));
loosens(prototypeOf('FontFaceSet'), 'load');
loosens(prototypeOf('FontFace'), 'load');
loosens(Blob.prototype, 'stream');
loosens(History.prototype, 'back', 'forward', 'go');
loosens(Document.prototype, 'startViewTransition');
loosensWhenRead(Response.prototype, 'body');
loosensWhenRead(prototypeOf('FontFaceSet'), 'ready');
// Navigation to another document begins at a time that the browser chooses.
if (window.navigation) {
  window.navigation.addEventListener('navigate', (event) => {
    if (!event.destination.sameDocument) loose = true;
    changed();
  });
}

// Visibility observers run once per frame. Their targets, and scroll listeners, show if scrolling may load content.
let framed = false;
for (const name of ['IntersectionObserver', 'ResizeObserver']) {
  window[name] = new Proxy(window[name], {
    construct(target, [callback, ...args], made) {
      framed = true;
      const told = function (...given) {
        lastChange = now();
        return callback.apply(this, given);
      };
      return Reflect.construct(target, [typeof callback === 'function' ? told : callback, ...args], made);
    },
  });
}
const watched = new Map();
const { observe, unobserve, disconnect } = IntersectionObserver.prototype;
Object.assign(IntersectionObserver.prototype, {
  observe(target) {
    observe.call(this, target);
    if (!watched.has(this)) watched.set(this, new Set());
    watched.get(this).add(target);
  },
  unobserve(target) {
    unobserve.call(this, target);
    watched.get(this)?.delete(target);
  },
  disconnect() {
    disconnect.call(this);
    watched.delete(this);
  },
});
let scrollListeners = false;
let animationListeners = false;
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...args) {
  if (type === 'scroll' || type === 'scrollend') scrollListeners = true;
  else if (/^(animation|transition)/.test(type)) animationListeners = true;
  return listen.call(this, type, ...args);
};
const waitsForScroll = () =>
  scrollListeners || window.onscroll || document.onscroll || (document.body && document.body.onscroll) || [...watched.values()].some((targets) => targets.size);

// Changes of the tree, also in shadow roots, and scripts and style sheets that scripts add.
const loads = (element) =>
  (element.tagName === 'SCRIPT' && element.src && !element.noModule && /^$|module|javascript/i.test(element.type)) ||
  (element.tagName === 'LINK' && element.href && /stylesheet|modulepreload/i.test(element.rel));
const awaitLoad = (element) => {
  underWay += 1;
  let open = true;
  const done = () => {
    if (open) end();
    open = false;
  };
  element.addEventListener('load', done);
  element.addEventListener('error', done);
  // a script from `innerHTML` never loads; the browser reports slower loads
  if (element.tagName === 'SCRIPT') later(done, rules.timerDelay);
};
const observer = new MutationObserver((records) => {
  for (const record of records) {
    for (const node of record.addedNodes) {
      if (node.nodeType !== 1 || document.readyState === 'loading') continue;
      if (loads(node)) awaitLoad(node);
      if (node.firstElementChild) [...node.querySelectorAll('script[src],link[href]')].filter(loads).forEach(awaitLoad);
    }
  }
  lastChange = now();
});
const observed = { childList: true, subtree: true, characterData: true };
observer.observe(document, observed);
const roots = new WeakMap();
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (...args) {
  const root = attach.apply(this, args);
  roots.set(this, root);
  observer.observe(root, observed);
  return root;
};
document.addEventListener('readystatechange', changed);
