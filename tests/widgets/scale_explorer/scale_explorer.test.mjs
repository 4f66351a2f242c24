// The explorer's arithmetic: held to Python by the shared cases, and to what theory says; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { entropy as entropyOf } from "../../../course_utils/widgets/numbers.js";
import widget from "../../../course_utils/widgets/scale_explorer/scale_explorer.js";
import * as numbers from "../../../course_utils/widgets/scale_explorer/scale_explorer_numbers.js";
import * as panels from "../../../course_utils/widgets/scale_explorer/scale_explorer_panels.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("widget_cases.json");
const drawn = numbers.draw(12);
const both = (temperature, numKeys) => [false, true].map((scaled) => numbers.curve(drawn, scaled, temperature, numKeys));
const START = { d_k: 4, temperature: 1, scaled: false, num_keys: 16, seed: 12 };

keepsHouse("scale_explorer", widget, START);

test("entropy, gradient norm and variance are Python's", () => {
  for (const { weights, entropy, gradient } of cases.softmax)
    near([entropyOf(weights), numbers.jacobianNorm(weights)], [entropy, gradient]);
  near(numbers.variance(cases.variance.values), cases.variance.variance);
});

test("the gradient norm stays right where the softmax has nearly one winner", () => {
  const rest = 1e-9;
  near(numbers.jacobianNorm([1 - rest, rest]) / (2 * rest), 1, 1e-6);
});

test("normals have mean 0, variance 1 and the tails of a normal", () => {
  const sample = numbers.fillNormal(new Float64Array(200000), numbers.uniform(5));
  near(sample.reduce((a, b) => a + b, 0) / sample.length, 0, 0.01);
  near(numbers.variance(sample), 1, 0.015);
  near(sample.filter((x) => Math.abs(x) > 2).length / sample.length, 0.0455, 0.002);
});

test("a draw is the same for the same seed and another for another", () => {
  assert.deepEqual(numbers.draw(12).pairs[10].slice(0, 9), drawn.pairs[10].slice(0, 9));
  assert.notEqual(numbers.draw(13).rows[3][5], drawn.rows[3][5]);
});

test("dot products add up coordinate by coordinate", () => {
  const [query, key] = [0, 1].map((k) => Float64Array.from({ length: 1024 }, (_, i) => ((i * 7 + k) % 11) - 5));
  const into = numbers.WIDTHS.map(() => [0]);
  numbers.dotProducts(query, key, into, 0);
  numbers.WIDTHS.forEach((width, w) =>
    assert.equal(into[w][0], query.slice(0, width).reduce((sum, q, i) => sum + q * key[i], 0)),
  );
});

test("Var(q·k) is d_k, and 1 after the scale", () => {
  numbers.WIDTHS.forEach((width, index) => {
    near(numbers.variance(drawn.pairs[index]) / width, 1, 0.15);
    near(width * numbers.factor(width, true, 1) ** 2, 1);
    near(numbers.factor(width, false, 0.5), 2);
  });
});

test("unscaled, the softmax saturates and its gradient dies; scaled, nothing changes with d_k", () => {
  const [plain, divided] = both(1, 16);
  assert.ok(plain[2].top < 0.5 && plain[10].top > 0.93);
  assert.ok(plain[10].entropy < 0.06 * Math.log(16));
  assert.ok(plain[10].gradient < plain[2].gradient / 4);
  for (const name of ["top", "entropy", "gradient"]) {
    const values = divided.slice(2).map((point) => point[name]);
    assert.ok(Math.max(...values) < 1.15 * Math.min(...values), name);
  }
  assert.deepEqual(plain[0], divided[0]);
});

test("a histogram loses no value", () => {
  const { bins, beyond } = numbers.histogram([-2, -1.99, 0, 1.99, 2, 40], 2, 4);
  assert.deepEqual([bins, beyond], [[2, 0, 1, 1], 2]);
});

test("the words say the setting, the numbers and what theory expects", () => {
  const seen = numbers.look(drawn, { index: 6, scaled: true, temperature: 2, numKeys: 8 }, both(2, 8));
  assert.match(panels.sentence(seen), /^d_k = 64, divided by √d_k, temperature 2\.0: the scores have variance 0\.2\d\d; /);
  assert.equal(panels.expectation(seen), "expected 1/τ² = 0.250");
  assert.equal(panels.expectation({ scaled: false, temperature: 1, expected: 64 }), "expected d_k = 64");
  assert.equal(seen.weights.length, 8);
});

test("panels hold no number that is not finite, at any setting", () => {
  for (const temperature of [0.1, 10])
    for (const numKeys of [2, 32]) {
      const curves = both(temperature, numKeys);
      for (const scaled of [false, true])
        for (const index of [0, 10]) {
          const seen = numbers.look(drawn, { index, scaled, temperature, numKeys }, curves);
          const trend = panels.trendPanel(seen, "entropy", seen.equal.entropy * 1.08, [0, 1], panels.SMALL);
          const bars = [panels.LARGE, panels.NARROW].map((size) => panels.weightPanel(seen, size)).join("");
          assert.doesNotMatch(panels.scorePanel(seen, panels.SMALL) + bars + trend, /NaN|Infinity|undefined/);
        }
    }
});

test("every control sets its trait", async () => {
  const { put, traitsOf, control, said } = show(widget, START);
  await put("temperature", -20);
  await put("keys", 5);
  await put("d_k", 3);
  await put("divide by √d_k", true);
  assert.deepEqual(traitsOf("temperature", "num_keys", "d_k", "scaled"), [0.1, 5, 8, true]);
  assert.deepEqual(["d_k", "temperature"].map((name) => control(name).getAttribute("aria-valuetext")), ["8", "0.10"]);
  assert.match(said(), /^d_k = 8, divided by √d_k/);
});

test("drawing again changes the draw and nothing else", async () => {
  const { one, traitsOf, click, said } = show(widget, START);
  const [before, slider] = [said(), one("input")];
  await click(one("button"));
  assert.notEqual(said(), before);
  assert.deepEqual(traitsOf("seed", "d_k"), [13, 4]);
  assert.equal(one("input"), slider, "updated in place");
});

test("it follows Python, and a table holds every d_k", async () => {
  const { set, said, control, open, rows } = show(widget, START);
  await set({ d_k: 256, scaled: true });
  assert.match(said(), /^d_k = 256, divided/);
  assert.equal(control("d_k").value, "8");
  assert.ok(control("divide by √d_k").checked);
  await open();
  const table = rows(".acw-scroll");
  assert.deepEqual(table.map((row) => Number(row[0])), numbers.WIDTHS);
  assert.ok(table.every((row) => row.length === 8));
});

test("a weight that took all and was brought down by the scale ticks the task", async () => {
  const { put, text } = show(widget, START);
  await put("divide by √d_k", true);
  await put("d_k", 10);
  assert.match(text(".acw-task"), /^○/);
  await put("divide by √d_k", false);
  assert.match(text(".acw-task"), /^○/);
  await put("divide by √d_k", true);
  assert.match(text(".acw-task"), /^✓/);
});
