// A page has settled when no tracked work is pending and ready tasks have run. With untrackable activity, or with little
// text so far, it must be silent for a while as well.

// A task of the lowest priority: all ready tasks run before it.
const turn = () =>
  new Promise((resolve) => {
    if (post) post(resolve, { priority: 'background' });
    else later(resolve, 0);
  });
// A frame: visibility observers have run, and their callbacks have run by the next task.
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

// True if the page shows text. Stops at the first few words.
const showsText = () => {
  const texts = document.createTreeWalker(document.body || document, NodeFilter.SHOW_TEXT);
  for (let found = 0; texts.nextNode(); ) {
    if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(texts.currentNode.parentNode.nodeName)) continue;
    found += (texts.currentNode.data.match(/\S+/g) || []).length;
    if (found >= rules.someWords) return true;
  }
  return false;
};
// Required silence, in ms.
const patience = () => {
  if (loose || document.querySelector('meta[http-equiv=refresh i]')) return rules.quiet;
  const ticks = clocks.some((ids) => ids.size) || animationListeners;
  return ticks || now() - lastMessage < rules.silence || !showsText() ? rules.silence : 0;
};
const isBusy = () => underWay > 0 || waiting.some((ids) => ids.size) || document.readyState !== 'complete';

// Resolves to true if the page settles before the deadline.
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
      // called late: the thread was blocked, or the machine is busy, so other tasks may be late too
      if (at - due > silence / 2) lastChange = at;
      const isLast = at - lastChange >= silence;
      // ready tasks may add the missing content
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
