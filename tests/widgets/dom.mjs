// A document and a model, enough to render a widget in node; hands to use it, and what every widget keeps to.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Window } from "happy-dom";

const later = setTimeout; // not the clock of a test that plays
const tick = () => new Promise((done) => later(done, 0));

/** The content of a JSON file, found from here. */
export const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url)));

const flat = (numbers) => (typeof numbers === "object" ? Array.from(numbers).flatMap(flat) : [Number(numbers)]);

/** Fail unless two numbers, or two nested lists of them, agree. */
export function near(ours, theirs, tolerance = 1e-12) {
  const [a, b] = [flat(ours), flat(theirs)];
  assert.equal(a.length, b.length);
  a.forEach((x, i) => assert.ok(x === b[i] || Math.abs(x - b[i]) <= tolerance, `${x} is not ${b[i]}`));
}

/** Text without the marks that keep tokens apart. */
export const bare = (text) => text.replace(/[\u2068\u2069]/g, "");

/** Float32 numbers as the page gets them. */
export const floats = (...numbers) => new DataView(Float32Array.from(numbers).buffer);

/** Jupyter's model with no kernel: get, set, on, off, save_changes; and who listens, and a change of everything. */
export function fakeModel(state) {
  const data = { ...state };
  const heard = new Map();
  return {
    saved: 0,
    get: (name) => data[name],
    set(name, value) {
      if (data[name] === value) return;
      data[name] = value;
      for (const f of heard.get(name) ?? []) f();
    },
    on(event, f) {
      const name = event.replace("change:", "");
      heard.set(name, [...(heard.get(name) ?? []), f]);
    },
    off(event, f) {
      const name = event.replace("change:", "");
      heard.set(
        name,
        heard.get(name).filter((g) => g !== f),
      );
    },
    save_changes() {
      this.saved++;
    },
    listeners: () => [...heard.values()].flat(),
  };
}

/** Render a widget with these traits into a fresh document, which the globals of its module point at. */
export function show(widget, traits) {
  const window = new Window();
  Object.assign(globalThis, { window, document: window.document, ResizeObserver: undefined });
  const el = window.document.createElement("div");
  window.document.body.append(el);
  const model = fakeModel(traits);
  const stop = widget.render({ model, el });

  const one = (selector) => el.querySelector(selector);
  const all = (selector) => [...el.querySelectorAll(selector)];
  const words = (element) => bare(element.textContent);
  const text = (selector) => words(one(selector));
  const texts = (selector) => all(selector).map(words);
  const rows = (table = "") => all(`${table} tbody tr`).map((row) => [...row.children].map(words));
  const button = (name) => all("button").find((each) => words(each).startsWith(name));
  const control = (name) => {
    const labels = all("label");
    const label = labels.find((each) => words(each).trim() === name) ?? labels.find((each) => words(each).startsWith(name));
    return label.querySelector("input") ?? one(`#${label.getAttribute("for")}`);
  };
  const traitsOf = (...names) => names.map(model.get);

  /** Let an event happen, and the page follow. */
  const fire = async (target, kind, more = {}) => {
    const event = Object.assign(new window.Event(kind, { bubbles: true, cancelable: true }), more);
    target.dispatchEvent(event);
    await tick();
    return event;
  };
  const click = (target) => fire(typeof target === "string" ? button(target) : target, "click");
  const press = (target, key, more) => fire(target, "keydown", { key, ...more });
  /** Give a control, or the one of this label, a value: a box true or false. */
  const put = async (target, value) => {
    const input = typeof target === "string" ? control(target) : target;
    if (typeof value === "boolean") input.checked = value;
    else input.value = String(value);
    await fire(input, ["range", "search"].includes(input.type) ? "input" : "change");
  };
  const open = async () => {
    one("details").open = true;
    await fire(one("details"), "toggle");
  };
  /** Set traits as Python does. */
  const set = async (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    await tick();
  };
  const said = () => text(".acw-said");
  return { el, model, stop, one, all, text, texts, rows, button, control, traitsOf, fire, click, press, put, open, set, said };
}

/** Test what every widget keeps to. */
export function keepsHouse(name, widget, traits) {
  test(`${name}: labels name controls, drawings have words, and two on a page share no id`, () => {
    const { el, model, all } = show(widget, traits);
    widget.render({ model, el });
    const ids = all("[id]").map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const label of all("label[for]")) assert.ok(ids.includes(label.getAttribute("for")), label.textContent);
    for (const drawing of all("svg"))
      assert.ok(drawing.closest('[hidden], [aria-hidden="true"], [role="img"][aria-label]'), drawing.outerHTML.slice(0, 80));
  });

  test(`${name}: the clean-up leaves nothing, and changes on their way do no harm`, async () => {
    const { el, model, stop } = show(widget, traits);
    for (const heard of model.listeners()) heard();
    stop();
    await tick();
    assert.deepEqual(model.listeners(), []);
    assert.equal(el.children.length, 0);
  });
}
