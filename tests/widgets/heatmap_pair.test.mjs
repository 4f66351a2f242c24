// Two maps of a heatmap compared: numbers, colours and words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as pair from "../../course_utils/widgets/heatmap_values.js";

const cases = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
const { colour, raster } = pair;
const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
const map = (name, ...values) => ({
  name,
  values: Float32Array.from(values),
  rows: values.length / 2,
  columns: 2,
  queries: ["q", "r"],
  keys: ["a", "b"],
});

test("the colours of differences are matplotlib's PuOr", () => {
  assert.ok(cases.puor.length > 10);
  for (const [t, rgb] of cases.puor)
    pair.puor(t).forEach((part, i) => assert.ok(Math.abs(part - rgb[i]) <= 1, `${t}: ${pair.puor(t)} is not ${rgb}`));
});

test("differences and the share that moved are Python's", () => {
  const { first, second, columns, difference, moved } = cases.pair;
  const apart = pair.difference(Float64Array.from(first), Float64Array.from(second));
  apart.forEach((x, i) => assert.ok(Math.abs(x - difference[i]) < 1e-12));
  assert.ok(Math.abs(pair.shareMoved(first, second, columns) - moved) < 1e-12);
});

test("only rows of weights have a share that moved; rows of zeros are weights", () => {
  assert.equal(pair.shareMoved([1, 0], [0, 1], 2), 1);
  assert.equal(pair.shareMoved([0.5, 0.5, 0, 0], [1, 0, 0, 0], 2), 0.25);
  assert.equal(pair.shareMoved([2, 0], [0, 1], 2), null);
  assert.equal(pair.shareMoved([NaN, 0], [0, 1], 2), null);
});

test("nothing has the same colour in every span, and both sides are as far from it", () => {
  for (const [low, high] of [[-0.2, 0.1], [-1, 3], [0, 0]]) {
    const range = pair.signedRange({ low, high });
    assert.equal(range.low, -range.high);
    assert.ok(range.high >= Math.max(-low, high) && range.high > 0);
    assert.deepEqual(colour(range, 0), [247, 247, 247]);
  }
});

test("a pixel that several differences share shows the farthest from nothing", () => {
  const range = pair.signedRange({ low: -1, high: 1 });
  const pixels = raster([0.2, -1, 0, 0.1], 1, 4, 1, 2, range);
  assert.deepEqual([...pixels.slice(0, 3)], colour(range, -1));
  assert.notDeepEqual([...pixels.slice(4, 7)], colour(range, 0));
});

test("a cell is said in both maps, with its sign", () => {
  const [first, second] = [map("before", 0.25, 0.75), map("after", 0.75, 0.25)];
  assert.equal(
    plain(pair.pairSentence(first, second, 0, 0)),
    "query 'q' (0) to key 'a' (0): before 0.250, after 0.750, difference +0.500.",
  );
  assert.match(pair.pairSentence(first, second, 0, 1), /difference −0\.500\.$/);
});

test("the summary names the largest rise and fall, and how much weight moved", () => {
  const [first, second] = [map("before", 0.25, 0.75, 1, 0), map("after", 0.75, 0.25, 1, 0)];
  const apart = pair.difference(first.values, second.values);
  assert.equal(
    plain(pair.pairSummary(first, second, apart, 0.25)),
    "From before to after: largest rise +0.500, query 'q' (0), key 'a' (0); largest fall −0.500, " +
      "query 'q' (0), key 'b' (1). On average 25% of a query's weight lies on other keys.",
  );
  assert.equal(pair.pairSummary(first, first, new Float32Array(4), 0), "From before to before: no difference.");
  const none = Float32Array.of(NaN, NaN);
  assert.equal(pair.pairSummary(first, second, none, null), "No cell is finite in both maps.");
  assert.match(pair.pairSummary(first, second, Float32Array.of(NaN, 1), null), / 1 cell is not finite \(hatched\)\.$/);
});

test("the table ranks a row by how much the maps differ", () => {
  const [first, second] = [map("x", 0, 0, 0.5, 0.5), map("y", 0, 0, 0.6, 0.2)];
  const apart = pair.difference(first.values, second.values);
  const rows = pair.pairRows(first, second, apart, 1, 8).map((row) => row.map(plain));
  assert.deepEqual(rows, [["'b' (1)", "0.500", "0.200", "−0.300"], ["'a' (0)", "0.500", "0.600", "+0.100"]]);
});
