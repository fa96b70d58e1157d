// Elements and charts.

/** h("td.num", {title: "x"}, "text", child) */
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export function human(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) { bytes /= 1024; at += 1; }
  return `${at && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

export function short(number) {
  if (number >= 1e9) return `${(number / 1e9).toFixed(1)}G`;
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)}M`;
  if (number >= 1e4) return `${(number / 1e3).toFixed(1)}k`;
  return Number.isInteger(number) ? String(number) : number.toFixed(number < 10 ? 2 : 0);
}

const WIDTH = 300, HEIGHT = 100, POINTS = 120;

/** A card with a line for each series over the last few minutes. */
export class Chart {
  constructor(title, series, format) {
    this.format = format;
    this.points = series.map(() => []);
    this.svg = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    for (const y of [1, 50, 99]) this.svg.append(svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y }));
    this.lines = series.map((_, i) => {
      const line = svg("polyline", { class: `line c${i % 5 + 1}`, points: "" });
      this.svg.append(line);
      return line;
    });
    this.values = series.map(() => h("b", {}, "–"));
    this.top = h("span.faint", {}, "");
    const legend = h("div.legend", {}, ...series.map((name, i) =>
      h(`span.c${i % 5 + 1}`, {}, h("i"), `${name} `, this.values[i])));
    this.card = h("section.card", {}, h("h2", {}, title), this.svg, legend, this.top);
  }

  add(values) {
    this.points.forEach((points, i) => {
      points.push(values[i] ?? 0);
      if (points.length > POINTS) points.shift();
    });
    const most = Math.max(...this.points.flat(), 0) || 1;
    this.points.forEach((points, i) => {
      const at = (value, x) => `${(x * WIDTH / (POINTS - 1)).toFixed(1)},${(HEIGHT - 2 - value / most * (HEIGHT - 4)).toFixed(1)}`;
      this.lines[i].setAttribute("points", points.map(at).join(" "));
      this.values[i].textContent = this.format(points[points.length - 1]);
    });
    this.top.textContent = `top of the chart: ${this.format(most)}`;
  }
}

/** A bar for each number. */
export function bars(title, numbers) {
  const most = Math.max(...numbers, 1);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${numbers.length} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  numbers.forEach((number, x) => {
    const height = number / most * HEIGHT;
    picture.append(svg("rect", { class: "bar c1", x, y: HEIGHT - height, width: 0.9, height }));
  });
  return picture;
}
