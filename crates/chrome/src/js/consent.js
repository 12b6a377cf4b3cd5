// Dismisses consent banners by the rules of the static path: presses a known button, then removes them.

const words = (text) => (text.match(/\S+/g) || []).length;
const wordsOfName = (element) =>
  `${element.id} ${element.getAttribute('class') || ''}`
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
const bySelectors = (selectors) => {
  if (!selectors.length) return [];
  try {
    return [...document.querySelectorAll(selectors.join(','))];
  } catch {
    // a selector unknown to this browser must not disable the others
    return selectors.flatMap((selector) => {
      try {
        return [...document.querySelectorAll(selector)];
      } catch {
        return [];
      }
    });
  }
};

const asks = (text) => rules.consent.phrases.some((phrase) => text.includes(phrase));

// Overlays that ask for consent, under any name and of any size.
const byOverlay = () =>
  bySelectors(rules.consent.overlays).filter((element) => {
    if (element.closest('article') || element.querySelector('article,main')) return false;
    if (!element.querySelector('button,[role=button],input,a')) return false;
    const text = (element.innerText || '').toLowerCase();
    return text && words(text) <= rules.consent.maxOverlayWords && asks(text);
  });

// Widgets with invented names: a word of the name and a phrase of the text, unless long, most of the page, or (in) an article.
const bySweep = () => {
  const { tokens, maxWords, maxShare } = rules.consent;
  if (!tokens.length) return [];
  const named = tokens.map((token) => `[id*="${token}" i],[class*="${token}" i]`).join(',');
  let limit = -1;
  return [...document.querySelectorAll(named)].filter((element) => {
    if (element.closest('article,main,a,code') || element.querySelector('article,main,h1')) return false;
    if (!wordsOfName(element).some((word) => tokens.includes(word))) return false;
    const text = (element.innerText || '').toLowerCase();
    if (limit < 0) limit = Math.min(maxWords, words(document.body.innerText) * maxShare);
    return text && words(text) <= limit && asks(text);
  });
};

const press = (banner) => {
  const labels = new Map();
  for (const button of banner.querySelectorAll('button,[role=button],input[type=button],input[type=submit],a')) {
    // a link to another page is no button
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
  const found = [...new Set([...bySelectors(rules.consent.selectors), ...byOverlay(), ...bySweep()])].filter(
    (element) => !['HTML', 'HEAD', 'BODY', 'MAIN', 'SCRIPT', 'STYLE'].includes(element.tagName)
  );
  const outer = found.filter((element) => !found.some((other) => other !== element && other.contains(element)));
  if (!outer.length) return 0;
  let pressed = false;
  for (const banner of outer.slice(0, 3)) {
    try {
      pressed = press(banner) || pressed;
    } catch {
      // the page's handler failed: the banner is removed below
    }
  }
  followUntil = now() + rules.timerWindow;
  if (pressed) await rest(deadline);
  for (const banner of outer) banner.remove();
  for (const element of [document.documentElement, document.body]) {
    if (element && getComputedStyle(element).overflowY === 'hidden') element.style.setProperty('overflow', 'visible', 'important');
  }
  return outer.length;
};

