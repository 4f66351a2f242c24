// The stepper in a document: buttons and sliders move it, and nothing is left behind.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget from "../../course_utils/widgets/look_stepper.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const START = JSON.parse(readFileSync(new URL("look_stepper_cases.json", import.meta.url)))[1];

function show(step = 0) {
  const { window, el } = stage();
  const model = fakeModel({ ...START, step });
  const stop = widget.render({ model, el });
  const fire = async (element, kind, value) => {
    if (value !== undefined) element.value = value;
    element.dispatchEvent(new window.Event(kind));
    await tick();
  };
  const button = (name) => [...el.querySelectorAll("button")].find((one) => one.textContent === name);
  const said = () => el.querySelector(".acw-said").textContent;
  return { el, model, stop, fire, button, said };
}

test("step, back and start move, and stop at the ends", async () => {
  const { el, model, fire, button, said } = show();
  assert.ok(button("Back").disabled && button("Start").disabled);
  await fire(button("Step"), "click");
  await fire(button("Step"), "click");
  assert.match(said(), /^Word 1, weights/);
  await fire(button("Back"), "click");
  assert.equal(model.get("step"), 1);
  await fire(el.querySelectorAll("input")[0], "input", "12");
  assert.ok(button("Step").disabled);
  assert.equal(el.querySelector(".acw-written").textContent, "Written so far: the red car");
  await fire(button("Start"), "click");
  assert.equal(model.get("step"), 0);
});

test("the factor changes what is written", async () => {
  const { el, model, fire } = show(12);
  await fire(el.querySelectorAll("input")[1], "input", "1");
  assert.equal(model.get("factor"), 0.5);
  assert.equal(el.querySelector(".acw-written").textContent, "Written so far: the red red");
});

test("scores and weights wait for their stage, and the picture has words", () => {
  const cells = (step) => [...show(step).el.querySelectorAll("tbody tr")[0].children].map((one) => one.textContent);
  assert.deepEqual(cells(0).slice(2), ["…", "…"]);
  assert.deepEqual(cells(1).slice(2), ["1.44", "…"]);
  assert.deepEqual(cells(2).slice(2), ["1.44", "0.79"]);
  const { el, said } = show(3);
  assert.equal(el.querySelector("svg").getAttribute("aria-label"), said());
});

test("it follows Python, and the clean-up leaves nothing", async () => {
  const { el, model, stop, said } = show();
  model.set("step", 8);
  await tick();
  assert.match(said(), /^Word 2, next state: s₂/);
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
