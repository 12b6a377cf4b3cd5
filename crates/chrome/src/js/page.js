// Runs before any script of a document, in every frame. `RULES` stands for the rules as JSON.
// In the top frame it keeps count of what is under way (requests, short timers, scripts that load), so that rest is seen
// from events; `run`, which is called once a page, waits for it, dismisses consent, scrolls and gives the HTML.
(() => {
  'use strict';
  const rules = RULES;

  // Nothing that asks a person, and no windows.
  const answers = { alert: undefined, print: undefined, confirm: false, prompt: null, open: null };
  for (const [name, answer] of Object.entries(answers)) window[name] = () => answer;
  window.addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true);
  // Service workers outlive the page and answer in the network's place.
  delete Navigator.prototype.serviceWorker;
  if (window.top !== window) return;

  const now = performance.now.bind(performance);
  const later = window.setTimeout.bind(window);
  const never = window.clearTimeout.bind(window);
  let underWay = 0;
  let lastChange = now();
  let wake = null;
  const timers = new Set();

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

  // Requests: until their headers and, for whoever reads it whole, their body are there. Streams that are read piece by
  // piece are not waited for, nor are event sources and sockets.
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

  // Short timers that were set soon: what a page shows after a moment. A timer that sets the next one, and so on, is a
  // clock, and a clock is not waited for.
  let depth = 0;
  let timersUntil = now() + rules.timerWindow;
  window.setTimeout = function (action, delay, ...args) {
    const counts = typeof action === 'function' && !(delay > rules.timerDelay) && depth < rules.timerDepth && now() < timersUntil;
    if (!counts) return later(action, delay, ...args);
    const level = depth + 1;
    const id = later(
      function (...given) {
        timers.delete(id);
        const outer = depth;
        depth = level;
        try {
          return action.apply(this, given);
        } finally {
          depth = outer;
          changed();
        }
      },
      delay,
      ...args
    );
    timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    if (timers.delete(id)) changed();
    never(id);
  };

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

  // Scripts and style sheets that scripts add.
  const loads = (element) =>
    (element.tagName === 'SCRIPT' && element.src && /^$|module|javascript/i.test(element.type)) ||
    (element.tagName === 'LINK' && element.href && /stylesheet|modulepreload/i.test(element.rel));
  new MutationObserver((records) => {
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
  }).observe(document, { childList: true, subtree: true, characterData: true });
  document.addEventListener('readystatechange', changed);

  // Whether rest came before the deadline.
  const rest = (deadline) =>
    new Promise((resolve) => {
      let timer = 0;
      let due = Infinity;
      const finish = (came) => {
        never(timer);
        wake = null;
        resolve(came);
      };
      const look = () => {
        never(timer);
        const at = now();
        if (at >= deadline) return finish(false);
        // a page that kept the thread that long was at work, whether it changed the tree or only lays it out
        if (at - due > rules.quiet) lastChange = at;
        const busy = underWay > 0 || timers.size > 0 || document.readyState !== 'complete';
        const missing = rules.quiet - (at - lastChange);
        if (!busy && missing <= 0) return finish(true);
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

  const words = (text) => (text.match(/\S+/g) || []).length;
  const wordsOfName = (element) =>
    `${element.id} ${element.getAttribute('class') || ''}`
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z]+/);

  const bySelectors = () => {
    const { selectors } = rules.consent;
    if (!selectors.length) return [];
    try {
      return [...document.querySelectorAll(selectors.join(','))];
    } catch {
      // one that this browser does not know must not cost the others
      return selectors.flatMap((selector) => {
        try {
          return [...document.querySelectorAll(selector)];
        } catch {
          return [];
        }
      });
    }
  };

  // Widgets whose names are made up: a word of the name and a phrase of the text, unless long, most of the page, or
  // (in) an article.
  const bySweep = () => {
    const { tokens, phrases, maxWords, maxShare } = rules.consent;
    if (!tokens.length) return [];
    const named = tokens.map((token) => `[id*="${token}" i],[class*="${token}" i]`).join(',');
    let limit = -1;
    return [...document.querySelectorAll(named)].filter((element) => {
      if (element.closest('article,main,a,code') || element.querySelector('article,main,h1')) return false;
      if (!wordsOfName(element).some((word) => tokens.includes(word))) return false;
      const text = (element.innerText || '').toLowerCase();
      if (limit < 0) limit = Math.min(maxWords, words(document.body.innerText) * maxShare);
      return text && words(text) <= limit && phrases.some((phrase) => text.includes(phrase));
    });
  };

  const press = (banner) => {
    const labels = new Map();
    for (const button of banner.querySelectorAll('button,[role=button],input[type=button],input[type=submit],a')) {
      // a link that leads elsewhere is no button
      if (button.tagName === 'A' && !/^(#|javascript:|$)/i.test(button.getAttribute('href') || '')) continue;
      const label = (button.innerText || button.value || '').trim().toLowerCase().replace(/\s+/g, ' ');
      if (label && !labels.has(label)) labels.set(label, button);
    }
    const label = rules.buttons.find((known) => labels.has(known));
    if (label) labels.get(label).click();
    return Boolean(label);
  };

  const dismiss = async (deadline) => {
    if (!document.body) return 0;
    const found = [...new Set([...bySelectors(), ...bySweep()])].filter(
      (element) => !['HTML', 'HEAD', 'BODY', 'MAIN', 'SCRIPT', 'STYLE'].includes(element.tagName)
    );
    const outer = found.filter((element) => !found.some((other) => other !== element && other.contains(element)));
    if (!outer.length) return 0;
    let pressed = false;
    for (const banner of outer.slice(0, 3)) {
      try {
        pressed = press(banner) || pressed;
      } catch {
        // the page's own handler failed: the banner is removed below
      }
    }
    timersUntil = now() + rules.timerWindow;
    if (pressed) await rest(deadline);
    for (const banner of outer) banner.remove();
    for (const element of [document.documentElement, document.body]) {
      if (element && getComputedStyle(element).overflowY === 'hidden') element.style.setProperty('overflow', 'visible', 'important');
    }
    return outer.length;
  };

  // Two frames: observers of what is visible have been asked by then.
  const frames = () =>
    new Promise((resolve) => {
      later(resolve, 60);
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    });

  const scroll = async (steps, deadline) => {
    let done = 0;
    while (done < steps && now() < deadline) {
      const page = document.scrollingElement;
      if (!page) break;
      const left = page.scrollHeight - page.scrollTop - window.innerHeight;
      if (left < 2) break;
      const before = lastChange;
      timersUntil = now() + rules.timerWindow;
      window.scrollBy({ top: Math.max(window.innerHeight * 0.9, left / (steps - done)), behavior: 'instant' });
      done += 1;
      await frames();
      if (lastChange !== before || underWay > 0 || timers.size > 0) await rest(Math.min(deadline, now() + rules.stepBudget));
    }
    return done;
  };

  const run = async ({ settle, consent, scrolling, steps, maxHtml }) => {
    const times = [now()];
    const settled = await rest(times[0] + settle);
    times.push(now());
    const dismissed = await dismiss(times[1] + consent);
    times.push(now());
    const scrolls = steps > 0 ? await scroll(steps, times[2] + scrolling) : 0;
    times.push(now());
    const root = document.documentElement;
    const html = root ? root.outerHTML : '';
    const truncated = html.length > maxHtml;
    const goesOn = !settled || truncated || intervals.size > 0;
    return { html: truncated ? html.slice(0, maxHtml) : html, url: location.href, settled, dismissed, scrolls, truncated, goesOn, times };
  };
  Object.defineProperty(window, rules.key, { value: run });
})();
