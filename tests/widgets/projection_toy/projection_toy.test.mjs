// The toy's arithmetic, held to Python by its cases; its words and its panels; handles, rows and starts move it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT } from "../../../course_utils/widgets/plane.js";
import widget from "../../../course_utils/widgets/projection_toy/projection_toy.js";
import * as toy from "../../../course_utils/widgets/projection_toy/projection_toy_numbers.js";
import * as panels from "../../../course_utils/widgets/projection_toy/projection_toy_panels.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const identity = [[1, 0], [0, 1]];
const plain = { query: identity, key: identity, value: identity };
const circle = Array.from({ length: 7 }, (_, i) => {
  const angle = (2 * Math.PI * i) / 7;
  return [1.5 * Math.sin(angle), 1.5 * Math.cos(angle)];
});
const START = {
  tokens: ["a", "b", "c", "d"], points: [[0, 1.5], [1.5, 0], [0, -1.5], [-1.5, 0]],
  w_query: identity, w_key: identity, w_value: identity, query: 0,
};

/** Seven tokens on a circle, seen through these matrices. */
function look(matrices) {
  const tokens = circle.map((_, i) => `t${i}`);
  const bilinear = toy.form(matrices.query, matrices.key);
  return { tokens, points: circle, matrices, chosen: 0, bilinear, ...toy.attend(circle, matrices) };
}

keepsHouse("projection_toy", widget, START);

test("weights, outputs and the bilinear form are Python's", () => {
  for (const { points, query, key, value, ...wanted } of read("projection_toy/projection_toy_cases.json")) {
    const { weights, outputs } = toy.attend(points, { query, key, value });
    const { whole, antisymmetric, rank } = toy.form(query, key);
    near([weights, outputs, whole, antisymmetric], [wanted.weights, wanted.outputs, wanted.form, wanted.antisymmetric]);
    assert.equal(rank, wanted.rank);
  }
});

test("a score is the token through W_Q W_Kᵀ on the other token", () => {
  const { points, scores, bilinear } = look({ ...toy.starts(7)["Keys turned"], value: identity });
  const [x, y] = [points[2], points[5]];
  const through = toy.project(x, bilinear.whole);
  near(scores[2][5] * Math.SQRT2, through[0] * y[0] + through[1] * y[1]);
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
    assert.ok([...query, ...key].flat().every((x) => Math.abs(x) <= LIMIT));
});

test("the words tell who looks at whom, symmetric from not, and the two scores", () => {
  assert.equal(panels.sentence(look(plain)), "t0 looks most at itself, weight 0.40.");
  assert.match(panels.symmetry(look(plain)), /^W_Q W_Kᵀ has rank 2 and is symmetric: t0 scores (t[16]) 0\.99, as much as \1 scores t0\.$/);
  const turned = look({ ...toy.starts(7)["Keys turned"], value: identity });
  assert.equal(panels.sentence(turned), "t0 looks most at t1, weight 0.81.");
  assert.match(panels.symmetry(turned), /not symmetric: t0 scores t1 5\.74, but t1 scores t0 −1\.28\.$/);
});

test("a token beyond the edge is a ring at the edge", () => {
  const far = { ...plain, query: [[2, 2], [2, 2]] };
  assert.ok(panels.queryPanel(look(far)).includes("beyond"));
  assert.ok(!panels.queryPanel(look(plain)).includes("beyond"));
});

test("the panels draw every token, also of a matrix of zeros, and names are text", () => {
  const zero = [[0, 0], [0, 0]];
  for (const matrices of [plain, { query: zero, key: zero, value: zero }]) {
    const seen = { ...look(matrices), tokens: ["<b>", "&", "c", "d", "e", "f", "g"] };
    for (const draw of [panels.tokenPanel, panels.queryPanel, panels.keyPanel, panels.valuePanel]) {
      assert.doesNotMatch(draw(seen), /NaN|Infinity|undefined|<b>/);
      assert.equal(draw(seen).match(/class="dot/g).length, 7);
    }
  }
});

/** Show the toy, with its handles by name and its rows of weights as numbers. */
function toyPage() {
  const page = show(widget, START);
  const grip = (name) => page.one(`.acw-grip[aria-label="${name}"]`);
  const weights = (i) => page.rows(".acw-weights")[i].slice(1).map(Number);
  return { ...page, grip, weights };
}

test("six handles, two a matrix, each with words and a place", () => {
  const { all, grip } = toyPage();
  assert.equal(all("[role=slider]").length, 6);
  assert.equal(grip("W_Q, row 1").getAttribute("aria-valuetext"), "1.00, 0.00");
  const { left, top } = grip("W_Q, row 1").style;
  assert.ok(parseFloat(left) > 50 && parseFloat(top) === 50);
  assert.ok(parseFloat(grip("W_V, row 2").style.top) < 50);
});

test("an arrow key moves one row of one matrix; other keys keep their meaning", async () => {
  const { press, grip, weights, traitsOf } = toyPage();
  const before = weights(1);
  const pressed = [await press(grip("W_K, row 2"), "ArrowRight", { shiftKey: true }), await press(grip("W_K, row 2"), "Tab")];
  assert.deepEqual(pressed.map(({ defaultPrevented }) => defaultPrevented), [true, false]);
  assert.deepEqual(traitsOf("w_key", "w_query"), [[[1, 0], [0.5, 1]], identity]);
  assert.equal(grip("W_K, row 2").getAttribute("aria-valuetext"), "0.50, 1.00");
  assert.notDeepEqual(weights(1), before);
});

test("W_V changes no weight", async () => {
  const { press, grip, weights, all } = toyPage();
  const [before, picture] = [weights(0), all("svg")[3].innerHTML];
  await press(grip("W_V, row 1"), "ArrowUp");
  assert.deepEqual(weights(0), before);
  assert.notEqual(all("svg")[3].innerHTML, picture);
});

test("a start sets queries and keys, is marked, and W_V stays", async () => {
  const { texts, click, said, traitsOf } = toyPage();
  const pressed = () => texts('[aria-pressed="true"]');
  assert.deepEqual(pressed(), ["No projections"]);
  await click("Keys turned");
  assert.deepEqual(pressed(), ["Keys turned"]);
  assert.deepEqual(traitsOf("w_value"), [identity]);
  assert.match(said(), /^a looks most at b/);
});

test("a row is chosen, and Python is followed", async () => {
  const { put, set, said, traitsOf } = toyPage();
  await put("c", true);
  assert.deepEqual(traitsOf("query"), [2]);
  assert.match(said(), /^c looks most at itself/);
  await set({ w_key: [[-1, 0], [0, -1]] });
  assert.match(said(), /^c looks most at a/);
});

test("each row of weights sums to 1, and pictures have words with the numbers", () => {
  const { all, weights } = toyPage();
  for (const i of [0, 1, 2, 3]) near(weights(i).reduce((a, b) => a + b), 1, 0.021);
  const said = all("[role=img]").map((picture) => picture.getAttribute("aria-label"));
  assert.equal(said.length, 7);
  assert.match(said[1], /W_Q has the rows 1\.00, 0\.00 and 0\.00, 1\.00/);
  assert.match(said[6], /^antisymmetric: 0\.00, 0\.00; 0\.00, 0\.00$/);
});

test("keys moved alone until another is looked at tick the task", async () => {
  const { click, set, text } = toyPage();
  await click("Keys turned");
  assert.match(text(".acw-task"), /^○/);
  await click("No projections");
  await set({ w_key: [[-1, 0], [0, -1]] });
  assert.match(text(".acw-task"), /^✓/);
});
