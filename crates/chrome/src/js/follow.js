// What a page has under way, so that its rest is known from events and not guessed from silence: requests, short timers
// and frames, scripts and style sheets that scripts load. What cannot be followed (workers, sockets, streams, …) makes the
// page wait for silence as well.

const now = performance.now.bind(performance);
const clock = Date.now.bind(Date);
const later = window.setTimeout.bind(window);
const never = window.clearTimeout.bind(window);
const frame = window.requestAnimationFrame.bind(window);
let underWay = 0;
let lastChange = now();
let loose = false;
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

// Requests: until their headers and, for whoever reads it whole, their body are there. Event sources and sockets are not
// waited for.
const fetchPlain = window.fetch;
window.fetch = function (...args) {
  begin();
  const answer = fetchPlain.apply(this, args);
  answer.then(end, end);
  return answer;
};
for (const reader of ['json', 'text', 'arrayBuffer', 'blob']) {
  const plain = Response.prototype[reader];
  Response.prototype[reader] = function (...args) {
    begin();
    const body = plain.apply(this, args);
    body.then(end, end);
    return body;
  };
}
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

// What is put off for a short while, soon after the start: short timers, frames, idle moments. A timer that sets the next
// one, and so on, is a clock, and a clock is not waited for.
const waiting = [];
let depth = 0;
let followUntil = now() + rules.timerWindow;
const follow = (set, clear, isShort) => {
  const plainSet = window[set].bind(window);
  const plainClear = window[clear].bind(window);
  const ids = new Set();
  waiting.push(ids);
  window[set] = function (action, when, ...args) {
    const counts = typeof action === 'function' && isShort(when) && depth < rules.timerDepth && now() < followUntil;
    if (!counts) return plainSet(action, when, ...args);
    const level = depth + 1;
    const run = function (...given) {
      ids.delete(id);
      const outer = depth;
      depth = level;
      try {
        return action.apply(this, given);
      } finally {
        depth = outer;
        changed();
      }
    };
    const id = plainSet(run, when, ...args);
    ids.add(id);
    return id;
  };
  window[clear] = (id) => {
    if (ids.delete(id)) changed();
    plainClear(id);
  };
};
follow('setTimeout', 'clearTimeout', (delay) => !(delay > rules.timerDelay));
follow('requestAnimationFrame', 'cancelAnimationFrame', () => true);
follow('requestIdleCallback', 'cancelIdleCallback', () => true);

// Intervals are not waited for; they say whether the page goes on after it has come to rest.
const intervals = new Set();
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

// What is loaded may go on to load: scripts that a script imports are seen here when they have come (while they load, the
// browser tells the crawler of them).
new PerformanceObserver(() => {
  lastChange = now();
}).observe({ type: 'resource' });

// Work in slices, as schedulers of frameworks do it, goes on from message to message.
const postPlain = MessagePort.prototype.postMessage;
MessagePort.prototype.postMessage = function (...args) {
  lastChange = now();
  return postPlain.apply(this, args);
};

// What answers at a time of its own.
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
loosens(window, 'Worker', 'SharedWorker', 'WebSocket', 'EventSource', 'BroadcastChannel', 'FileReader', 'WebTransport', 'createImageBitmap');
loosens(window.WebAssembly, 'compile', 'compileStreaming', 'instantiate', 'instantiateStreaming');
loosens(window.IDBFactory && IDBFactory.prototype, 'open');
loosens(window.CacheStorage && CacheStorage.prototype, 'open', 'match');
loosens(window.FontFaceSet && FontFaceSet.prototype, 'load');
loosens(Document.prototype, 'startViewTransition');
const body = Object.getOwnPropertyDescriptor(Response.prototype, 'body');
Object.defineProperty(Response.prototype, 'body', {
  ...body,
  get() {
    loose = true;
    return body.get.call(this);
  },
});

// Observers of what is visible are asked once a frame; what they watch, and who listens for scrolling, tells whether there
// is anything to scroll for.
for (const name of ['IntersectionObserver', 'ResizeObserver']) {
  window[name] = new Proxy(window[name], {
    construct(target, [callback, ...args], made) {
      const stirs = function (...given) {
        lastChange = now();
        return callback.apply(this, given);
      };
      return Reflect.construct(target, [typeof callback === 'function' ? stirs : callback, ...args], made);
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
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...args) {
  if (type === 'scroll' || type === 'scrollend') scrollListeners = true;
  return listen.call(this, type, ...args);
};
const waitsForScroll = () =>
  scrollListeners || window.onscroll || document.onscroll || (document.body && document.body.onscroll) || [...watched.values()].some((targets) => targets.size);

// Changes of the tree, those in shadow roots too, and the scripts and style sheets that scripts add.
const loads = (element) =>
  (element.tagName === 'SCRIPT' && element.src && /^$|module|javascript/i.test(element.type)) ||
  (element.tagName === 'LINK' && element.href && /stylesheet|modulepreload/i.test(element.rel));
const observer = new MutationObserver((records) => {
  for (const record of records) {
    for (const node of record.addedNodes) {
      if (node.nodeType !== 1 || document.readyState === 'loading' || !loads(node)) continue;
      underWay += 1;
      let open = true;
      const done = () => {
        if (open) end();
        open = false;
      };
      node.addEventListener('load', done);
      node.addEventListener('error', done);
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

// Two frames: observers of what is visible have been asked by then.
const frames = () =>
  new Promise((resolve) => {
    later(resolve, 60);
    frame(() => frame(resolve));
  });

// Whether rest came before the deadline.
const rest = (deadline) =>
  new Promise((resolve) => {
    let timer = 0;
    let due = Infinity;
    let framed = -1;
    const finish = (came) => {
      never(timer);
      wake = null;
      resolve(came);
    };
    const look = () => {
      never(timer);
      const at = now();
      if (at >= deadline) return finish(false);
      const silence = loose ? rules.quiet : rules.silence;
      // called late: the thread was kept, or the machine is busy, so others may not have had their turn either
      if (at - due > silence / 2) lastChange = at;
      const busy = underWay > 0 || waiting.some((ids) => ids.size) || document.readyState !== 'complete';
      const missing = silence - (at - lastChange);
      if (!busy && missing <= 0) {
        if (!watched.size || framed === lastChange) return finish(true);
        framed = lastChange;
        frames().then(() => wake && look());
        return;
      }
      const wait = Math.min(deadline - at, busy ? Infinity : missing);
      due = at + wait;
      timer = later(look, wait);
    };
    wake = () => {
      due = Infinity;
      look();
    };
    look();
  });
