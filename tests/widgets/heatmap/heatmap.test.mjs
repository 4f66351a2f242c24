// One map of a heatmap: its values, colours, labels and words; what is saved; and the map in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/heatmap/heatmap.js";
import * as picture from "../../../course_utils/widgets/heatmap/heatmap_picture.js";
import * as values from "../../../course_utils/widgets/heatmap/heatmap_values.js";
import { cividis } from "../../../course_utils/widgets/shared.js";
import { START } from "./heatmap_start.mjs";
import { bare, floats, keepsHouse, read, show } from "../dom.mjs";

const heatmap = { ...picture, ...values };
const unit = { low: 0, high: 1 };

keepsHouse("heatmap", widget, START);

test("float16 is read as numpy reads it", () => {
  const table = heatmap.halfTable();
  for (const [bits, value] of read("widget_cases.json").half)
    assert.ok(Object.is(table[bits], Number(value)), `${bits}: ${table[bits]} is not ${value}`);
  const view = new DataView(Uint16Array.of(0x1234, 0x3c00, 0x7e00).buffer, 2);
  assert.deepEqual([...heatmap.decode(view, "float16")], [1, NaN]);
});

test("float32 is read from a view that starts anywhere", () => {
  const bytes = new Uint8Array(9);
  bytes.set(new Uint8Array(Float32Array.of(0.5, -2).buffer), 1);
  assert.deepEqual([...heatmap.decode(new DataView(bytes.buffer, 1), "float32")], [0.5, -2]);
});

test("the extent leaves out what is not finite and counts it", () => {
  assert.deepEqual(heatmap.extent([0.25, NaN, -1, Infinity]), { low: -1, high: 0.25, strange: 2 });
  assert.deepEqual(heatmap.extent([NaN]), { low: 0, high: 0, strange: 1 });
});

test("a head's map is found in its layer", () => {
  const all = Float32Array.from({ length: 24 }, (_, i) => i);
  assert.deepEqual([...heatmap.mapOf(all, [2, 3, 2, 2], 1, 2)], [20, 21, 22, 23]);
});

test("shares are whole per cents, and a little is not nothing", () => {
  const shares = [0, 0.004, 0.006, 1.2, Infinity];
  assert.deepEqual(shares.map(heatmap.percent), ["0%", "under 1%", "1%", "120%", "∞%"]);
});

test("colours span 0 to 1 for weights and the data for anything else", () => {
  for (const [mode, whole, here, span] of [
    ["auto", [0, 0.9], [0, 0.2], [0, 1, "unit"]], ["auto", [0, 0.3], [0, 0.2], [0, 0.3, "all"]],
    ["head", [0, 0.9], [0.1, 0.2], [0, 0.2, "head"]], ["unit", [-2, 3], [-1, 1], [-2, 3, "all"]],
    ["head", [-2, 3], [-1, 1], [-1, 1, "head"]], ["auto", [0, 0], [0, 0], [0, 1, "all"]],
    ["auto", [4, 4], [4, 4], [4, 5, "all"]],
  ]) {
    const [all, own] = [whole, here].map(([low, high]) => ({ low, high }));
    assert.deepEqual(Object.values(heatmap.colourRange(mode, all, own)), span);
  }
});

test("a pixel that several cells share shows the largest of them", () => {
  const weights = new Float32Array(100);
  weights[73] = 1;
  const pixels = heatmap.raster(weights, 1, 100, 1, 10, unit);
  for (let x = 0; x < 10; x++) assert.deepEqual([...pixels.slice(4 * x, 4 * x + 3)], cividis(x === 7 ? 1 : 0));
});

test("a cell that spans several pixels fills all of them and nothing else", () => {
  const pixels = heatmap.raster([0, 1, 0.5, 0], 2, 2, 5, 5, unit);
  const at = (x, y) => [...pixels.slice(4 * (5 * y + x), 4 * (5 * y + x) + 4)];
  assert.deepEqual(at(4, 0), [...cividis(1), 255]);
  assert.deepEqual(at(0, 4), [...cividis(128 / 255), 255]);
  assert.deepEqual(at(0, 0), at(4, 4));
});

test("what is not finite is hatched in grey, also where it shares a pixel", () => {
  const pixels = heatmap.raster([0.3, NaN], 1, 2, 12, 1, unit);
  const colours = Array.from({ length: 12 }, (_, y) => pixels.slice(4 * y, 4 * y + 3));
  assert.ok(colours.every(([r, g, b]) => r === g && g === b));
  assert.equal(new Set(colours.map(([r]) => r)).size, 2);
});

test("a row's largest and its ranking skip what is not finite", () => {
  const rows = [NaN, 0.2, 0.5, 0.5, NaN, Infinity, NaN, -Infinity];
  assert.deepEqual([0, 1].map((row) => heatmap.largestInRow(rows, row, 4)), [2, null]);
  assert.deepEqual([0, 1].map((row) => heatmap.ranking(rows, row, 4, 2)), [[2, 3], []]);
});

test("tokens can be seen, whatever they are", () => {
  assert.deepEqual([" the\n", ""].map(heatmap.visible), ["␣the⏎", "∅"]);
  assert.deepEqual(heatmap.labels(null, 3), ["0", "1", "2"]);
  assert.deepEqual(heatmap.labels(["incomprehensibility", "👩🏽‍🚀"], 2), ["incomprehensi…", "👩🏽‍🚀"]);
  assert.equal(heatmap.naming(["a", "قطة"], 1), "\u2068'قطة'\u2069 (1)");
  assert.ok(heatmap.textWidth("猫猫") > heatmap.textWidth("ab"));
});

test("every picture fits its width and no cell vanishes", () => {
  for (const width of [320, 720, 1200])
    for (const [rows, columns] of [[1, 1], [1, 512], [512, 1], [3, 7], [10, 10], [2, 2000], [512, 512]]) {
      const at = heatmap.layout(width, heatmap.labels(null, rows), heatmap.labels(null, columns));
      assert.ok(at.width <= width, `${rows} x ${columns} at ${width}: ${at.width}`);
      for (const side of [at.w, at.h]) assert.ok(side >= 14 && side <= 600, `${rows} x ${columns}: ${side}`);
    }
});

test("the sentence names query, key, value and the row's largest", () => {
  const view = { values: [0.25, 0.75, NaN, NaN], columns: 2, queries: ["the", "cat"], keys: null, weights: true };
  const said = [[0, 0], [0, 1], [1, 0]].map((cell) => bare(heatmap.sentence(view, ...cell)));
  assert.deepEqual(said, [
    "query 'the' (0) attends 0.250 to key 0; this row's largest: 0.750 to key 1.",
    "query 'the' (0) attends 0.750 to key 1, this row's largest.",
    "query 'cat' (1), key 0: not a number; this row holds no finite number.",
  ]);
});

test("a saved file is one self-contained drawing", () => {
  const [rowLabels, columnLabels] = [["<a>", "b"], ["0", "1"]];
  const view = {
    values: Float32Array.of(0.1, 0.9, NaN, 0.2), rows: 2, columns: 2, queries: rowLabels, keys: null,
    range: unit, rowLabels, columnLabels, at: heatmap.layout(500, rowLabels, columnLabels),
  };
  const vectors = heatmap.svgFile([view], "A & B", [null]);
  assert.match(vectors, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+/);
  assert.match(vectors, /A &amp; B.*&lt;a&gt;/);
  assert.equal(vectors.match(/<rect/g).length, 1 + 4 + 40);
  const image = heatmap.svgFile([view], "", ["data:image/png;base64,AA=="]);
  assert.equal(image.match(/<image/g).length, 1);
  assert.doesNotMatch(image.replace("http://www.w3.org/2000/svg", ""), /https?:/);
});

test("arrow keys move the cell, the readout and the table follow, the page does not scroll", async () => {
  const { one, press, text, traitsOf, open, rows } = show(widget, START);
  assert.equal(text(".acw-readout"), "query 0 attends 0.100 to key 'a' (0); this row's largest: 0.700 to key 'c' (2).");
  const pressed = [];
  for (const key of ["ArrowDown", "ArrowRight", "Tab"]) pressed.push(await press(one(".acw-plot"), key));
  assert.deepEqual(pressed.map(({ defaultPrevented }) => defaultPrevented), [true, true, false]);
  assert.deepEqual(traitsOf("cell"), [[1, 1]]);
  assert.equal(text(".acw-readout"), "query 1 attends 0.300 to key 'b' (1); this row's largest: 0.400 to key 'c' (2).");
  await open();
  assert.deepEqual(rows("details"), [["'c' (2)", "0.400"], ["'a' (0)", "0.300"], ["'b' (1)", "0.300"]]);
});

test("hover shows a cell for as long as it lasts and chooses nothing; a click chooses", async () => {
  const { one, fire, text, traitsOf } = show(widget, START);
  const [plot, at] = [one(".acw-plot"), { clientX: 130, clientY: 60 }];
  await fire(plot, "pointermove", at);
  assert.match(text(".acw-readout"), /^query 1 attends 0\.400 to key 'c'/);
  assert.deepEqual(traitsOf("cell"), [[0, 0]]);
  await fire(plot, "pointerleave");
  assert.match(text(".acw-readout"), /^query 0 attends 0\.100/);
  await fire(plot, "click", at);
  assert.deepEqual(traitsOf("cell"), [[1, 2]]);
});

test("a head is chosen with a radio button, here or from Python", async () => {
  const { all, put, set, control, traitsOf, text } = show(widget, START);
  const radios = all("input[type=radio]");
  assert.deepEqual(radios.map(({ checked }) => checked), [true, false]);
  await put("Head 1", true);
  assert.deepEqual(traitsOf("head"), [1]);
  assert.match(text(".acw-readout"), /0\.500/);
  await set({ head: 0 });
  assert.match(text(".acw-readout"), /0\.100/);
  assert.ok(radios[0].checked);
  assert.equal(control("Head 0"), radios[0], "updated in place");
});

test("layers have a choice of their own and their own values", async () => {
  const layers = { shape: [2, 1, 2, 3], layer_names: ["Layer 0", "Layer 1"], head_names: ["Head 0"] };
  const { one, put, traitsOf, text } = show(widget, { ...START, ...layers });
  assert.ok(one("fieldset").hidden);
  await put("Layer", 1);
  assert.deepEqual(traitsOf("layer"), [1]);
  assert.match(text(".acw-readout"), /0\.500/);
});

test("controls without a choice are not shown, and colours outside 0 to 1 are said", () => {
  const { all, text } = show(widget, { ...START, data: floats(-1, 2, 3, 4, 5, 6), shape: [1, 1, 2, 3], head_names: ["Head 0"] });
  assert.deepEqual(all(".acw-bar .acw-field").map(({ hidden }) => hidden), [true, true, true, true]);
  assert.match(text(".acw-note"), /outside 0 to 1: the colours span −1\.00 to 6\.00/);
});

test("what is not finite is said, not thrown", () => {
  const { text } = show(widget, { ...START, data: floats(...Array(12).fill(NaN)), title: "" });
  assert.equal(text(".acw-readout"), "query 0, key 'a' (0): not a number; this row holds no finite number.");
  assert.match(text(".acw-note"), /no finite number\. 6 cells are not finite \(hatched\)/);
});

test("tokens and titles stay text", () => {
  const { one, text } = show(widget, { ...START, key_tokens: ["<img src=x>", "&amp;", "ok"], title: "<b>x</b>" });
  assert.equal(one("img, b"), null);
  assert.equal(text(".acw-title"), "<b>x</b>");
});

test("the query whose largest value is the smallest ticks the task; one query has none to choose", async () => {
  const data = floats(0.8, 0.1, 0.1, 0.4, 0.3, 0.3);
  const single = { ...START, shape: [1, 1, 2, 3], head_names: ["Head 0"], query_tokens: null, data, cell: [0, 0] };
  const { set, text } = show(widget, single);
  assert.match(text(".acw-task"), /^○/);
  await set({ cell: [1, 0] });
  assert.match(text(".acw-task"), /^✓/);
  assert.ok(show(widget, { ...single, shape: [1, 1, 1, 3], data: floats(0.8, 0.1, 0.1) }).one(".acw-task").hidden);
});
