const by = id => document.getElementById(id);
const number = n => n.toLocaleString("en");
const score = n => n.toFixed(3);
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties || {});
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
};
const svg = (name, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
};

// bars: { from, value }; mark: { at: share of the width, name }, where a threshold lies
function plot(title, bars, unit, end, mark) {
  const figure = make("figure", { className: "plot" }, make("figcaption", {}, title));
  // a mark has its name above the bars
  const width = 360, height = 150, floor = 128, room = mark ? 32 : 18, most = Math.max(1, ...bars.map(bar => bar.value));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const step = width / Math.max(1, bars.length);
  bars.forEach((bar, at) => {
    // a bar that is there is seen
    const tall = bar.value ? Math.max(2, bar.value / most * (floor - room)) : 0;
    const rect = svg("rect", { x: at * step + 1, y: floor - tall, width: Math.max(1, step - 2), height: tall, rx: 1 });
    rect.append(svg("title", {}, `${bar.from}: ${number(bar.value)} ${unit}`));
    picture.append(rect);
    if (bar.value && (step > 24 || bar.value === most))
      picture.append(at * step < 20 && step < 24 ? svg("text", { x: at * step, y: floor - tall - 4 }, number(bar.value))
        : at * step > width - 40 && step < 24 ? svg("text", { x: width, y: floor - tall - 4, "text-anchor": "end" }, number(bar.value))
        : svg("text", { x: at * step + step / 2, y: floor - tall - 4, "text-anchor": "middle" }, number(bar.value)));
    if (step > 24 || at % 5 === 0)
      picture.append(svg("text", { x: at * step + (step > 24 ? step / 2 : 0), y: height - 6, "text-anchor": step > 24 ? "middle" : "start" }, bar.name ?? bar.from));
  });
  picture.append(svg("line", { x1: 0, x2: width, y1: floor, y2: floor, stroke: "currentColor", "stroke-opacity": .25 }));
  if (mark) picture.append(svg("line", { x1: mark.at * width, x2: mark.at * width, y1: 6, y2: floor, stroke: "currentColor", "stroke-dasharray": "4 3" }),
    svg("text", { x: mark.at * width + (mark.at > .6 ? -4 : 4), y: 10, "text-anchor": mark.at > .6 ? "end" : "start" }, mark.name));
  if (end) picture.append(svg("text", { x: width, y: height - 6, "text-anchor": "end" }, end));
  if (!bars.some(bar => bar.value)) picture.append(svg("text", { x: width / 2, y: 70, "text-anchor": "middle" }, "none"));
  figure.append(picture);
  return figure;
}
