// The HTML of the page, and `run`, which is called once per page: it waits until the page settles, dismisses consent,
// scrolls, and returns the HTML.

const rootOf = (element) => roots.get(element) || element.shadowRoot;

// The visible tree: an element with a shadow root gets the root's content, with its own children in the slots. A
// declarative shadow root would be a template, which holds no text.
const flat = (node, page) => {
  if (node.nodeType !== 1 || node.tagName === 'TEMPLATE') return page.importNode(node, true);
  const copy = page.importNode(node, false);
  const root = rootOf(node);
  for (const child of (root || node).childNodes) {
    const given = child.tagName === 'SLOT' && child.getRootNode() instanceof ShadowRoot ? child.assignedNodes({ flatten: true }) : [];
    // the style of a shadow root must not apply to the whole page
    if (root && child.tagName === 'STYLE') continue;
    for (const shown of given.length ? given : [child]) copy.append(flat(shown, page));
  }
  return copy;
};
const htmlOf = (root) => {
  if (!root) return '';
  if ([...root.querySelectorAll('*')].some(rootOf)) {
    try {
      // in a document without a window no custom element is constructed
      return flat(root, document.implementation.createHTMLDocument('')).outerHTML;
    } catch {
      // deeper than the stack
    }
  }
  return root.outerHTML;
};

// A lone surrogate is half of a character, as a cut within an emoji leaves it; serde_json refuses it.
const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed || function () {
  return this.replace(/\p{Surrogate}/gu, '\ufffd');
});

// Cookies that scripts cannot see come with a response, which the crawler sees; frames may have their own.
const mayHaveCookies = () => {
  try {
    return document.cookie !== '' || window.length > 0;
  } catch {
    // a sandboxed page
    return true;
  }
};

const run = async ({ until, refreshes, inert, consent, scrolling, steps, maxHtml }) => {
  if (refreshes) loose = true;
  const start = now();
  const times = [start];
  // without scripts no timer runs; the caller asks again until the page is loaded
  if (inert && document.readyState !== 'complete' && clock() < until) {
    return { html: '', url: location.href, settled: false, dismissed: 0, scrolls: 0, truncated: false, goesOn: false, cookies: false, times: [start, start, start, start] };
  }
  const settled = inert ? document.readyState === 'complete' : await rest(start + until - clock());
  times.push(now());
  const dismissed = inert ? 0 : await dismiss(times[1] + consent);
  times.push(now());
  const scrolls = steps > 0 && !inert ? await scroll(steps, times[2] + scrolling) : 0;
  times.push(now());
  try {
    markHidden();
  } catch {
    // a page that has broken these functions is taken in its current state
  }
  const html = htmlOf(document.documentElement);
  const truncated = html.length > maxHtml;
  const goesOn = !settled || truncated || intervals.size > 0;
  return { html: wellFormed(truncated ? html.slice(0, maxHtml) : html), url: location.href, settled, dismissed, scrolls, truncated, goesOn, cookies: mayHaveCookies(), times };
};
Object.defineProperty(window, rules.key, { value: run });
