// The clock in a document: controls move numbers, numbers follow Python, nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/rope_clock.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const START = {
  query: [1, 0.3, 0.8, -0.5], key: [0.9, 0.4, 0.3, 0.9], query_position: 6, key_position: 2,
  base: 1000, pairing: "interleaved", pair: 0, last: 63,
};

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...START, ...changes });
  const stop = widget.render({ model, el });
  const said = () => el.querySelector(".acw-said").textContent;
  const score = () => said().match(/q·k = ([^;]*);/)[1];
  const fire = async (element, kind, value) => {
    if (value !== undefined) element.value = value;
    element.dispatchEvent(new window.Event(kind));
    await tick();
  };
  return { el, model, stop, said, score, fire };
}

test("both one later: positions and hands move, score and shares stay", async () => {
  const { el, model, score, fire } = show();
  const shares = () => [...el.querySelectorAll(".acw-part")].map((one) => one.textContent);
  const before = [score(), ...shares()];
  const dial = el.querySelector(".acw-dials svg").innerHTML;
  await fire(el.querySelectorAll("button")[1], "click");
  assert.deepEqual([model.get("query_position"), model.get("key_position")], [7, 3]);
  assert.deepEqual([score(), ...shares()], before);
  assert.notEqual(el.querySelector(".acw-dials svg").innerHTML, dial);
});

test("one slider alone changes the score", async () => {
  const { el, model, score, said, fire } = show();
  const before = score();
  await fire(el.querySelectorAll("input[type=range]")[1], "input", "5");
  assert.equal(model.get("key_position"), 5);
  assert.notEqual(score(), before);
  assert.match(said(), /^Query at 6, key at 5, the key 1 before the query/);
});

test("no step leads out of the range", async () => {
  const { el } = show({ query_position: 63, key_position: 0 });
  assert.deepEqual(
    [...el.querySelectorAll("button")].map((one) => one.disabled),
    [true, true],
  );
});

test("a pair is chosen and described, and the pairing changes its features", async () => {
  const { el, model, fire } = show();
  await fire(el.querySelectorAll("input[type=radio]")[1], "change");
  assert.equal(model.get("pair"), 1);
  assert.match(el.querySelector(".acw-note").textContent, /^Pair 1 is features 2 and 3/);
  await fire(el.querySelector("select"), "change", "split halves");
  assert.match(el.querySelector(".acw-note").textContent, /^Pair 1 is features 1 and 3/);
});

test("a table holds every pair, and each picture has words or is only an ornament of them", () => {
  const { el } = show();
  assert.equal(el.querySelectorAll("tbody tr").length, 2);
  for (const picture of el.querySelectorAll("svg"))
    assert.ok(picture.getAttribute("aria-label") || picture.getAttribute("aria-hidden"));
});

test("it follows Python, and the clean-up leaves nothing", async () => {
  const { el, model, stop, said } = show();
  model.set("query_position", 2);
  await tick();
  assert.match(said(), /both at the same place/);
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
