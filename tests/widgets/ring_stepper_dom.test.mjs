// The stepper in a document: buttons turn the ring, controls change it, tabs switch, nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/ring_stepper.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const START = {
  world_size: 4, tokens_per_rank: 4, token_layout: "contiguous", is_causal: true, step: 0, view: "ring",
  num_heads: 8, d_k: 64, bytes_per_element: 2,
};

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...START, ...changes });
  const stop = widget.render({ model, el });
  const said = () => el.querySelector(".acw-said").textContent;
  const fire = async (element, kind, more = {}) => {
    Object.assign(element, more);
    element.dispatchEvent(new window.Event(kind));
    await tick();
  };
  const button = (name) => [...el.querySelectorAll("button")].find((one) => one.textContent === name);
  return { window, el, model, stop, said, fire, button };
}

test("step and back turn the ring, and stop at its ends", async () => {
  const { model, said, fire, button } = show();
  assert.ok(button("Back").disabled);
  for (let i = 0; i < 3; i++) await fire(button("Step"), "click");
  assert.match(said(), /^Step 3 of 3/);
  assert.ok(button("Step").disabled);
  await fire(button("Back"), "click");
  assert.equal(model.get("step"), 2);
});

test("another number of ranks starts anew, the other controls keep the step", async () => {
  const { el, model, said, fire } = show({ step: 2 });
  const [ranks, share] = el.querySelectorAll("input[type=range]");
  await fire(share, "input", { value: 8 });
  await fire(el.querySelector("select"), "change", { value: "zigzag" });
  await fire(el.querySelector("input[type=checkbox]"), "change", { checked: false });
  assert.match(said(), /^Step 2 of 3 \(after rotation 2\), zig-zag: the slowest rank multiplies 64 pairs/);
  await fire(ranks, "input", { value: 8 });
  assert.deepEqual([model.get("world_size"), model.get("step")], [8, 0]);
});

test("tables hold every rank and the bytes, and pictures have words", () => {
  const { el } = show({ step: 1 });
  const [ranks, bytes] = el.querySelectorAll("table");
  const rows = [...ranks.querySelectorAll("tbody tr")].map((row) => [...row.children].map((one) => one.textContent));
  assert.deepEqual(rows[0], ["0", "0 to 3", "3", "idle", "16", "16"]);
  assert.deepEqual(rows[3], ["3", "12 to 15", "2", "16", "32", "64"]);
  assert.deepEqual([...bytes.querySelectorAll("td")].map((one) => one.textContent), ["8,192", "24,576", "57,344"]);
  for (const drawn of el.querySelectorAll("[role=tabpanel]:not([hidden]) svg"))
    assert.ok(drawn.getAttribute("aria-label"));
});

test("tabs switch by click and by arrow, and say what does not fit", async () => {
  const { window, el, model, said, fire, button } = show();
  await fire(button("Ulysses"), "click");
  assert.equal(model.get("view"), "ulysses");
  assert.equal(button("Ulysses").getAttribute("aria-selected"), "true");
  assert.match(said(), /2 heads of all tokens/);
  await fire(el.querySelector("input[type=range]"), "input", { value: 3 });
  assert.match(said(), /not possible/);
  assert.ok(el.querySelector(".acw-columns.even").hidden);
  button("Ulysses").dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowLeft" }));
  await tick();
  assert.equal(model.get("view"), "ring");
});

test("it follows Python, and the clean-up leaves nothing", async () => {
  const { el, model, stop, said } = show();
  model.set("step", 7);
  await tick();
  assert.match(said(), /^Step 3 of 3/);
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
