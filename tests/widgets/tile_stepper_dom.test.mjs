// The stepper in a document: buttons take steps, choices start anew, playing ends, nothing is left behind.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import widget from "../../course_utils/widgets/tile_stepper.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const START = {
  query: [[2], [1], [3]], key: [[1], [2], [0]], value: [[1], [0], [4]],
  block_q: 2, block_k: 2, is_causal: false, order: "queries outside", step: 0,
};

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...START, ...changes });
  const stop = widget.render({ model, el });
  const said = () => el.querySelector(".acw-said").textContent;
  const fire = async (element, kind, value) => {
    if (value !== undefined) element.value = value;
    element.dispatchEvent(new window.Event(kind));
    await tick();
  };
  const button = (name) => [...el.querySelectorAll("button")].find((one) => one.textContent === name);
  return { el, model, stop, said, fire, button };
}

test("step, back, end and start move through the walk, and stop at its ends", async () => {
  const { model, said, fire, button } = show();
  assert.ok(button("Back").disabled && button("Start").disabled);
  await fire(button("Step"), "click");
  await fire(button("Step"), "click");
  assert.match(said(), /^Step 2 of 6: queries 0 to 1 and key 2\./);
  await fire(button("Back"), "click");
  assert.equal(model.get("step"), 1);
  await fire(button("End"), "click");
  assert.equal(model.get("step"), 6);
  assert.ok(button("Step").disabled && button("End").disabled);
  await fire(button("Start"), "click");
  assert.match(said(), /^Start/);
});

test("a choice starts the walk anew", async () => {
  const { el, model, said, fire } = show({ step: 3 });
  await fire(el.querySelector("select"), "change", "1");
  assert.deepEqual([model.get("block_q"), model.get("step")], [1, 0]);
  model.set("step", 2);
  const causal = el.querySelector("input[type=checkbox]");
  causal.checked = true;
  await fire(causal, "change");
  assert.deepEqual([model.get("is_causal"), model.get("step")], [true, 0]);
  await fire(el.querySelectorAll("select")[2], "change", "keys outside");
  assert.match(said(), /^Start: 4 steps/);
});

test("playing steps by itself, says so, pauses, and ends by itself", async () => {
  mock.timers.enable({ apis: ["setInterval"] });
  const { el, model, fire, button } = show();
  await fire(button("Play"), "click");
  assert.equal(el.querySelector(".acw-said").getAttribute("aria-live"), "off");
  mock.timers.tick(2500);
  assert.equal(model.get("step"), 2);
  await fire(button("Pause"), "click");
  mock.timers.tick(5000);
  assert.equal(model.get("step"), 2);
  await fire(button("Play"), "click");
  mock.timers.tick(60_000);
  await tick();
  assert.equal(model.get("step"), 6);
  assert.ok(button("Play"));
  await fire(button("Play"), "click");
  assert.equal(model.get("step"), 0);
  await fire(button("Pause"), "click");
  mock.timers.reset();
});

test("the tables hold every query and all counters, and the picture has words", () => {
  const { el } = show({ step: 2 });
  const [states, counts] = el.querySelectorAll("table");
  assert.equal(states.querySelectorAll("tbody tr").length, 3);
  assert.equal(states.querySelectorAll(".active").length, 2);
  const cells = [...counts.querySelectorAll("td")].map((one) => Number(one.textContent));
  assert.equal(cells[0] + cells[1], cells[2]);
  assert.deepEqual(cells.slice(6), [27, 21, 48]);
  for (const picture of el.querySelectorAll("svg"))
    assert.ok(picture.getAttribute("aria-label") || picture.getAttribute("aria-hidden"));
});

test("it follows Python, a step beyond the end counts as the end, and the clean-up leaves nothing", async () => {
  const { el, model, stop, said } = show();
  model.set("step", 99);
  await tick();
  assert.match(said(), /^Step 6 of 6/);
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
