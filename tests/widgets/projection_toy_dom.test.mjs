// The toy in a document: handles, rows and starts move the numbers, and nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/projection_toy.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const identity = [
  [1, 0],
  [0, 1],
];

function show(changes = {}) {
  const { window, el } = stage();
  const tokens = ["a", "b", "c", "d"];
  const points = [
    [0, 1.5],
    [1.5, 0],
    [0, -1.5],
    [-1.5, 0],
  ];
  const matrices = { w_query: identity, w_key: identity, w_value: identity };
  const model = fakeModel({ tokens, points, ...matrices, query: 0, ...changes });
  const stop = widget.render({ model, el });
  const grip = (words) => [...el.querySelectorAll(".acw-grip")].find((one) => one.getAttribute("aria-label") === words);
  const press = async (words, key, shiftKey = false) => {
    const event = new window.KeyboardEvent("keydown", { key, shiftKey, cancelable: true });
    grip(words).dispatchEvent(event);
    await tick();
    return event.defaultPrevented;
  };
  const row = (i) =>
    [...el.querySelectorAll(".acw-weights tbody tr")[i].querySelectorAll("td")].map((td) => Number(td.textContent));
  const said = () => el.querySelector(".acw-said").textContent;
  return { window, el, model, stop, grip, press, row, said };
}

test("six handles, two a matrix, each with words and a place", () => {
  const { el, grip } = show();
  assert.equal(el.querySelectorAll("[role=slider]").length, 6);
  const first = grip("W_Q, row 1");
  assert.equal(first.getAttribute("aria-valuetext"), "1.00, 0.00");
  assert.ok(parseFloat(first.style.left) > 50 && parseFloat(first.style.top) === 50);
  assert.ok(parseFloat(grip("W_V, row 2").style.top) < 50);
});

test("an arrow key moves one row of one matrix; other keys keep their meaning", async () => {
  const { model, press, grip, row } = show();
  const before = row(1);
  assert.ok(await press("W_K, row 2", "ArrowRight", true));
  assert.deepEqual(model.get("w_key"), [
    [1, 0],
    [0.5, 1],
  ]);
  assert.deepEqual(model.get("w_query"), identity);
  assert.equal(grip("W_K, row 2").getAttribute("aria-valuetext"), "0.50, 1.00");
  assert.notDeepEqual(row(1), before);
  assert.equal(await press("W_K, row 2", "Tab"), false);
});

test("W_V changes no weight", async () => {
  const { press, row, el } = show();
  const [before, picture] = [row(0), el.querySelectorAll("svg")[3].innerHTML];
  await press("W_V, row 1", "ArrowUp");
  assert.deepEqual(row(0), before);
  assert.notEqual(el.querySelectorAll("svg")[3].innerHTML, picture);
});

test("a start sets queries and keys, is marked, and W_V stays", async () => {
  const { window, el, model, said } = show();
  const button = (words) => [...el.querySelectorAll("button")].find((one) => one.textContent === words);
  assert.equal(button("No projections").getAttribute("aria-pressed"), "true");
  button("Keys turned").dispatchEvent(new window.MouseEvent("click"));
  await tick();
  assert.equal(button("Keys turned").getAttribute("aria-pressed"), "true");
  assert.equal(button("No projections").getAttribute("aria-pressed"), "false");
  assert.deepEqual(model.get("w_value"), identity);
  assert.match(said(), /^a looks most at b/);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("a row is chosen, and Python is followed", async () => {
  const { window, el, model, said } = show();
  const radios = el.querySelectorAll("input[type=radio]");
  radios[2].checked = true;
  radios[2].dispatchEvent(new window.Event("change"));
  await tick();
  assert.equal(model.get("query"), 2);
  assert.match(said(), /^c looks most at itself/);
  model.set("w_key", [
    [-1, 0],
    [0, -1],
  ]);
  await tick();
  assert.match(said(), /^c looks most at a/);
});

test("each row of weights sums to 1, and pictures have words with the numbers", () => {
  const { el, row } = show();
  for (const i of [0, 1, 2, 3]) assert.ok(Math.abs(row(i).reduce((a, b) => a + b) - 1) < 0.021);
  const said = [...el.querySelectorAll("[role=img]")].map((one) => one.getAttribute("aria-label"));
  assert.equal(said.length, 7);
  assert.ok(said.every((words) => words.length > 10));
  assert.match(said[1], /W_Q has the rows 1\.00, 0\.00 and 0\.00, 1\.00/);
  assert.match(said[6], /^antisymmetric: 0\.00, 0\.00; 0\.00, 0\.00$/);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("query", 3);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
