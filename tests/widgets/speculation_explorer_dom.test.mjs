// The explorer in a document: steps, runs, bars that take from each other, nothing left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/speculation_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const target = [4, 26, 8, 30, 6, 14, 10, 2];
const draft = [16, 30, 3, 8, 20, 5, 14, 4];

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ target, draft, gamma: 4, seed: 0, rounds: 0, stage: 0, from_target: false, ...changes });
  const stop = widget.render({ model, el });
  const button = (words) => [...el.querySelectorAll("button")].find((one) => one.textContent === words);
  const click = async (words) => {
    button(words).dispatchEvent(new window.Event("click"));
    await tick();
  };
  const change = async (input, kind, value) => {
    Object.assign(input, value);
    input.dispatchEvent(new window.Event(kind));
    await tick();
  };
  const bar = (label) => el.querySelector(`[aria-label="${label}"]`);
  const said = () => el.querySelector(".acw-said").textContent;
  const head = () => el.querySelector("th").textContent;
  const places = () => [...el.querySelectorAll("li")].map((one) => one.textContent);
  return { el, model, stop, button, click, change, bar, said, head, places };
}

test("it opens before the first call, with two bars to a token", () => {
  const { el, said, head, places } = show();
  assert.equal(el.querySelectorAll(".token").length, 8);
  assert.equal(el.querySelectorAll(".token input").length, 16);
  assert.match(said(), /^4 tokens drafted/);
  assert.equal(head(), "after 0 calls");
  assert.deepEqual(places(), ["?", "?", "?", "?", "?"]);
});

test("steps lead through a call and into the next", async () => {
  const { model, click, said, head } = show();
  const sentences = [];
  for (let n = 0; n < 12 && model.get("rounds") === 0; n++) {
    await click("Step");
    sentences.push(said());
  }
  assert.match(sentences[0], /^Call 1, place 1 of 4/);
  assert.match(sentences.at(-2), /The call wrote/);
  assert.match(sentences.at(-1), /^Call 2, place 1 of 4/);
  assert.equal(head(), "after 1 call");
});

test("a thousand calls fill the counters; the last one stays in view", async () => {
  const { el, model, click, said, head, button } = show();
  await click("Run 1000");
  assert.equal(head(), "after 1000 calls");
  assert.match(said(), /^Call 1000, .* The call wrote/);
  assert.match(el.querySelector(".came + .number, .track + .number").textContent, /^\d+\.\d%$/);
  await click("Step");
  assert.match(said(), /^Call 1001, place 1/);
  await click("Run 1000");
  assert.equal(head(), "after 2000 calls");
  await click("Begin again");
  assert.deepEqual([model.get("seed"), model.get("rounds"), head()], [1, 0, "after 0 calls"]);
  model.set("rounds", 19500);
  await tick();
  assert.equal(button("Run 1000").disabled, true);
  assert.equal(button("Step").disabled, false);
  model.set("rounds", 19999);
  model.set("stage", 7);
  await tick();
  assert.equal(button("Step").disabled, true);
});

test("a bar takes from the others of its own distribution", async () => {
  const { model, change, bar } = show();
  await change(bar("draft q of d"), "input", { value: 54 });
  assert.equal(model.get("draft")[3], 54);
  assert.equal(model.get("draft").reduce((a, b) => a + b), 100);
  assert.deepEqual(model.get("target"), target);
  assert.equal(bar("draft q of d").getAttribute("aria-valuetext"), "54%");
  assert.equal(bar("draft q of a").value, `${model.get("draft")[0]}`);
});

test("the other source and γ change what the same calls wrote", async () => {
  const { el, model, change, head } = show({ rounds: 999, stage: 7 });
  const rows = () => [...el.querySelectorAll("tbody tr")].map((row) => [...row.children].map((one) => one.textContent));
  assert.equal(rows()[2][2], "0.000");
  await change(el.querySelector("[type=checkbox]"), "change", { checked: true });
  assert.equal(model.get("from_target"), true);
  assert.ok(+rows()[2][1] > 0.1);
  assert.ok(+rows()[2][2] > 0.1);
  await change(el.querySelector(".acw-field input"), "input", { value: 1 });
  assert.equal(model.get("gamma"), 1);
  assert.equal(head(), "after 999 calls");
  assert.equal(rows()[1][2], "1.640");
});

test("Python is told once", async () => {
  const { model, click } = show();
  for (let n = 0; n < 3; n++) await click("Step");
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("gamma", 2);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
