// What several widgets share: numbers and how they are said, text that stays text, moves over cells and planes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cellAt, moved, stepFor } from "../../course_utils/widgets/cells.js";
import { decimal, mulberry32, softmax } from "../../course_utils/widgets/numbers.js";
import * as plane from "../../course_utils/widgets/plane.js";
import { escape, format, inkOn, make, mark, cividis, widget } from "../../course_utils/widgets/shared.js";
import { count, inBytes, inFlop } from "../../course_utils/widgets/units.js";
import { near, read, show } from "./dom.mjs";

const cases = read("widget_cases.json");

test("the colours of weights are those of the figures", () => {
  for (const [t, rgb] of cases.cividis) near(cividis(t), rgb, 4);
  assert.deepEqual(cividis(-3), cividis(0));
  assert.deepEqual(cividis(7), cividis(1));
});

test("text on every colour has a contrast of at least 4.5", () => {
  const light = (rgb) =>
    rgb
      .map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  for (let i = 0; i <= 1000; i++) {
    const colour = cividis(i / 1000);
    const [a, b] = [light(colour), inkOn(colour) === "#000" ? 0 : 1];
    assert.ok((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 4.5);
  }
});

test("softmax and random numbers are Python's", () => {
  for (const { scores, weights } of cases.softmax) near(softmax(scores.map(Number)), weights, 1e-15);
  for (const { seed, numbers } of cases.uniform) numbers.forEach((x, n) => assert.equal(mulberry32(seed, n), x));
});

test("numbers are short and never lose their sign or kind", () => {
  const expected = {
    0: "0", 1: "1.00", 0.4213: "0.421", "-0.5": "−0.500", 0.00031: "0.000310", 0.00001234: "1.2e−5",
    1024: "1024", 999.7: "1000", 12345678: "1.2e7", NaN: "not a number", Infinity: "infinity", "-Infinity": "−infinity",
  };
  for (const [x, text] of Object.entries(expected)) assert.equal(format(Number(x)), text);
  assert.deepEqual([-0.001, -1.5, -Infinity, Infinity].map((x) => decimal(x)), ["0.00", "−1.50", "−∞", "∞"]);
});

test("large numbers have their unit", () => {
  assert.deepEqual([999_900, 1_063_000_000, 3.14e23, 3.14e25].map(inFlop), ["1 Mflop", "1.06 Gflop", "314 Zflop", "3.14e4 Zflop"]);
  assert.deepEqual([1536, 2 ** 24, 2 ** 34].map(inBytes), ["1.5 KiB", "16 MiB", "16 GiB"]);
  assert.deepEqual([174604259328, 999.9, 12].map(count), ["175 B", "1 k", "12"]);
});

test("text from outside cannot become markup", () => {
  assert.equal(escape('<b a="1">&\u0001'), "&lt;b a=&quot;1&quot;&gt;&amp;");
  assert.equal(
    mark("text", { x: 1.23456, title: '"<' }, escape("<i>")),
    '<text x="1.23" title="&quot;&lt;">&lt;i&gt;</text>',
  );
});

test("traits change at once, and Python is told at once", () => {
  const build = ({ write }) => ({ root: make("button", { onclick: () => write({ place: 1 }) }), update() {} });
  const { model, one } = show(widget(["place"], build), { place: 0 });
  one("button").click();
  assert.deepEqual([model.get("place"), model.saved], [1, 1]);
});

test("labels are thinned so that they do not touch", () => {
  const steps = [[15, 40, true], [15, 1, true], [15, 0.05, true], [15, 4, false]].map((given) => stepFor(...given));
  assert.deepEqual(steps, [1, 20, 500, 4]);
});

test("points belong to the cell they lie in, and to the nearest one outside", () => {
  const at = { rows: 3, columns: 4, cellWidth: 10, cellHeight: 20 };
  assert.deepEqual([cellAt(39.9, 20, at), cellAt(-5, 999, at)], [[1, 3], [2, 0]]);
});

test("keys walk through the cells and stop at the edges", () => {
  for (const [key, control, from, to] of [
    ["ArrowDown", false, [29, 2], [29, 2]], ["ArrowRight", false, [3, 2], [3, 3]],
    ["PageDown", false, [3, 2], [13, 2]], ["PageUp", false, [3, 2], [0, 2]],
    ["End", false, [3, 2], [3, 6]], ["Home", true, [3, 2], [0, 0]], ["End", true, [3, 2], [29, 6]],
    ["a", false, [3, 2], null],
  ])
    assert.deepEqual(moved(key, control, from, 30, 7), to, key);
});

test("arrow keys move a place by a tenth, with Shift by a half, and stop at the edge", () => {
  for (const [from, key, large, to] of [
    [[1, 0], "ArrowUp", false, [1, 0.1]], [[1, 0], "ArrowLeft", true, [0.5, 0]],
    [[2, -1.9], "ArrowRight", false, [2, -1.9]], [[0, -1.9], "ArrowDown", true, [0, -2]],
    [[1, 0], "a", false, null],
  ])
    assert.deepEqual(plane.moved(from, key, large), to, key);
  assert.ok(Object.is(plane.snap([-0.01, 9])[0], 0));
});

test("a place of the pointer is a place of the plane, and back; up is up", () => {
  const { at, from } = plane.planeOf(220, 4.3);
  const [x, y] = at([1.5, -2]);
  near(from(x / 220, y / 220), [1.5, -2]);
  assert.ok(at([0, 1])[1] < at([0, 0])[1]);
});
