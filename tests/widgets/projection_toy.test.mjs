// The toy's arithmetic, held to Python by its cases; its words, its moves and its panels.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as toy from "../../course_utils/widgets/projection_toy_numbers.js";
import * as panels from "../../course_utils/widgets/projection_toy_panels.js";
import { decimal } from "../../course_utils/widgets/numbers.js";
import * as plane from "../../course_utils/widgets/plane.js";

const cases = JSON.parse(readFileSync(new URL("projection_toy_cases.json", import.meta.url)));
const near = (ours, theirs, what) =>
  ours.flat().forEach((x, i) => assert.ok(Math.abs(x - theirs.flat()[i]) < 1e-12, `${what}: ${x}`));
const identity = [
  [1, 0],
  [0, 1],
];
const circle = (count) =>
  Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    return [1.5 * Math.sin(angle), 1.5 * Math.cos(angle)];
  });

function look(matrices, chosen = 0, points = circle(7)) {
  const tokens = points.map((_, i) => `t${i}`);
  const bilinear = toy.form(matrices.query, matrices.key);
  return { tokens, points, matrices, chosen, bilinear, ...toy.attend(points, matrices) };
}

test("weights, outputs and the bilinear form are Python's", () => {
  for (const { points, query, key, value, weights, outputs, form, antisymmetric, rank } of cases) {
    const ours = toy.attend(points, { query, key, value });
    near(ours.weights, weights, "weights");
    near(ours.outputs, outputs, "outputs");
    const parts = toy.form(query, key);
    near(parts.whole, form, "form");
    near(parts.antisymmetric, antisymmetric, "antisymmetric part");
    assert.equal(parts.rank, rank);
  }
});

test("a score is the token through W_Q W_Kᵀ on the other token", () => {
  const matrices = { ...toy.starts(7)["Keys turned"], value: identity };
  const { points, scores, bilinear } = look(matrices);
  const [x, y] = [points[2], points[5]];
  const through = toy.project(x, bilinear.whole);
  near([scores[2][5] * Math.SQRT2], [through[0] * y[0] + through[1] * y[1]], "score");
});

test("each start shows what its name says", () => {
  const best = (name) =>
    look({ ...toy.starts(7)[name], value: identity }).weights.map((row) => row.indexOf(Math.max(...row)));
  assert.deepEqual(best("No projections"), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(best("Keys turned"), [1, 2, 3, 4, 5, 6, 0]);
  best("Keys opposite").forEach((j, i) => assert.ok([3, 4].includes((j - i + 7) % 7)));
  const rankOf = (name) => toy.form(...Object.values(toy.starts(7)[name])).rank;
  assert.deepEqual(Object.keys(toy.starts(7)).map(rankOf), [2, 2, 2, 2, 1]);
  assert.ok(new Set(best("Rank 1")).size <= 2, "a flat form knows one direction");
  for (const { query, key } of Object.values(toy.starts(2)))
    assert.ok([...query, ...key].flat().every((x) => Math.abs(x) <= plane.LIMIT));
});

test("arrow keys move by a tenth, with Shift by a half, and stop at the edge", () => {
  assert.deepEqual(plane.moved([1, 0], "ArrowUp", false), [1, 0.1]);
  assert.deepEqual(plane.moved([1, 0], "ArrowLeft", true), [0.5, 0]);
  assert.deepEqual(plane.moved([2, -1.9], "ArrowRight", false), [2, -1.9]);
  assert.deepEqual(plane.moved([0, -1.9], "ArrowDown", true), [0, -2]);
  assert.equal(plane.moved([1, 0], "a", false), null);
  assert.ok(Object.is(plane.snap([-0.01, 9])[0], 0));
});

test("a place of the pointer is a vector, and back", () => {
  for (const vector of [
    [0, 0],
    [1.5, -2],
  ]) {
    const [x, y] = panels.at(vector);
    near(panels.from(x / panels.SIDE, y / panels.SIDE), vector, "place");
  }
  assert.ok(panels.at([0, 1])[1] < panels.at([0, 0])[1], "up is up");
});

test("the words tell symmetric from not, and the two scores", () => {
  const plain = panels.sentence(look({ query: identity, key: identity, value: identity }));
  assert.match(
    plain,
    /^t0 looks most at itself, weight 0\.40\. W_Q W_Kᵀ has rank 2 and is symmetric: t0 scores (t[16]) 0\.99, as much as \1 scores t0\.$/,
  );
  const turned = panels.sentence(look({ ...toy.starts(7)["Keys turned"], value: identity }));
  assert.match(turned, /^t0 looks most at t1, weight 0\.81\./);
  assert.match(turned, /not symmetric: t0 scores t1 5\.74, but t1 scores t0 −1\.28\.$/);
  assert.equal(decimal(-0.001), "0.00");
});

test("the panels draw every token, also of a matrix of zeros, and names are text", () => {
  const zero = [
    [0, 0],
    [0, 0],
  ];
  for (const matrices of [
    { query: identity, key: identity, value: identity },
    { query: zero, key: zero, value: zero },
  ]) {
    const seen = { ...look(matrices), tokens: ["<b>", "&", "c", "d", "e", "f", "g"] };
    for (const draw of [panels.tokenPanel, panels.queryPanel, panels.keyPanel, panels.valuePanel]) {
      const drawn = draw(seen);
      assert.doesNotMatch(drawn, /NaN|Infinity|undefined|<b>/);
      assert.equal(drawn.match(/class="dot/g).length, 7);
    }
  }
});
