// Marks elements that a reader cannot see as `hidden`. Extraction drops them, except those that a control opens.

const styleOf = window.getComputedStyle.bind(window);
const { checkVisibility, getBoundingClientRect, getAnimations, setAttribute, closest, matches } = Element.prototype;
const asked = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false };
const silent = /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|OPTION|TEXTAREA|IFRAME|OBJECT)$/;
const faint = 0.05;

const numbers = (colour) => (colour.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
const alphaOf = (colour) => {
  const parts = numbers(colour.replace(/^color\([\w-]+/, ''));
  return parts.length > 3 ? parts[3] : 1;
};
// Red, green and blue of any colour, or null if no canvas converts it.
const { OffscreenCanvas: Canvas } = window;
let canvas;
const rgbOf = (colour) => {
  if (colour.startsWith('rgb')) return numbers(colour);
  try {
    canvas ??= new Canvas(1, 1).getContext('2d', { willReadFrequently: true });
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  } catch {
    return null;
  }
};
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const isLost = (text, ground) => {
  const [a, b] = [luminance(text), luminance(ground)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 1.15 && text.every((part, at) => at > 2 || Math.abs(part - ground[at]) <= 40);
};

// The colour behind an element, or null if it is a picture or a mixture.
const groundOf = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const style = styleOf(at);
    if (style.backgroundImage !== 'none' || style.position === 'absolute' || style.position === 'fixed') return null;
    const alpha = alphaOf(style.backgroundColor);
    if (alpha >= 1) return rgbOf(style.backgroundColor);
    if (alpha > faint) return null;
  }
  return [255, 255, 255];
};

// True for an inset without space between its sides.
const isEmptyInset = (path) => {
  const sides = /^inset\(([^)]*?)(?: round .*)?\)$/.exec(path)?.[1].split(' ') || [];
  const share = (at) => {
    const side = sides[at] ?? sides[at % 2] ?? sides[0] ?? '';
    return side.endsWith('%') ? parseFloat(side) : 0;
  };
  return share(0) + share(2) >= 99 || share(1) + share(3) >= 99;
};
// True for a clipped box without width or height, and without trailing padding that would show overflow.
const isEmptyBox = (style) => {
  const px = (name) => parseFloat(style[name]) || 0;
  const isBorderBox = style.boxSizing === 'border-box';
  const isEmpty = (size, before, behind, borders) =>
    px(size) - (isBorderBox ? px(before) + px(behind) + borders : 0) <= 1 && px(behind) <= 1 && style[size] !== 'auto';
  return (
    isEmpty('height', 'paddingTop', 'paddingBottom', px('borderTopWidth') + px('borderBottomWidth')) ||
    isEmpty('width', 'paddingLeft', 'paddingRight', px('borderLeftWidth') + px('borderRightWidth'))
  );
};

// True for an element whose box hides any content.
const isClosedBox = (element, style) => {
  if (style.contentVisibility === 'hidden' || /^[a-z-]*gradient\((rgba\(\d+, \d+, \d+, 0\)( [^,()]+)?(, )?)+\)$/.test(style.maskImage)) return true;
  if (style.opacity <= faint || /\bopacity\(0(\.0\d*)?%?\)/.test(style.filter)) return true;
  const isOut = style.position === 'absolute' || style.position === 'fixed';
  const clip = isOut && style.clip !== 'auto' ? numbers(style.clip) : [];
  if (clip.length === 4 && (clip[2] - clip[0] <= 1 || clip[1] - clip[3] <= 1)) return true;
  if (isEmptyInset(style.clipPath) || element.currentCSSZoom <= 0.1) return true;
  if (/^(circle\(0|ellipse\(0|polygon\((0\S* 0[^,]*(, )?)+\))/.test(style.clipPath)) return true;
  const box = getBoundingClientRect.call(element);
  if (style.display !== 'inline' && style.overflow !== 'visible' && (box.width <= 1 || box.height <= 1 || isEmptyBox(style))) return true;
  if (style.transform !== 'none' && (box.width < 1 || box.height < 1)) return true;
  return (isOut || style.transform !== 'none' || parseFloat(style.marginLeft) <= -500) && box.width > 0 && (box.right + window.scrollX <= 0 || box.bottom + window.scrollY <= 0);
};
const isClosedText = (element, style) => {
  if (style.webkitTextSecurity && style.webkitTextSecurity !== 'none') return true;
  if (style.textIndent.endsWith('%') && parseFloat(style.textIndent) >= 100 && style.overflow !== 'visible') return true;
  if (parseFloat(style.fontSize) <= 2 || parseFloat(style.textIndent) <= -500 || parseFloat(style.letterSpacing) <= -6) return true;
  const isDrawn = style.webkitBackgroundClip === 'text' || style.textShadow !== 'none' || parseFloat(style.webkitTextStrokeWidth) > 0;
  const colour = style.webkitTextFillColor || style.color;
  if (isDrawn) return false;
  if (alphaOf(colour) <= faint) return true;
  const [text, ground] = [rgbOf(colour), groundOf(element)];
  return Boolean(text && ground) && isLost(text, ground);
};

// Selectors of rules that show elements, by the classes and ids of their subject.
const showingRules = () => {
  const found = new Map();
  const read = (list) => {
    for (const rule of list) {
      if (rule.cssRules?.length) read(rule.cssRules);
      const { style, selectorText } = rule;
      if (!style || !selectorText) continue;
      const shows = (style.display && style.display !== 'none') || style.opacity > faint || style.visibility === 'visible' || style.maxHeight || style.height;
      if (!shows) continue;
      for (const selector of selectorText.split(',')) {
        const subject = selector.trim().split(/[\s>+~]+(?![^(]*\))/).pop();
        for (const name of subject.match(/[.#][\w-]+/g) || []) found.set(name, [...(found.get(name) || []).slice(-50), selector]);
      }
    }
  };
  for (const sheet of document.styleSheets) {
    try {
      read(sheet.cssRules);
    } catch {
      // a sheet of another origin
    }
  }
  return found;
};
const isShownByRule = (element, rules) => {
  const names = [...element.classList].map((name) => `.${name}`);
  if (element.id) names.push(`#${element.id}`);
  return names.some((name) =>
    (rules.get(name) || []).some((selector) => {
      try {
        return !matches.call(element, selector);
      } catch {
        return false;
      }
    })
  );
};

// True for an element that is shown later: it is folded or animated, a rule shows it in another state, or it takes turns
// with a sibling of the same kind.
const isShownLater = (element, showing) => {
  if (closest.call(element, 'details:not([open]),[hidden=until-found]')) return true;
  if (getAnimations.call(element).length || isShownByRule(element, showing())) return true;
  const classes = [...element.classList];
  return classes.length > 0 && [...(element.parentElement?.children || [])].some((other) => other !== element && other.tagName === element.tagName && classes.every((name) => other.classList.contains(name)) && checkVisibility.call(other, asked));
};

const markHidden = () => {
  if (!document.body || !checkVisibility) return 0;
  const boxes = new Map([[document.body, null]]);
  // Combined opacity of an element and its ancestors.
  const opacities = new Map([[document.body, 1]]);
  const opacityOf = (element) => {
    if (!element) return 1;
    if (!opacities.has(element)) opacities.set(element, styleOf(element).opacity * opacityOf(element.parentElement));
    return opacities.get(element);
  };
  // The outermost ancestor that hides a text by its box.
  const closedBox = (element) => {
    if (!element || boxes.has(element)) return boxes.get(element) || null;
    const outer = closedBox(element.parentElement);
    const closed = outer || (isClosedBox(element, styleOf(element)) || opacityOf(element) <= faint ? element : null);
    boxes.set(element, closed);
    return closed;
  };
  const invisible = (element) => {
    let at = element;
    while (at.parentElement && at.parentElement !== document.body && !checkVisibility.call(at.parentElement, asked)) at = at.parentElement;
    return at;
  };
  const known = new Map();
  const shown = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && known.size < rules.maxTexts) {
    const text = texts.currentNode;
    const element = text.parentElement;
    if (!element || known.has(element) || silent.test(element.tagName) || !/\S/.test(text.data)) continue;
    let cause = null;
    if (!checkVisibility.call(element, asked)) cause = invisible(element);
    else cause = closedBox(element) || (isClosedText(element, styleOf(element)) ? element : null);
    known.set(element, cause);
    if (!cause) for (let at = element; at && !shown.has(at); at = at.parentElement) shown.add(at);
  }
  let rulesThatShow = null;
  const showing = () => (rulesThatShow ??= showingRules());
  const causes = new Set(known.values());
  const hidden = [...causes].filter((cause) => cause && cause !== document.body && !isShownLater(cause, showing));
  for (const element of hidden) {
    if (!shown.has(element)) setAttribute.call(element, 'hidden', '');
    else for (const text of [...element.childNodes]) if (text.nodeType === 3) text.remove();
  }
  return hidden.length;
};

