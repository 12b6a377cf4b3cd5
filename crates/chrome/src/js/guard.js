// In every frame: no dialogs, no windows, and no state that outlives the page.

const answers = { alert: undefined, print: undefined, confirm: false, prompt: null, open: null };
for (const [name, answer] of Object.entries(answers)) window[name] = () => answer;
window.addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true);
// Service workers would answer instead of the network, also for later pages.
delete Navigator.prototype.serviceWorker;
if (window.top !== window) return;
