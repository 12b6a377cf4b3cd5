// The playwright side of compare_chrome.py: pages through playwright-core, waiting by one awaited promise.
//
//     node compare_chrome.mjs PLAYWRIGHT_FOLDER CHROMIUM TABS told|rest QUIET_MS
//
// Reads lines of JSON, each a list of [url, text], renders them in TABS reused tabs, and answers with a line of JSON.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [folder, executablePath, tabs, wait, quiet] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)('playwright-core');

// told: the page reports itself that it is ready, unlike real pages; rest: no change for a while.
const told = () =>
  new Promise((resolve) => {
    const look = () => document.getElementById('end') && (observer.disconnect(), resolve(true));
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
    look();
  });
const rest = (ms) =>
  new Promise((resolve) => {
    const done = () => (observer.disconnect(), resolve(true));
    let timer = setTimeout(done, ms);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(done, ms);
    });
    observer.observe(document, { childList: true, subtree: true, characterData: true });
  });

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const context = await browser.newContext();
const open = await Promise.all(Array.from({ length: Number(tabs) }, () => context.newPage()));
for await (const line of createInterface({ input: process.stdin })) {
  const queue = JSON.parse(line);
  const answer = { found: 0, missed: [], chars: 0 };
  const start = performance.now();
  const work = async (page) => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [url, text] = next;
      await page.goto(url, { waitUntil: 'domcontentloaded' });
      await page.evaluate(wait === 'told' ? told : rest, Number(quiet));
      const html = await page.content();
      answer.chars += html.length;
      if (html.includes(text)) answer.found += 1;
      else answer.missed.push(url);
    }
  };
  await Promise.all(open.map(work));
  console.log(JSON.stringify({ ...answer, seconds: (performance.now() - start) / 1000 }));
}
await browser.close();
