// The HTML of the page, and `run`, which is called once a page: it waits for rest, dismisses consent, scrolls, and gives the
// HTML.

const rootOf = (element) => roots.get(element) || element.shadowRoot;

// The tree as a reader sees it: the content of an element with a shadow root is that of the root, and what stands in the element
// stands where its slot is. As a declarative shadow root it would be a template, which holds no text.
const flat = (node, page) => {
  if (node.nodeType !== 1 || node.tagName === 'TEMPLATE') return page.importNode(node, true);
  const copy = page.importNode(node, false);
  const root = rootOf(node);
  for (const child of (root || node).childNodes) {
    const given = child.tagName === 'SLOT' && child.getRootNode() instanceof ShadowRoot ? child.assignedNodes({ flatten: true }) : [];
    // the style of a shadow root is its own and would be everybody's
    if (root && child.tagName === 'STYLE') continue;
    for (const shown of given.length ? given : [child]) copy.append(flat(shown, page));
  }
  return copy;
};
const htmlOf = (root) => {
  if (!root) return '';
  if ([...root.querySelectorAll('*')].some(rootOf)) {
    try {
      // in a document without a window no element of the page's own comes to life
      return flat(root, document.implementation.createHTMLDocument('')).outerHTML;
    } catch {
      // deeper than the stack
    }
  }
  return root.outerHTML;
};

// Those that a script may not see come with a response, which the crawler sees; frames may have their own.
const mayHaveCookies = () => {
  try {
    return document.cookie !== '' || window.length > 0;
  } catch {
    // a sandboxed page
    return true;
  }
};

const run = async ({ until, refreshes, consent, scrolling, steps, maxHtml }) => {
  if (refreshes) loose = true;
  const start = now();
  const times = [start];
  const settled = await rest(start + until - clock());
  times.push(now());
  const dismissed = await dismiss(times[1] + consent);
  times.push(now());
  const scrolls = steps > 0 ? await scroll(steps, times[2] + scrolling) : 0;
  times.push(now());
  try {
    markHidden();
  } catch {
    // a page that has broken what is asked for is taken as it stands
  }
  const html = htmlOf(document.documentElement);
  const truncated = html.length > maxHtml;
  const goesOn = !settled || truncated || intervals.size > 0;
  return { html: truncated ? html.slice(0, maxHtml) : html, url: location.href, settled, dismissed, scrolls, truncated, goesOn, cookies: mayHaveCookies(), times };
};
Object.defineProperty(window, rules.key, { value: run });
