// The heatmap's pure parts, and what they share with Python.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as moves from "../../course_utils/widgets/cells.js";
import * as picture from "../../course_utils/widgets/heatmap_picture.js";
import * as values from "../../course_utils/widgets/heatmap_values.js";
import { escape, format, inkOn, mark, viridis } from "../../course_utils/widgets/shared.js";

const cases = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
const heatmap = { ...moves, ...picture, ...values };

test("the colours are matplotlib's viridis", () => {
  for (const [t, rgb] of cases.viridis) {
    viridis(t).forEach((part, i) =>
      assert.ok(Math.abs(part - rgb[i]) <= 1, `${t}: ${viridis(t)} is not ${rgb}`),
    );
  }
  assert.deepEqual(viridis(-3), viridis(0));
  assert.deepEqual(viridis(7), viridis(1));
});

test("text on every colour has a contrast of at least 4.5", () => {
  const light = (rgb) =>
    rgb
      .map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  for (let i = 0; i <= 1000; i++) {
    const colour = viridis(i / 1000);
    const [a, b] = [light(colour), inkOn(colour) === "#000" ? 0 : 1];
    assert.ok((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 4.5);
  }
});

test("float16 is read as numpy reads it", () => {
  const table = heatmap.halfTable();
  for (const [bits, value] of cases.half)
    assert.ok(Object.is(table[bits], Number(value)), `${bits}: ${table[bits]} is not ${value}`);
  const view = new DataView(Uint16Array.of(0x1234, 0x3c00, 0x7e00).buffer, 2);
  assert.deepEqual([...heatmap.decode(view, "float16")], [1, NaN]);
});

test("float32 is read from a view that starts anywhere", () => {
  const bytes = new Uint8Array(9);
  bytes.set(new Uint8Array(Float32Array.of(0.5, -2).buffer), 1);
  assert.deepEqual([...heatmap.decode(new DataView(bytes.buffer, 1), "float32")], [0.5, -2]);
});

test("numbers are short and never lose their sign or kind", () => {
  const expected = {
    0: "0",
    1: "1.00",
    0.4213: "0.421",
    "-0.5": "−0.500",
    0.00031: "0.000310",
    0.00001234: "1.2e−5",
    1024: "1024",
    999.7: "1000",
    12345678: "1.2e7",
    NaN: "not a number",
    Infinity: "infinity",
    "-Infinity": "−infinity",
  };
  for (const [x, text] of Object.entries(expected)) assert.equal(format(Number(x)), text);
});

test("text from outside cannot become markup", () => {
  assert.equal(escape('<b a="1">&\u0001'), "&lt;b a=&quot;1&quot;&gt;&amp;");
  assert.equal(
    mark("text", { x: 1.23456, title: '"<' }, escape("<i>")),
    '<text x="1.23" title="&quot;&lt;">&lt;i&gt;</text>',
  );
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
  const of = (low, high) => ({ low, high });
  const span = (...given) => Object.values(heatmap.colourRange(...given));
  assert.deepEqual(span("auto", of(0, 0.9), of(0, 0.2)), [0, 1, "unit"]);
  assert.deepEqual(span("auto", of(0, 0.3), of(0, 0.2)), [0, 0.3, "all"]);
  assert.deepEqual(span("head", of(0, 0.9), of(0.1, 0.2)), [0, 0.2, "head"]);
  assert.deepEqual(span("unit", of(-2, 3), of(-1, 1)), [-2, 3, "all"]);
  assert.deepEqual(span("head", of(-2, 3), of(-1, 1)), [-1, 1, "head"]);
  assert.deepEqual(span("auto", of(0, 0), of(0, 0)), [0, 1, "all"]);
  assert.deepEqual(span("auto", of(4, 4), of(4, 4)), [4, 5, "all"]);
});

test("a pixel that several cells share shows the largest of them", () => {
  const values = new Float32Array(100);
  values[73] = 1;
  const pixels = heatmap.raster(values, 1, 100, 1, 10, { low: 0, high: 1 });
  const colours = Array.from({ length: 10 }, (_, x) => [...pixels.slice(4 * x, 4 * x + 3)]);
  colours.forEach((rgb, x) => assert.deepEqual(rgb, viridis(x === 7 ? 1 : 0)));
});

test("a cell that spans several pixels fills all of them and nothing else", () => {
  const pixels = heatmap.raster([0, 1, 0.5, 0], 2, 2, 5, 5, { low: 0, high: 1 });
  const at = (x, y) => [...pixels.slice(4 * (5 * y + x), 4 * (5 * y + x) + 4)];
  assert.deepEqual(at(4, 0), [...viridis(1), 255]);
  assert.deepEqual(at(0, 4), [...viridis(128 / 255), 255]);
  assert.deepEqual(at(0, 0), at(4, 4));
});

test("what is not finite is hatched in grey, also where it shares a pixel", () => {
  const pixels = heatmap.raster([0.3, NaN], 1, 2, 12, 1, { low: 0, high: 1 });
  const greys = new Set();
  for (let y = 0; y < 12; y++) {
    const [r, g, b] = pixels.slice(4 * y, 4 * y + 3);
    assert.ok(r === g && g === b);
    greys.add(r);
  }
  assert.equal(greys.size, 2);
});

test("a row's largest and its ranking skip what is not finite", () => {
  const values = [NaN, 0.2, 0.5, 0.5, NaN, Infinity, NaN, -Infinity];
  assert.equal(heatmap.largestInRow(values, 0, 4), 2);
  assert.equal(heatmap.largestInRow(values, 1, 4), null);
  assert.deepEqual(heatmap.ranking(values, 0, 4, 2), [2, 3]);
  assert.deepEqual(heatmap.ranking(values, 1, 4, 2), []);
});

test("tokens can be seen, whatever they are", () => {
  assert.equal(heatmap.visible(" the\n"), "␣the⏎");
  assert.equal(heatmap.visible(""), "∅");
  assert.deepEqual(heatmap.labels(null, 3), ["0", "1", "2"]);
  assert.deepEqual(heatmap.labels(["incomprehensibility", "👩🏽‍🚀"], 2), ["incomprehensi…", "👩🏽‍🚀"]);
  assert.equal(heatmap.naming(["a", "قطة"], 1), "\u2068'قطة'\u2069 (1)");
  assert.ok(heatmap.textWidth("猫猫") > heatmap.textWidth("ab"));
});

test("labels are thinned so that they do not touch", () => {
  assert.equal(heatmap.stepFor(15, 40, true), 1);
  assert.equal(heatmap.stepFor(15, 1, true), 20);
  assert.equal(heatmap.stepFor(15, 0.05, true), 500);
  assert.equal(heatmap.stepFor(15, 4, false), 4);
});

test("every picture fits its width and no cell vanishes", () => {
  for (const width of [320, 720, 1200]) {
    for (const [rows, columns] of [
      [1, 1],
      [1, 512],
      [512, 1],
      [3, 7],
      [10, 10],
      [2, 2000],
      [512, 512],
    ]) {
      const at = heatmap.layout(width, heatmap.labels(null, rows), heatmap.labels(null, columns));
      assert.ok(at.width <= width, `${rows} x ${columns} at ${width}: ${at.width}`);
      assert.ok(
        at.w >= 14 && at.h >= 14 && at.w <= 600 && at.h <= 600,
        `${rows} x ${columns}: ${at.w} x ${at.h}`,
      );
    }
  }
});

test("points belong to the cell they lie in, and to the nearest one outside", () => {
  const at = { rows: 3, columns: 4, cellWidth: 10, cellHeight: 20 };
  assert.deepEqual(heatmap.cellAt(39.9, 20, at), [1, 3]);
  assert.deepEqual(heatmap.cellAt(-5, 999, at), [2, 0]);
});

test("keys walk through the cells and stop at the edges", () => {
  const go = (key, control, from) => heatmap.moved(key, control, from, 30, 7);
  assert.deepEqual(go("ArrowDown", false, [29, 2]), [29, 2]);
  assert.deepEqual(go("ArrowRight", false, [3, 2]), [3, 3]);
  assert.deepEqual(go("PageDown", false, [3, 2]), [13, 2]);
  assert.deepEqual(go("PageUp", false, [3, 2]), [0, 2]);
  assert.deepEqual(go("End", false, [3, 2]), [3, 6]);
  assert.deepEqual(go("Home", true, [3, 2]), [0, 0]);
  assert.deepEqual(go("End", true, [3, 2]), [29, 6]);
  assert.equal(go("a", false, [3, 2]), null);
});

test("the sentence names query, key, value and the row's largest", () => {
  const view = {
    values: [0.25, 0.75, NaN, NaN],
    columns: 2,
    queries: ["the", "cat"],
    keys: null,
    weights: true,
  };
  assert.equal(
    heatmap.sentence(view, 0, 0),
    "query \u2068'the'\u2069 (0) attends 0.250 to key 0; this row's largest: 0.750 to key 1.",
  );
  assert.equal(
    heatmap.sentence(view, 0, 1),
    "query \u2068'the'\u2069 (0) attends 0.750 to key 1, this row's largest.",
  );
  assert.equal(
    heatmap.sentence(view, 1, 0),
    "query \u2068'cat'\u2069 (1), key 0: not a number; this row holds no finite number.",
  );
});

test("a saved file is one self-contained drawing", () => {
  const view = {
    values: Float32Array.of(0.1, 0.9, NaN, 0.2),
    rows: 2,
    columns: 2,
    queries: ["<a>", "b"],
    keys: null,
    range: { low: 0, high: 1 },
    rowLabels: ["<a>", "b"],
    columnLabels: ["0", "1"],
  };
  view.at = heatmap.layout(500, view.rowLabels, view.columnLabels);
  const vectors = heatmap.svgFile([view], "A & B", [null]);
  assert.match(vectors, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+/);
  assert.match(vectors, /A &amp; B.*&lt;a&gt;/);
  assert.equal(vectors.match(/<rect/g).length, 1 + 4 + 40);
  const image = heatmap.svgFile([view], "", ["data:image/png;base64,AA=="]);
  assert.equal(image.match(/<image/g).length, 1);
  assert.doesNotMatch(image.replace("http://www.w3.org/2000/svg", ""), /https?:/);
});

test("two maps are saved beside each other, each with its name", () => {
  const view = (name) => ({
    name,
    values: Float32Array.of(0.1, 0.9),
    rows: 1,
    columns: 2,
    range: { low: 0, high: 1 },
    rowLabels: ["0"],
    columnLabels: ["0", "1"],
    at: heatmap.layout(300, ["0"], ["0", "1"], true),
  });
  const [first, second] = [view("before"), view("after")];
  const drawn = heatmap.svgFile([first, second], "", [null, null]);
  assert.match(drawn, /class="name"[^>]*>before<.*class="name"[^>]*>after</);
  const places = [...drawn.matchAll(/<g transform="translate\((\d+) 6\)">/g)].map((found) => Number(found[1]));
  assert.deepEqual(places, [0, first.at.width + picture.GAP]);
  assert.equal(first.at.top, heatmap.layout(300, ["0"], ["0", "1"]).top + 20);
});
