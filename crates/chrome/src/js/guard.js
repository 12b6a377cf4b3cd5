// In every frame: nothing that asks a person, no windows, and nothing that outlives the page.

const answers = { alert: undefined, print: undefined, confirm: false, prompt: null, open: null };
for (const [name, answer] of Object.entries(answers)) window[name] = () => answer;
window.addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true);
// Service workers answer in the network's place, for later pages too.
delete Navigator.prototype.serviceWorker;
if (window.top !== window) return;
