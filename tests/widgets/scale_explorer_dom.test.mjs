// The explorer in a document: controls move numbers, numbers follow Python, nothing is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/scale_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ d_k: 4, temperature: 1, scaled: false, num_keys: 16, seed: 12, ...changes });
  const stop = widget.render({ model, el });
  const field = (words) => {
    const label = [...el.querySelectorAll("label")].find((one) => one.textContent.trim().startsWith(words));
    return el.querySelector(`#${label.getAttribute("for")}`);
  };
  const move = async (words, value) => {
    const input = field(words);
    if (typeof value === "boolean") input.checked = value;
    else input.value = String(value);
    input.dispatchEvent(new window.Event(typeof value === "boolean" ? "change" : "input"));
    await tick();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  const number = (row) => el.querySelectorAll(".acw-numbers tbody tr")[row].children[2].textContent;
  return { window, el, model, stop, field, move, said, number };
}

test("three moves: the variance grows, the gradient dies, the scale mends it", async () => {
  const { move, number, said } = show();
  const first = Number(number(2));
  await move("d_k", 6);
  assert.match(said(), /^d_k = 64, not divided: the scores have variance 6\d\.\d/);
  await move("d_k", 10);
  assert.ok(Number(number(0)) > 0.93);
  assert.ok(Number(number(2)) < first / 4);
  await move("divide by", true);
  assert.match(said(), /^d_k = 1024, divided by √d_k/);
  assert.ok(Number(number(2)) > 0.9 * first);
});

test("every control sets its trait, and Python is told once", async () => {
  const { move, model, field } = show();
  await move("temperature", -20);
  await move("keys", 5);
  await move("d_k", 3);
  assert.deepEqual(
    ["temperature", "num_keys", "d_k"].map((name) => model.get(name)),
    [0.1, 5, 8],
  );
  assert.equal(field("d_k").getAttribute("aria-valuetext"), "8");
  assert.equal(field("temperature").getAttribute("aria-valuetext"), "0.10");
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("drawing again changes the draw and nothing else", async () => {
  const { window, el, model, said } = show();
  const before = said();
  const slider = el.querySelector("input");
  el.querySelector("button").dispatchEvent(new window.MouseEvent("click"));
  await tick();
  assert.notEqual(said(), before);
  assert.equal(model.get("seed"), 13);
  assert.equal(model.get("d_k"), 4);
  assert.equal(el.querySelector("input"), slider, "updated in place");
});

test("it follows Python", async () => {
  const { model, said, field } = show();
  model.set("d_k", 256);
  model.set("scaled", true);
  await tick();
  assert.match(said(), /^d_k = 256, divided/);
  assert.equal(field("d_k").value, "8");
  assert.ok(field("divide by").checked);
});

test("every picture has words, and a table holds every d_k", async () => {
  const { window, el } = show({ num_keys: 8 });
  const pictures = [...el.querySelectorAll("svg")];
  assert.equal(pictures.length, 4);
  for (const picture of pictures) assert.match(picture.getAttribute("aria-label"), /\d/);
  const details = el.querySelector("details");
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
  await tick();
  assert.deepEqual(
    [...details.querySelectorAll("tbody th")].map((th) => Number(th.textContent)),
    Array.from({ length: 11 }, (_, i) => 2 ** i),
  );
  assert.equal(details.querySelectorAll("tbody td").length, 77);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("d_k", 8);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
