// Marks elements that a reader cannot see as `hidden`. Extraction drops them, except those that a control opens.

const styleOf = window.getComputedStyle.bind(window);
const { checkVisibility, getBoundingClientRect, getAnimations, setAttribute, closest, matches } = Element.prototype;
const asked = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false };
const silent = /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|OPTION|TEXTAREA|IFRAME|OBJECT)$/;
const faint = 0.05;

// A function of a text that remembers its results. Elements share few colours, shapes and lengths.
const remembered = (plain) => {
  const results = new Map();
  return (text) => {
    if (!results.has(text)) results.set(text, plain(text));
    return results.get(text);
  };
};

const numbers = (colour) => (colour.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
const alphaOf = remembered((colour) => {
  const parts = numbers(colour.replace(/^color\([\w-]+/, ''));
  return parts.length > 3 ? parts[3] : 1;
});
// Red, green and blue of any colour, or null if no canvas converts it.
const { OffscreenCanvas: Canvas } = window;
let canvas;
const rgbOf = remembered((colour) => {
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
});
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const isLost = (text, ground) => {
  const [a, b] = [luminance(text), luminance(ground)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 1.15 && text.every((part, at) => at > 2 || Math.abs(part - ground[at]) <= 40);
};

// The colour behind an element, or null if it is a picture or a mixture. `grounds` holds those of its ancestors.
const groundOf = (element, grounds) => {
  if (!element) return [255, 255, 255];
  if (grounds.has(element)) return grounds.get(element);
  const style = styleOf(element);
  const { position } = style;
  let ground = null;
  if (style.backgroundImage === 'none' && position !== 'absolute' && position !== 'fixed') {
    const colour = style.backgroundColor;
    const alpha = alphaOf(colour);
    if (alpha >= 1) ground = rgbOf(colour);
    else if (alpha <= faint) ground = groundOf(element.parentElement, grounds);
  }
  grounds.set(element, ground);
  return ground;
};

// True for an inset without space between its sides.
const isEmptyInset = remembered((path) => {
  const sides = /^inset\(([^)]*?)(?: round .*)?\)$/.exec(path)?.[1].split(' ') || [];
  const share = (at) => {
    const side = sides[at] ?? sides[at % 2] ?? sides[0] ?? '';
    return side.endsWith('%') ? parseFloat(side) : 0;
  };
  return share(0) + share(2) >= 99 || share(1) + share(3) >= 99;
});
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

// True for an element whose box hides any content. Each value is read once, and a place, which takes longest, only where it
// decides.
const isClosedBox = (element, style) => {
  if (style.contentVisibility === 'hidden') return true;
  const { maskImage, filter, position, clipPath, transform } = style;
  if (maskImage !== 'none' && /^[a-z-]*gradient\((rgba\(\d+, \d+, \d+, 0\)( [^,()]+)?(, )?)+\)$/.test(maskImage)) return true;
  if (filter !== 'none' && /\bopacity\(0(\.0\d*)?%?\)/.test(filter)) return true;
  const isOut = position === 'absolute' || position === 'fixed';
  const clip = isOut && style.clip !== 'auto' ? numbers(style.clip) : [];
  if (clip.length === 4 && (clip[2] - clip[0] <= 1 || clip[1] - clip[3] <= 1)) return true;
  if (clipPath !== 'none' && (isEmptyInset(clipPath) || /^(circle\(0|ellipse\(0|polygon\((0\S* 0[^,]*(, )?)+\))/.test(clipPath))) return true;
  if (element.currentCSSZoom <= 0.1) return true;
  const isCut = style.overflow !== 'visible' && style.display !== 'inline';
  const isMoved = isOut || transform !== 'none' || parseFloat(style.marginLeft) <= -500;
  if (!isCut && !isMoved) return false;
  const { width, height, right, bottom } = getBoundingClientRect.call(element);
  if (isCut && (width <= 1 || height <= 1 || isEmptyBox(style))) return true;
  if (transform !== 'none' && (width < 1 || height < 1)) return true;
  return isMoved && width > 0 && (right + window.scrollX <= 0 || bottom + window.scrollY <= 0);
};
const isClosedText = (element, style, grounds) => {
  const { webkitTextSecurity: security, textIndent } = style;
  if (security && security !== 'none') return true;
  const indent = parseFloat(textIndent);
  if (indent >= 100 && textIndent.endsWith('%') && style.overflow !== 'visible') return true;
  if (indent <= -500 || parseFloat(style.fontSize) <= 2 || parseFloat(style.letterSpacing) <= -6) return true;
  const isDrawn = style.webkitBackgroundClip === 'text' || style.textShadow !== 'none' || parseFloat(style.webkitTextStrokeWidth) > 0;
  if (isDrawn) return false;
  const colour = style.webkitTextFillColor || style.color;
  if (alphaOf(colour) <= faint) return true;
  const [text, ground] = [rgbOf(colour), groundOf(element, grounds)];
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
  // The outermost ancestor that hides a text by its box.
  const closedBox = (element) => {
    if (!element || boxes.has(element)) return boxes.get(element) || null;
    const parent = element.parentElement;
    let closed = closedBox(parent);
    if (!closed) {
      const style = styleOf(element);
      const opacity = style.opacity * (opacities.get(parent) ?? 1);
      opacities.set(element, opacity);
      if (opacity <= faint || isClosedBox(element, style)) closed = element;
    }
    boxes.set(element, closed);
    return closed;
  };
  const grounds = new Map();
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
    else cause = closedBox(element) || (isClosedText(element, styleOf(element), grounds) ? element : null);
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

