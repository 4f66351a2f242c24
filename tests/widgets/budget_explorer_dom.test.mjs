// The budget explorer in a document: controls, words, tables, clean-up.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget from "../../course_utils/widgets/budget_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const { parameters } = JSON.parse(readFileSync(new URL("budget_explorer_cases.json", import.meta.url)));
const presets = Object.fromEntries(parameters.slice(0, 9).map(({ name, sizes }) => [name, sizes]));
const from = (name) => [...new Set(Object.values(presets).map((shape) => shape[name]))].sort((a, b) => a - b);
const choices = {
  ...Object.fromEntries(Object.keys(presets["GPT-2"]).map((name) => [name, from(name)])),
  batch: [1, 8], trained: [0.0006, 1], train_tokens: [3e11, 1e12], petaflops: [1, 100],
};
const laws = { first: [406.4, 410.7, 0.34, 0.28, 1.69], second: [482.01, 2085.43, 0.3478, 0.3658, 1.8172] };

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    ...presets["GPT-2"], presets, choices, laws, batch: 8, mixed: false, optimizer: "adam", trained: 1, recompute: false,
    train_tokens: 3e11, petaflops: 100, budget: 23.5, law: "second", ...changes,
  });
  const stop = widget.render({ model, el });
  const control = (label) => {
    const found = [...el.querySelectorAll("label")].find((one) => one.textContent === label);
    return el.querySelector(`#${found.getAttribute("for")}`);
  };
  const fire = async (label, kind, change) => {
    change(control(label));
    control(label).dispatchEvent(new window.Event(kind));
    await tick();
  };
  const said = (where = "said") => el.querySelector(`.acw-${where}`).textContent;
  return { el, model, stop, control, fire, said };
}

test("a published model is chosen, and all follows", async () => {
  const { el, model, fire, said, control } = show();
  assert.match(said(), /^GPT-2: 124 M parameters/);
  await fire("model", "change", (select) => (select.value = "Llama 2 70B"));
  assert.match(said(), /^Llama 2 70B: 69 B parameters/);
  assert.equal(model.get("num_kv_heads"), 8);
  assert.equal(control("learned positions").disabled, true);
  assert.match(el.querySelector("table caption").textContent, /^parameters: 68,976,648,192$/);
  await fire("layers", "input", (slider) => (slider.value = "0"));
  assert.match(said(), /^This model: /);
  assert.equal(control("model").value, "another");
});

test("a step's settings change its bytes and operations", async () => {
  const { el, fire, model } = show();
  const captions = () => [...el.querySelectorAll("caption")].map((one) => one.textContent);
  const before = captions();
  await fire("compute layers again", "change", (box) => (box.checked = true));
  await fire("mixed precision", "change", (box) => (box.checked = true));
  await fire("optimizer", "change", (select) => (select.value = "sgd"));
  assert.deepEqual([model.get("recompute"), model.get("mixed"), model.get("optimizer")], [true, true, "sgd"]);
  assert.equal(captions()[0], before[0]);
  for (const i of [1, 2]) assert.notEqual(captions()[i], before[i]);
  await fire("share trained", "input", (slider) => (slider.value = "0"));
  assert.equal(model.get("trained"), 0.0006);
});

test("a budget and a law are chosen, and the curve says what the words say", async () => {
  const { el, fire, said } = show();
  assert.match(said("advised"), /^second, 3\.16e23 flop: 53\.1 B/);
  await fire("law", "change", (select) => (select.value = "first"));
  await fire("budget (flop)", "input", (slider) => (slider.value = "2700"));
  assert.match(said("advised"), /^first, 1\.00e27 flop/);
  assert.ok(el.querySelector("svg").getAttribute("aria-label").includes(said("advised")));
  const rows = [...el.querySelectorAll("table")].at(-1).querySelectorAll("tbody tr");
  assert.deepEqual([...rows].map((row) => row.querySelector("th").textContent), ["first", "second"]);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("batch", 1);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
