// The landscape in a document: handles and sliders move the walk, the switch renames it, nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/hopfield_landscape.js";
import { fakeModel, stage, tick } from "./dom.mjs";

function show(changes = {}) {
  const { window, el } = stage();
  const patterns = [
    [1.5, 0],
    [-1.5, 0],
    [0, 1.5],
  ];
  const model = fakeModel({ patterns, count: 2, start: [0.3, 0.4], beta: 4, as_attention: false, ...changes });
  const stop = widget.render({ model, el });
  const grip = (words) => [...el.querySelectorAll(".acw-grip")].find((one) => one.getAttribute("aria-label") === words);
  const press = async (words, key, shiftKey = false) => {
    const event = new window.KeyboardEvent("keydown", { key, shiftKey, cancelable: true });
    grip(words).dispatchEvent(event);
    await tick();
    return event.defaultPrevented;
  };
  const slide = async (at, value) => {
    const input = el.querySelectorAll("input[type=range]")[at];
    input.value = value;
    input.dispatchEvent(new window.Event("input"));
    await tick();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  return { window, el, model, stop, grip, press, slide, said };
}

test("a handle for the start and for each pattern; those that are not stored are hidden", () => {
  const { grip } = show();
  assert.equal(grip("state ξ").getAttribute("aria-valuetext"), "0.30, 0.40");
  assert.equal(grip("pattern 2").hidden, false);
  assert.equal(grip("pattern 3").hidden, true);
  assert.ok(parseFloat(grip("pattern 1").style.left) > 80);
});

test("arrow keys move the start; other keys keep their meaning", async () => {
  const { model, press, said } = show();
  assert.match(said(), /at pattern 1 \(weight 1\.00\)/);
  assert.ok(await press("state ξ", "ArrowLeft", true));
  assert.deepEqual(model.get("start"), [-0.2, 0.4]);
  assert.match(said(), /at pattern 2 \(weight 1\.00\)/);
  assert.equal(await press("state ξ", "Tab"), false);
});

test("a pattern moves alone, and the landscape with it", async () => {
  const { el, model, press } = show();
  const before = el.querySelector(".acw-plane svg g").innerHTML;
  await press("pattern 2", "ArrowUp");
  assert.deepEqual(model.get("patterns"), [
    [1.5, 0],
    [-1.5, 0.1],
    [0, 1.5],
  ]);
  assert.notEqual(el.querySelector(".acw-plane svg g").innerHTML, before);
});

test("the sliders set how sharp and how many; Python is told once", async () => {
  const { el, model, slide, said, grip } = show();
  await slide(0, -10);
  assert.equal(model.get("beta"), 0.1);
  assert.match(said(), /^2 patterns, β = 0\.1: one valley\..* an average/);
  await slide(1, 3);
  assert.match(said(), /^3 patterns/);
  assert.equal(grip("pattern 3").hidden, false);
  assert.equal(el.querySelectorAll("thead th").length, 6);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("the switch gives the same numbers attention's names", async () => {
  const { window, el, said, grip } = show();
  const body = el.querySelector("tbody").textContent;
  const box = el.querySelector("input[type=checkbox]");
  box.checked = true;
  box.dispatchEvent(new window.Event("change"));
  await tick();
  assert.equal(el.querySelector("tbody").textContent, body);
  assert.equal(el.querySelector("caption").textContent, "The state before each step, its energy, and the attention weights");
  assert.match(said(), /^2 keys, scale = 4/);
  assert.equal(grip("query").textContent, "q");
});

test("each row of weights sums to 1, and pictures have words with the numbers", () => {
  const { el } = show({ count: 3 });
  for (const row of el.querySelectorAll("tbody tr")) {
    const weights = [...row.querySelectorAll("td")].slice(2).map((td) => Number(td.textContent));
    assert.ok(Math.abs(weights.reduce((a, b) => a + b) - 1) < 0.021);
  }
  const said = [...el.querySelectorAll("[role=img]")].map((one) => one.getAttribute("aria-label"));
  assert.match(said[0], /^The energy over the plane, with 3 valleys/);
  assert.match(said[1], /^Energy: \d\.\d{3}, /);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("beta", 1);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
