// Two maps of a heatmap compared: numbers, colours and words; what is saved; and both in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/heatmap/heatmap.js";
import { GAP, layout, svgFile } from "../../../course_utils/widgets/heatmap/heatmap_picture.js";
import * as pair from "../../../course_utils/widgets/heatmap/heatmap_values.js";
import { START } from "./heatmap_start.mjs";
import { bare, near, read, show } from "../dom.mjs";

const cases = read("widget_cases.json");
const map = (name, ...values) => ({
  name, values: Float32Array.from(values), rows: values.length / 2, columns: 2, queries: ["q", "r"], keys: ["a", "b"],
});

test("the colours of differences are matplotlib's PuOr", () => {
  for (const [t, rgb] of cases.puor) near(pair.puor(t), rgb, 1);
});

test("differences and the share that moved are Python's", () => {
  const { first, second, columns, difference, moved } = cases.pair;
  near(pair.difference(Float64Array.from(first), Float64Array.from(second)), difference);
  near(pair.shareMoved(first, second, columns), moved);
});

test("only rows of weights have a share that moved; rows of zeros are weights", () => {
  assert.equal(pair.shareMoved([1, 0], [0, 1], 2), 1);
  assert.equal(pair.shareMoved([0.5, 0.5, 0, 0], [1, 0, 0, 0], 2), 0.25);
  for (const first of [[2, 0], [NaN, 0]]) assert.equal(pair.shareMoved(first, [0, 1], 2), null);
});

test("nothing has the same colour in every span, and both sides are as far from it", () => {
  for (const [low, high] of [[-0.2, 0.1], [-1, 3], [0, 0]]) {
    const range = pair.signedRange({ low, high });
    assert.equal(range.low, -range.high);
    assert.ok(range.high >= Math.max(-low, high) && range.high > 0);
    assert.deepEqual(pair.colour(range, 0), [247, 247, 247]);
  }
});

test("a pixel that several differences share shows the farthest from nothing", () => {
  const range = pair.signedRange({ low: -1, high: 1 });
  const pixels = pair.raster([0.2, -1, 0, 0.1], 1, 4, 1, 2, range);
  assert.deepEqual([...pixels.slice(0, 3)], pair.colour(range, -1));
  assert.notDeepEqual([...pixels.slice(4, 7)], pair.colour(range, 0));
});

test("a cell is said in both maps, with its sign", () => {
  const [first, second] = [map("before", 0.25, 0.75), map("after", 0.75, 0.25)];
  assert.equal(
    bare(pair.pairSentence(first, second, 0, 0)),
    "query 'q' (0) to key 'a' (0): before 0.250, after 0.750, difference +0.500.",
  );
  assert.match(pair.pairSentence(first, second, 0, 1), /difference −0\.500\.$/);
});

test("the summary names the largest rise and fall, and how much weight moved", () => {
  const [first, second] = [map("before", 0.25, 0.75, 1, 0), map("after", 0.75, 0.25, 1, 0)];
  const summary = (apart, moved, other = second) => bare(pair.pairSummary(first, other, Float32Array.from(apart), moved));
  assert.equal(
    summary(pair.difference(first.values, second.values), 0.25),
    "From before to after: largest rise +0.500, query 'q' (0), key 'a' (0); largest fall −0.500, " +
      "query 'q' (0), key 'b' (1). On average 25% of a query's weight lies on other keys.",
  );
  assert.equal(summary([0, 0, 0, 0], 0, first), "From before to before: no difference.");
  assert.equal(summary([NaN, NaN], null), "No cell is finite in both maps.");
  assert.match(summary([NaN, 1], null), / 1 cell is not finite \(hatched\)\.$/);
});

test("the table ranks a row by how much the maps differ", () => {
  const [first, second] = [map("x", 0, 0, 0.5, 0.5), map("y", 0, 0, 0.6, 0.2)];
  const rows = pair.pairRows(first, second, pair.difference(first.values, second.values), 1, 8);
  assert.deepEqual(rows.map((row) => row.map(bare)), [["'b' (1)", "0.500", "0.200", "−0.300"], ["'a' (0)", "0.500", "0.600", "+0.100"]]);
});

test("two maps are saved beside each other, each with its name", () => {
  const [rowLabels, columnLabels] = [["0"], ["0", "1"]];
  const at = layout(300, rowLabels, columnLabels, true);
  const views = ["before", "after"].map((name) => ({ ...map(name, 0.1, 0.9), range: { low: 0, high: 1 }, rowLabels, columnLabels, at }));
  const drawn = svgFile(views, "", [null, null]);
  assert.match(drawn, /class="name"[^>]*>before<.*class="name"[^>]*>after</);
  const places = [...drawn.matchAll(/<g transform="translate\((\d+) 6\)">/g)].map((found) => Number(found[1]));
  assert.deepEqual(places, [0, at.width + GAP]);
  assert.equal(at.top, layout(300, rowLabels, columnLabels).top + 20);
});

test("two heads are compared side by side, with one cell in both, or as a difference", async () => {
  const { one, all, put, set, control, fire, press, text, texts, traitsOf } = show(widget, START);
  assert.ok(control("Compared with").parentElement.hidden);
  await put("View", "side");
  assert.deepEqual(texts(".name"), ["Head 0", "Head 1"]);
  assert.equal(text(".acw-readout"), "query 0 to key 'a' (0): Head 0 0.100, Head 1 0.500, difference +0.400.");
  await press(one(".acw-plot"), "ArrowRight");
  assert.deepEqual(all(".acw-map").map((each) => each.querySelectorAll(".tag text")[1].textContent), ["b", "b"]);
  await set({ view: "difference" });
  assert.equal(all(".acw-map").length, 1);
  assert.deepEqual(texts(".name"), ["Head 1 − Head 0"]);
  assert.match(one(".acw-plot").getAttribute("aria-label"), /^Weights · Head 1 − Head 0\. Arrow/);
  assert.match(text(".acw-note"), /On average 52% of a query's weight lies on other keys/);
  control("Compared with").selectedIndex = 0;
  await fire(control("Compared with"), "change");
  assert.deepEqual(traitsOf("partner"), [[0, 0]]);
  assert.match(text(".acw-note"), /: no difference\.$/);
});

test("two stacks show the same head of both, and the table their differences", async () => {
  const halves = { shape: [1, 1, 2, 3], head_names: ["Head 0"], pair_names: ["before", "after"], view: "side" };
  const { control, open, set, rows, text, texts } = show(widget, { ...START, ...halves });
  assert.equal(text(".acw-readout"), "query 0 to key 'a' (0): before 0.100, after 0.500, difference +0.400.");
  assert.ok(control("Compared with").parentElement.hidden);
  await open();
  assert.deepEqual(rows("details"), [
    ["'c' (2)", "0.700", "0.250", "−0.450"], ["'a' (0)", "0.100", "0.500", "+0.400"], ["'b' (1)", "0.200", "0.250", "+0.0500"],
  ]);
  assert.equal(text("summary"), "Largest differences of this row, as a table");
  await set({ view: "second" });
  assert.match(text(".acw-readout"), /^query 0 attends 0\.500 to key 'a'/);
  assert.deepEqual(texts(".name"), ["after"]);
});
