// The explorer in a document: choosing a wiring and an output, and what it leaves behind.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget from "../../course_utils/widgets/wiring_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const cases = JSON.parse(readFileSync(new URL("wiring_explorer_cases.json", import.meta.url)));
const usual = cases.find(({ view }) => view.wiring === "t5").view;

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...usual, ...changes });
  const stop = widget.render({ model, el });
  const control = (label) => {
    const found = [...el.querySelectorAll("label")].find((one) => one.textContent === label);
    return el.querySelector(`#${found.getAttribute("for")}`);
  };
  const put = async (label, value, event = "input") => {
    control(label).value = String(value);
    control(label).dispatchEvent(new window.Event(event));
    await tick();
  };
  const press = async (key) => {
    const at = el.querySelector('.acw-outputs [aria-pressed="true"]');
    at.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true }));
    await tick();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  const texts = (selector) => [...el.querySelectorAll(selector)].map((one) => one.textContent);
  return { el, model, stop, control, put, press, said, texts };
}

test("a click and an arrow choose an output", async () => {
  const { el, model, press, said, texts } = show();
  assert.match(said(), /writes “w”, after 2 layers: 5 of 7/);
  assert.deepEqual(texts(".acw-inputs .on"), ["a", "b", "c", "start", "v"]);
  el.querySelectorAll(".acw-outputs button")[0].click();
  await tick();
  assert.deepEqual([model.get("side"), model.get("place")], ["source", 0]);
  assert.match(said(), /^The place of “a”.*3 of 7/);
  await press("End");
  assert.deepEqual([model.get("side"), model.get("place")], ["target", 2]);
  await press("ArrowLeft");
  assert.match(said(), /writes “w”/);
  await press("x");
  assert.equal(model.get("place"), 1);
});

test("a wiring brings its masks, its places and its layers", async () => {
  const { put, texts, el } = show();
  assert.deepEqual(texts(".acw-grids caption").slice(0, 3), ["Mask: encoder", "Mask: decoder", "Mask: cross-attention"]);
  assert.equal(el.querySelectorAll(".acw-part").length, 5);
  await put("wiring", "bert", "change");
  assert.deepEqual(texts(".acw-inputs span").slice(-3), ["mask", "mask", "mask"]);
  assert.equal(texts(".acw-grids caption").length, 2);
  assert.equal(el.querySelectorAll(".acw-part").length, 2);
  await put("order", "post", "change");
  assert.deepEqual(texts("figcaption"), ["x ← norm₁(x + self(x))", "x ← norm₂(x + feed(x))"]);
});

test("sizes keep the choice inside, and padding inside the source", async () => {
  const { put, control, said, texts } = show({ place: 2, pads: 4 });
  await put("target tokens", 1);
  assert.match(said(), /writes “v”/);
  await put("source tokens", 2);
  assert.equal(control("padding").max, "2");
  assert.deepEqual(texts(".acw-inputs span"), ["pad", "pad", "start"]);
  await put("window", 1);
  assert.equal(control("window").getAttribute("aria-valuetext"), "1");
});

test("words are written as text, whatever they hold", () => {
  const { texts } = show({ source: ["<b>", "b", "c", "d", "e"] });
  assert.equal(texts(".acw-inputs span")[0], "<b>");
});

test("it follows Python, and the clean-up leaves nothing", async () => {
  const { el, model, stop, said } = show();
  model.set("num_layers", 3);
  await tick();
  assert.match(said(), /after 3 layers/);
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
