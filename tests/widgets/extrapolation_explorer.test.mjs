// The explorer's ranking, words and drawing, and the explorer in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/extrapolation_explorer.js";
import {
  looks, nearest, panel, places, ranking, sentence, spread, times,
} from "../../course_utils/widgets/extrapolation_explorer_drawing.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const groups = [
  ["no positions", ["none"]],
  ["turned", ["RoPE", "<b>"]],
];
const text = {
  name: "text", what: "loss (nats)", lower: true, trained: 64, lengths: [64, 96, 512],
  curves: [
    ["none", [[2, 2.1, 2.2], [2.1, 2.2, 2.3], [2.2, 2.3, 2.4]]],
    ["RoPE", [[1.4, 1.5, 1.6], [1.5, 1.6, 1.7], [3, 3.2, 3.4]]],
    ["<b>", [[1.3, 1.4, 1.5], [1.4, 1.4, 1.4], [1.4, 1.5, 1.6]]],
  ],
};
const copy = {
  name: "copy", what: "accuracy", lower: false, trained: 32, lengths: [32, 48, 256],
  curves: text.curves.map(([name], i) => [name, [[0.9 - i / 10, 0.9 - i / 10, 1], [0.5, 0.5, 0.5], [0, 0.1, 0.2]]]),
};
const all = ["none", "RoPE", "<b>"];

test("the best comes first: the lowest loss, the highest accuracy", () => {
  assert.deepEqual(ranking(text, all, 2).map((one) => one.name), ["<b>", "none", "RoPE"]);
  assert.deepEqual(ranking(text, ["none", "RoPE"], 0).map((one) => one.name), ["RoPE", "none"]);
  assert.deepEqual(ranking(copy, all, 0).map((one) => one.name), ["none", "RoPE", "<b>"]);
});

test("the words name length, first and last", () => {
  assert.equal(
    sentence(text, ["none", "RoPE"], 2),
    "512 tokens read, 8 times the trained 64. Best: none with loss (nats) 2.30, worst RoPE with 3.20.",
  );
  assert.match(sentence(copy, ["none"], 0), /^32 tokens read, the trained length\. Best: none with accuracy 0\.90\.$/);
  assert.match(sentence(copy, [], 1), /No scheme is chosen/);
  assert.equal(times(96, 64), "1.5 times the trained 64");
});

test("doublings are equal steps, and every recorded number fits in", () => {
  const { across, up, bottom, top } = places({ ...text, lengths: [64, 128, 256] });
  assert.ok(Math.abs(across(128) - (across(64) + across(256)) / 2) < 1e-9);
  assert.ok(bottom <= 1.3 && top >= 3.4 && up(top) < up(bottom));
  assert.deepEqual([places(copy).bottom, places(copy).top], [0, 1]);
});

test("names at the end never lie on each other and never leave the picture", () => {
  const check = (heights, gap) => {
    const placed = spread(heights, gap, 0, 100);
    const sorted = [...placed].sort((a, b) => a - b);
    sorted.slice(1).forEach((y, i) => assert.ok(y - sorted[i] >= Math.min(gap, 100 / (heights.length - 1)) - 1e-9));
    assert.ok(sorted[0] >= -1e-9 && sorted.at(-1) <= 100 + 1e-9);
    return placed;
  };
  assert.deepEqual(check([10, 60], 15), [10, 60]);
  check([98, 99, 100, 5], 15);
  check(Array(12).fill(50), 15);
  assert.deepEqual(spread([42], 15, 0, 100), [42]);
});

test("schemes of a group share a colour and differ in line and mark", () => {
  const styles = looks([["a", ["1", "2", "3", "4", "5"]]]);
  const found = [...styles.values()];
  assert.equal(new Set(found.map((one) => one.shape)).size, 5);
  assert.equal(new Set(found.map((one) => one.dash)).size, 5);
  assert.equal(new Set(found.map((one) => one.group)).size, 1);
});

test("chosen schemes are drawn, others are not, and names are text", () => {
  const drawn = panel(text, ["RoPE", "<b>"], 0, looks(groups));
  assert.equal(drawn.match(/class="mean/g).length, 2);
  assert.match(drawn, /&lt;b&gt;/);
  assert.doesNotMatch(drawn, /<b>|none<|NaN|undefined|Infinity/);
});

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ tasks: [text, copy], groups, chosen: ["none", "RoPE"], task: 0, index: 0, ...changes });
  const stop = widget.render({ model, el });
  const here = () => [...el.querySelectorAll(".acw-here tbody th")].map((one) => one.textContent);
  const fire = async (element, event) => {
    element.dispatchEvent(event);
    await tick();
  };
  return { window, el, model, stop, here, fire };
}

test("a box adds a scheme and takes it away", async () => {
  const { window, el, model, here, fire } = show();
  assert.deepEqual(here(), ["RoPE", "none"]);
  const box = el.querySelectorAll("input[type=checkbox]")[2];
  box.checked = true;
  await fire(box, new window.Event("change"));
  assert.deepEqual(here(), ["<b>", "RoPE", "none"]);
  box.checked = false;
  await fire(box, new window.Event("change"));
  assert.deepEqual(model.get("chosen"), ["none", "RoPE"]);
});

test("task and length are chosen by keyboard, and the tables follow", async () => {
  const { window, el, model, here, fire } = show();
  const slider = el.querySelector("input[type=range]");
  slider.value = "2";
  await fire(slider, new window.Event("input"));
  assert.deepEqual(here(), ["none", "RoPE"]);
  assert.equal(slider.getAttribute("aria-valuetext"), "512 tokens, 8 times the trained 64");
  const select = el.querySelector("select");
  select.value = "1";
  await fire(select, new window.Event("change"));
  assert.equal(model.get("task"), 1);
  assert.match(el.querySelector("figcaption").textContent, /^accuracy, higher is better/);
  assert.equal(el.querySelectorAll("details tbody tr").length, 3);
  assert.match(el.querySelector("details tbody").textContent, /0\.10 \(0\.00 to 0\.20\)/);
});

test("the pointer chooses the nearest length", async () => {
  assert.equal(nearest(text, places(text).across(96) + 1), 1);
  assert.equal(nearest(text, 0), 0);
  const { window, el, model, fire } = show();
  const picture = el.querySelector("figure svg");
  picture.getBoundingClientRect = () => ({ left: 0, width: 440 });
  const move = Object.assign(new window.Event("pointermove"), { clientX: 312 });
  await fire(picture, move);
  assert.equal(model.get("index"), 2);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("index", 1);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
