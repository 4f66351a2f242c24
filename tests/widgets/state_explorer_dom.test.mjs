// The explorer in a document: buttons write, sliders change the memory, bars ask, nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/state_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const six = Array.from({ length: 6 }, (_, key) => [key, (7 * key + 3) % 10]);

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ kind: "sum", writes: six, width: 8, fade: 0.9, asked: 0, ...changes });
  const stop = widget.render({ model, el });
  const button = (words) => [...el.querySelectorAll(".acw-bar button")].find((one) => one.textContent.startsWith(words));
  const click = async (target) => {
    target.dispatchEvent(new window.Event("click"));
    await tick();
  };
  const rows = () => [...el.querySelectorAll(".acw-bars button")].filter((one) => !one.hidden);
  const slide = async (at, value) => {
    const input = el.querySelectorAll("input[type=range]")[at];
    input.value = value;
    input.dispatchEvent(new window.Event("input"));
    await tick();
  };
  const choose = async (value) => {
    const select = el.querySelector("select");
    select.value = value;
    select.dispatchEvent(new window.Event("change"));
    await tick();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  return { el, model, stop, button, click, rows, slide, choose, said };
}

test("a bar for each key so far, with text that says what its colour says", () => {
  const { rows } = show();
  assert.equal(rows().length, 6);
  assert.match(rows()[0].textContent, /^a 0\.\d\d, reads (3 ✓|\d ✗ not 3)$/);
  assert.equal(rows()[0].getAttribute("aria-pressed"), "true");
  assert.match(rows()[1].querySelector(".bar").style.background, /^rgb\(/);
});

test("pairs are added, written again and taken back", async () => {
  const { model, button, click, rows, said } = show();
  await click(button("Add a pair"));
  assert.deepEqual(model.get("writes").at(-1), [6, 5]);
  assert.equal(model.get("asked"), 6);
  await click(rows()[2]);
  assert.match(said(), /Asked for c:/);
  assert.equal(button("Write").textContent, "Write c again, with 0");
  await click(button("Write"));
  assert.deepEqual(model.get("writes").at(-1), [2, 0]);
  assert.equal(rows().length, 7);
  await click(button("Take"));
  await click(button("Take"));
  assert.equal(rows().length, 6);
  assert.equal(model.get("asked"), 2);
});

test("the asked key goes with the last pair that holds it", async () => {
  const { model, button, click } = show({ writes: six.slice(0, 2), asked: 1 });
  await click(button("Take"));
  assert.equal(model.get("asked"), 0);
  assert.equal(button("Take").disabled, true);
});

test("the memory, its width and its fade change what is read; Python is told once", async () => {
  const { el, model, choose, slide, said } = show();
  const [width, fade] = el.querySelectorAll("input[type=range]");
  assert.equal(fade.disabled, true);
  await choose("fade");
  assert.equal(fade.disabled, false);
  await slide(1, 50);
  assert.match(said(), /keeping 0\.50 of the past/);
  await slide(0, 5);
  assert.equal(model.get("width"), 32);
  assert.equal(width.getAttribute("aria-valuetext"), "32");
  assert.match(el.querySelector(".acw-held figure:last-child figcaption").textContent, /^State: 4,096 bytes$/);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("what is not kept says so", async () => {
  const { el, choose } = show();
  const words = () => [...el.querySelectorAll("figcaption")].map((one) => one.textContent);
  assert.deepEqual(words(), ["A cache, not kept: 384 bytes", "State: 256 bytes"]);
  await choose("softmax");
  assert.deepEqual(words(), ["Cache: 384 bytes", "A sum, not kept: 256 bytes"]);
  assert.equal(el.querySelector("figure").classList.contains("idle"), false);
});

test("there is room for a number of pairs, and no more", () => {
  const full = Array.from({ length: 48 }, (_, i) => [i % 20, i % 10]);
  const { button } = show({ writes: full });
  assert.equal(button("Add").disabled, true);
  assert.equal(button("Write").disabled, true);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("kind", "delta");
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
