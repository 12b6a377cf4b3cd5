// When a page is at rest: nothing that can be followed is under way, and what is ready to run has run. If it does what cannot
// be followed, or has next to nothing to show yet, it has to be silent for a while as well.

// A turn of the lowest priority: everything that was ready has had its own.
const turn = () =>
  new Promise((resolve) => {
    if (post) post(resolve, { priority: 'background' });
    else later(resolve, 0);
  });
// A frame: observers of what is visible have been asked, and been told by the turn after it.
const frameShown = () =>
  new Promise((resolve) => {
    later(resolve, 60);
    frame(resolve);
  });
const calm = async (shown) => {
  if (shown) await frameShown();
  await turn();
  await turn();
};

// Whether the page shows text. Stops at the first few words.
const showsText = () => {
  const texts = document.createTreeWalker(document.body || document, NodeFilter.SHOW_TEXT);
  for (let found = 0; texts.nextNode(); ) {
    if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(texts.currentNode.parentNode.nodeName)) continue;
    found += (texts.currentNode.data.match(/\S+/g) || []).length;
    if (found >= rules.someWords) return true;
  }
  return false;
};
// How long it has to be silent, in ms.
const patience = () => {
  if (loose || document.querySelector('meta[http-equiv=refresh i]')) return rules.quiet;
  const ticks = clocks.some((ids) => ids.size) || animationListeners;
  return ticks || now() - lastMessage < rules.silence || !showsText() ? rules.silence : 0;
};
const isBusy = () => underWay > 0 || waiting.some((ids) => ids.size) || document.readyState !== 'complete';

// Whether rest came before the deadline.
const rest = (deadline) =>
  new Promise((resolve) => {
    let timer = 0;
    let due = Infinity;
    let calming = false;
    let calmed = -1;
    let open = true;
    const finish = (came) => {
      never(timer);
      open = false;
      wake = null;
      resolve(came);
    };
    const wait = (until) => {
      due = Math.min(deadline, until);
      timer = later(look, due - now());
    };
    const becalm = async (isLast) => {
      const before = lastChange;
      calming = true;
      await calm(isLast && framed);
      calming = false;
      if (!open) return;
      if (before === lastChange) calmed = before;
      if (isLast && before === lastChange && !isBusy() && now() < deadline) finish(true);
      else look();
    };
    const look = () => {
      never(timer);
      const at = now();
      if (at >= deadline) return finish(false);
      if (isBusy() || calming) return wait(Infinity);
      const silence = patience();
      // called late: the thread was kept, or the machine is busy, so others may not have had their turn either
      if (at - due > silence / 2) lastChange = at;
      const isLast = at - lastChange >= silence;
      // what is ready to run may bring what is missing
      if (!isLast && calmed === lastChange) return wait(lastChange + silence);
      wait(Infinity);
      becalm(isLast);
    };
    wake = () => {
      due = Infinity;
      look();
    };
    look();
  });
