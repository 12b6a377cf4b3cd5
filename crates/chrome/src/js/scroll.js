// Scrolls for lazy content, if the page reacts to scrolling.

const scroll = async (steps, deadline) => {
  let done = 0;
  while (done < steps && now() < deadline && waitsForScroll()) {
    const page = document.scrollingElement;
    if (!page) break;
    const left = page.scrollHeight - page.scrollTop - window.innerHeight;
    if (left < 2) break;
    const before = lastChange;
    followUntil = now() + rules.timerWindow;
    window.scrollBy({ top: Math.max(window.innerHeight * 0.9, left / (steps - done)), behavior: 'instant' });
    done += 1;
    await frameShown();
    await turn();
    if (lastChange !== before || isBusy()) await rest(Math.min(deadline, now() + rules.stepBudget));
  }
  return done;
};
