// The explorer's arithmetic: held to Python by the shared cases, and to what theory says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { softmax } from "../../course_utils/widgets/numbers.js";
import * as numbers from "../../course_utils/widgets/scale_explorer_numbers.js";
import * as panels from "../../course_utils/widgets/scale_explorer_panels.js";

const cases = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
const explorer = { ...numbers, ...panels };
const near = (a, b, tolerance, what) => assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${a} is not ${b}`);
const drawn = explorer.draw(12);

test("softmax, entropy and gradient norm are Python's", () => {
  for (const { scores, weights, entropy, gradient } of cases.softmax) {
    const ours = softmax(scores.map(Number));
    ours.forEach((w, i) => near(w, weights[i], 1e-15, "weight"));
    near(explorer.entropy(ours), entropy, 1e-12, "entropy");
    near(explorer.jacobianNorm(ours), gradient, 1e-12, "gradient");
  }
});

test("the gradient norm stays right where the softmax has nearly one winner", () => {
  const rest = 1e-9;
  near(explorer.jacobianNorm([1 - rest, rest]) / (2 * rest), 1, 1e-6, "ratio");
});

test("variance is Python's", () => {
  near(explorer.variance(cases.variance.values), cases.variance.variance, 1e-12, "variance");
});

test("the generator gives the numbers it is known for", () => {
  for (const { seed, numbers: known } of cases.uniform) {
    const next = explorer.uniform(seed);
    for (const number of known) assert.equal(next(), number);
  }
});

test("normals have mean 0, variance 1 and the tails of a normal", () => {
  const sample = explorer.fillNormal(new Float64Array(200000), explorer.uniform(5));
  near(sample.reduce((a, b) => a + b, 0) / sample.length, 0, 0.01, "mean");
  near(explorer.variance(sample), 1, 0.015, "variance");
  near(sample.filter((x) => Math.abs(x) > 2).length / sample.length, 0.0455, 0.002, "beyond two deviations");
});

test("a draw is the same for the same seed and another for another", () => {
  const twice = explorer.draw(12);
  assert.deepEqual(twice.pairs[10].slice(0, 9), drawn.pairs[10].slice(0, 9));
  assert.notEqual(explorer.draw(13).rows[3][5], drawn.rows[3][5]);
});

test("dot products add up coordinate by coordinate", () => {
  const [query, key] = [0, 1].map((k) =>
    Float64Array.from({ length: 1024 }, (_, i) => ((i * 7 + k) % 11) - 5),
  );
  const into = explorer.WIDTHS.map(() => [0]);
  explorer.dotProducts(query, key, into, 0);
  explorer.WIDTHS.forEach((width, w) => {
    assert.equal(
      into[w][0],
      query.slice(0, width).reduce((sum, q, i) => sum + q * key[i], 0),
    );
  });
});

test("Var(q·k) is d_k, and 1 after the scale", () => {
  explorer.WIDTHS.forEach((width, index) => {
    near(explorer.variance(drawn.pairs[index]) / width, 1, 0.15, `d_k = ${width}`);
    near(width * explorer.factor(width, true, 1) ** 2, 1, 1e-12, "scaled");
    near(explorer.factor(width, false, 0.5), 2, 1e-12, "temperature");
  });
});

test("unscaled, the softmax saturates and its gradient dies; scaled, nothing changes with d_k", () => {
  const [plain, divided] = [false, true].map((scaled) => explorer.curve(drawn, scaled, 1, 16));
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
  const { bins, beyond } = explorer.histogram([-2, -1.99, 0, 1.99, 2, 40], 2, 4);
  assert.deepEqual([bins, beyond], [[2, 0, 1, 1], 2]);
});

test("the words say the setting, the numbers and what theory expects", () => {
  const curves = [false, true].map((scaled) => explorer.curve(drawn, scaled, 2, 8));
  const seen = explorer.look(drawn, { index: 6, scaled: true, temperature: 2, numKeys: 8 }, curves);
  assert.match(
    explorer.sentence(seen),
    /^d_k = 64, divided by √d_k, temperature 2\.0: the scores have variance 0\.2\d\d; /,
  );
  assert.equal(explorer.expectation(seen), "expected 1/τ² = 0.250");
  assert.equal(explorer.expectation({ scaled: false, temperature: 1, expected: 64 }), "expected d_k = 64");
  assert.equal(seen.weights.length, 8);
});

test("panels hold no number that is not finite, at any setting", () => {
  for (const temperature of [0.1, 10]) {
    for (const numKeys of [2, 32]) {
      const curves = [false, true].map((scaled) => explorer.curve(drawn, scaled, temperature, numKeys));
      for (const scaled of [false, true]) {
        for (const index of [0, 10]) {
          const seen = explorer.look(drawn, { index, scaled, temperature, numKeys }, curves);
          const drawings =
            explorer.scorePanel(seen) +
            explorer.weightPanel(seen) +
            explorer.trendPanel(seen, "entropy", seen.equal.entropy * 1.08, [0, 1]);
          assert.doesNotMatch(drawings, /NaN|Infinity|undefined/);
        }
      }
    }
  }
});
