// Helpers that all widgets share. A widget's module is one text: assets.py puts this file in place of
// the line that imports it.

/** A scale of colours: straight lines between stops, given as hexadecimal digits in one text. */
export function colourScale(digits) {
  const stops = Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
  const last = stops.length / 3 - 1;
  return (t) => {
    const at = Math.min(1, Math.max(0, t)) * last;
    const i = Math.min(Math.floor(at), last - 1);
    return [0, 1, 2].map((k) => Math.round(stops[3 * i + k] * (1 - at + i) + stops[3 * i + 3 + k] * (at - i)));
  };
}

/**
 * The colours of weights, as in the figures: every fifth of matplotlib's 256 of cividis. Lines between them are off by
 * at most 4/255, in the blue of the darkest.
 * @type {(t: number) => [number, number, number]} from 0 to 1, clipped, to red, green, blue up to 255
 */
export const cividis = colourScale(
  "00224e002656002a5f002d68003070083370163770203a6f273e6e2e416d34456c3a486c3f4c6c" +
    "444f6c49536c4e566c535a6d575d6d5c616e60646f656870696b716d6f727272747676767a7a78" +
    "7e7d788381798885788d8878928c789690779b9476a09875a59c74aaa073afa471b5a86fbaac6d" +
    "bfb06bc4b468c9b965cfbd62d4c15fdac65bdfca57e5cf52ead34cf0d846f6dd3ffce236fee838",
);

/** Black or white, whichever reads better on a colour: never under 4.58:1. */
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/** Colour a cell of a table by a weight from 0 to 1. */
export function heat(cell, weight) {
  const colour = cividis(weight);
  cell.style.background = `rgb(${colour})`;
  cell.style.color = inkOn(colour);
}

/** A number to three significant digits, as short as it can be read. */
export function format(x) {
  if (Number.isNaN(x)) return "not a number";
  if (!Number.isFinite(x)) return x > 0 ? "infinity" : "−infinity";
  const size = Math.abs(x);
  let text;
  if (size === 0) text = "0";
  else if (size < 1e-4 || size >= 1e6) text = size.toExponential(1).replace("e+", "e").replace("e-", "e−");
  else if (size >= 999.5) text = String(Math.round(size));
  else text = size.toPrecision(3);
  return (x < 0 ? "−" : "") + text;
}

/** "1 token", "2 tokens". */
export const several = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text made safe inside SVG or HTML; characters that XML forbids are dropped. */
export function escape(text) {
  return String(text)
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "")
    .replace(/[&<>"]/g, (c) => ESCAPES[c]);
}

/** One SVG element as text. */
export function mark(tag, attributes = {}, inside = "") {
  const said = Object.entries(attributes).map(
    ([name, value]) => ` ${name}="${typeof value === "number" ? +value.toFixed(2) : escape(value)}"`,
  );
  return `<${tag}${said.join("")}>${inside}</${tag}>`;
}

const CONTROLS = ["button", "input", "select", "summary"];

/** One HTML element; functions become listeners, the rest properties or attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  // JupyterLab takes the arrow keys for its cells, unless the very element that has the focus says no.
  if (CONTROLS.includes(tag) || properties.tabIndex === 0) element.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

export const div = (className, ...inside) => make("div", { className }, ...inside);
export const note = (textContent) => make("p", { className: "acw-note", textContent });
export const button = (textContent, onclick) => make("button", { type: "button", textContent, onclick });

/** A prefix for ids that no other widget on the page has. */
export const uniqueId = () => `acw-${Math.random().toString(36).slice(2, 10)}`;

/** Listen to changes of a model's traits, once per burst of them; returns what stops it. */
export function watch(model, names, update) {
  let waiting = false;
  let stopped = false;
  const changed = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      if (!stopped) update();
    });
  };
  for (const name of names) model.on(`change:${name}`, changed);
  return () => {
    stopped = true;
    for (const name of names) model.off(`change:${name}`, changed);
  };
}

/** The outermost element of a widget. */
export function shell(name, label, ...inside) {
  const group = { role: "group", "aria-label": label, "data-lm-suppress-shortcuts": "true" };
  return make("div", { className: `acw acw-${name}`, ...group }, ...inside);
}

/**
 * A widget's module. `build` is given the model, `write` to set traits and tell Python, and `read` for the values of
 * these traits. It returns the root element, `update` to bring that up to date whenever one of them changes, and
 * perhaps `begin`: called once the root is on the page, it returns the functions that end what it began.
 */
export const widget = (traits, build) => ({
  render({ model, el }) {
    const read = () => Object.fromEntries(traits.map((name) => [name, model.get(name)]));
    const write = (changes) => {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes(); // at once: Jupyter's echo of an earlier change would undo one that it was not told of
    };
    const { root, update, begin = () => [] } = build({ model, write, read });
    el.append(root);
    update();
    const stops = [watch(model, traits, update), ...begin()];
    return () => {
      for (const stop of stops) stop();
      root.remove();
    };
  },
});

/** A labelled choice of values, or of [value, words]. @param {(value: string, index: number) => void} chosen */
export function choice(words, chosen, options = []) {
  const id = uniqueId();
  const select = make("select", { id, onchange: () => chosen(select.value, select.selectedIndex) });
  select.append(...options.map(option));
  return { select, field: make("div", { className: "acw-field" }, make("label", { for: id, textContent: words }), select) };
}

function option(entry) {
  const [value, textContent = value] = [entry].flat();
  return make("option", { value, textContent });
}

/** Offer these in a choice; hidden where there is nothing to choose. */
export function offer({ select, field }, options) {
  field.hidden = options.length < 2;
  select.replaceChildren(...options.map(option));
}

/**
 * Put a head and rows of cells into a table, and a caption if there is one; the first cell of a row names it.
 * Returns the rows. @param {(string | number | Node)[][]} rows
 */
export function fill(table, caption, head, rows) {
  const name = (scope) => (cell) => (cell === "" ? make("td") : make("th", { scope }, cell));
  const line = ([first, ...rest]) => make("tr", {}, name("row")(first), ...rest.map((cell) => make("td", {}, cell)));
  const lines = rows.map(line);
  table.replaceChildren(
    ...(caption ? [make("caption", { textContent: caption })] : []),
    make("thead", {}, make("tr", {}, ...head.map(name("col")))),
    make("tbody", {}, ...lines),
  );
  return lines;
}

/** What may be wider than its place: the keyboard can scroll it as well. */
export const scroll = (label, ...inside) =>
  make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": label }, ...inside);

/** A paragraph that is read out whenever its text changes. */
export const spoken = (className) => make("p", { className, "aria-live": "polite" });

/** Say it, unless it was the last thing said. */
export function say(paragraph, words) {
  if (paragraph.textContent !== words) paragraph.textContent = words;
}

/** A drawing, and what it shows in words. */
export function depict(picture, words, inside) {
  picture.setAttribute("aria-label", words);
  picture.innerHTML = inside;
}

/** What opens below its summary. */
export const folded = (words, ...inside) => make("details", {}, make("summary", { textContent: words }), ...inside);

/** A figure below its caption. */
export const figure = (words, ...inside) => make("figure", {}, make("figcaption", { textContent: words }), ...inside);

function svgElement(attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A drawing that shows what is said elsewhere. */
export const svg = (className, more = {}) => svgElement({ class: className, "aria-hidden": "true", ...more });

/** A drawing that an aria-label puts into words. */
export const picture = (viewBox) => svgElement({ viewBox, role: "img" });

/** Call when an element gets another width; returns what stops it. */
export function onWidth(element, fit) {
  let seen = element.clientWidth;
  const observer =
    globalThis.ResizeObserver &&
    new ResizeObserver(() => {
      if (element.clientWidth === seen) return;
      seen = element.clientWidth;
      requestAnimationFrame(fit);
    });
  observer?.observe(element);
  return () => observer?.disconnect();
}
