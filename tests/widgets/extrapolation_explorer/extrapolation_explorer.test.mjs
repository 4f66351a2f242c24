// The explorer's ranking, words and drawing, and the explorer in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/extrapolation_explorer/extrapolation_explorer.js";
import {
  keepsUp, looks, nearest, panel, places, ranking, sentence, spread, times,
} from "../../../course_utils/widgets/extrapolation_explorer/extrapolation_explorer_drawing.js";
import { keepsHouse, near, show } from "../dom.mjs";

const groups = [["no positions", ["none"]], ["turned", ["RoPE", "<b>"]]];
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
const START = { tasks: [text, copy], groups, chosen: ["none", "RoPE"], task: 0, index: 0 };

keepsHouse("extrapolation_explorer", widget, START);

test("the best comes first: the lowest loss, the highest accuracy", () => {
  const all = ["none", "RoPE", "<b>"];
  const names = (...given) => ranking(...given).map(({ name }) => name);
  assert.deepEqual(names(text, all, 2), ["<b>", "none", "RoPE"]);
  assert.deepEqual(names(text, ["none", "RoPE"], 0), ["RoPE", "none"]);
  assert.deepEqual(names(copy, all, 0), all);
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
  near(across(128), (across(64) + across(256)) / 2, 1e-9);
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
  const styles = [...looks([["a", ["1", "2", "3", "4", "5"]]]).values()];
  const kinds = (name) => new Set(styles.map((style) => style[name])).size;
  assert.deepEqual(["shape", "dash", "group"].map(kinds), [5, 5, 1]);
});

test("chosen schemes are drawn, others are not, and names are text", () => {
  const drawn = panel(text, ["RoPE", "<b>"], 0, looks(groups));
  assert.equal(drawn.match(/class="mean/g).length, 2);
  assert.match(drawn, /&lt;b&gt;/);
  assert.doesNotMatch(drawn, /<b>|none<|NaN|undefined|Infinity/);
});

test("a box adds a scheme and takes it away", async () => {
  const { put, texts, traitsOf } = show(widget, START);
  const here = () => texts(".acw-here tbody th");
  assert.deepEqual(here(), ["RoPE", "none"]);
  await put("<b>", true);
  assert.deepEqual(here(), ["<b>", "RoPE", "none"]);
  await put("<b>", false);
  assert.deepEqual(traitsOf("chosen"), [["none", "RoPE"]]);
});

test("task and length are chosen by keyboard or from Python, and the tables follow", async () => {
  const { put, set, control, texts, text, rows } = show(widget, START);
  await set({ index: 2 });
  assert.deepEqual(texts(".acw-here tbody th"), ["none", "RoPE"]);
  assert.equal(control("tokens read").getAttribute("aria-valuetext"), "512 tokens, 8 times the trained 64");
  await put("task", 1);
  assert.match(text("figcaption"), /^accuracy, higher is better/);
  assert.equal(rows("details").length, 3);
  assert.match(text("details tbody"), /0\.10 \(0\.00 to 0\.20\)/);
  await put("tokens read", 0);
  assert.match(text(".acw-said"), /^32 tokens read/);
});

test("the pointer chooses the nearest length", async () => {
  assert.deepEqual([places(text).across(96) + 1, 0].map((x) => nearest(text, x)), [1, 0]);
  const { one, fire, traitsOf } = show(widget, START);
  one("figure svg").getBoundingClientRect = () => ({ left: 0, width: 440 });
  await fire(one("figure svg"), "pointermove", { clientX: 312 });
  assert.deepEqual(traitsOf("index"), [2]);
});

test("a scheme that is as good at the longest length as at the trained one ticks the task", async () => {
  const flat = { ...text, curves: [...text.curves, ["flat", text.lengths.map(() => [1, 1, 1])]] };
  const { set, text: said } = show(widget, { ...START, tasks: [flat, copy], chosen: ["RoPE"], groups: [...groups, ["more", ["flat"]]] });
  await set({ chosen: ["RoPE", "flat"] });
  assert.match(said(".acw-task"), /^○/, "at the shortest length");
  await set({ index: 2 });
  assert.match(said(".acw-task"), /^✓/);
  const rises = { lower: true, trained: 1, lengths: [1, 2], curves: [["a", [[1, 1, 1], [2, 2, 2]]]] };
  assert.deepEqual([keepsUp(rises, ["a"]), keepsUp({ ...rises, lower: false }, ["a"]), keepsUp(rises, [])], [false, true, false]);
});
