// The landscape's walks, energies and valleys are Python's; its contours, its moves and its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as numbers from "../../course_utils/widgets/hopfield_landscape_numbers.js";
import * as panels from "../../course_utils/widgets/hopfield_landscape_panels.js";
import * as plane from "../../course_utils/widgets/plane.js";

const cases = JSON.parse(readFileSync(new URL("hopfield_landscape_cases.json", import.meta.url)));
const near = (ours, theirs, what) =>
  [ours].flat().forEach((x, i) => assert.ok(Math.abs(x - [theirs].flat()[i]) < 1e-9, `${what}: ${x}`));
const three = cases[0].patterns;

test("every step of a walk has Python's state, weights and energy", () => {
  for (const { patterns, beta, walk } of cases) {
    const ours = numbers.walk(walk[0].state, patterns, beta);
    assert.equal(ours.length, walk.length);
    walk.forEach((step, i) => {
      near(ours[i].state, step.state, "state");
      near(ours[i].weights, step.weights, "weights");
      near(ours[i].energy, step.energy, "energy");
    });
  }
});

test("there are as many valleys as Python finds, and no update goes uphill", () => {
  for (const { patterns, beta, valleys, walk } of cases) {
    assert.equal(numbers.valleys(patterns, beta).length, valleys, `beta ${beta}`);
    const energies = numbers.walk(walk[0].state, patterns, beta).map((step) => step.energy);
    energies.slice(1).forEach((value, i) => assert.ok(value <= energies[i] + 1e-12));
    assert.ok(energies.at(-1) > -1e-12, "the constants keep it from going below 0");
  }
});

test("the lowland below a height is what the grid says", () => {
  const grid = [
    [0, 2, 2],
    [0, 0, 2],
    [0, 0, 0],
  ];
  assert.equal(panels.lowland(grid, 3), "M0 320L320 320L320 160L0 160ZM0 160L320 160L320 0L0 0Z");
  assert.equal(panels.lowland(grid, -1), "");
  assert.match(panels.lowland(grid, 1), /^M0 320L80 320L160 240L160 160L0 160Z/); // half of an edge from 0 to 2
});

test("the landscape is lowest at the patterns, and heights crowd at the bottom", () => {
  const grid = numbers.landscape(three, 10, 45);
  const heights = numbers.heights(grid);
  assert.equal(heights.length, numbers.LEVELS);
  heights.slice(2).forEach((h, i) => assert.ok(h - heights[i + 1] > heights[i + 1] - heights[i]));
  const [column, row] = three[0].map((x) => Math.round(((x / numbers.REACH + 1) / 2) * 44));
  assert.ok(grid[row][column] < heights[0]);
  assert.equal(panels.contours(three, 10).match(/<path/g).length, numbers.LEVELS);
});

test("arrow keys move by a tenth, with Shift by a half, and stop at the edge", () => {
  assert.deepEqual(plane.moved([1, 0], "ArrowUp", false), [1, 0.1]);
  assert.deepEqual(plane.moved([2, -1.9], "ArrowDown", true), [2, -2]);
  assert.equal(plane.moved([1, 0], "a", false), null);
  assert.ok(Object.is(plane.snap([-0.01, 9])[0], 0));
});

test("a place of the pointer is a place of the plane, and back", () => {
  const [x, y] = panels.at([1.5, -2]);
  near(panels.from(x / panels.SIDE, y / panels.SIDE), [1.5, -2], "place");
  assert.ok(panels.at([0, 1])[1] < panels.at([0, 0])[1], "up is up");
});

test("the words name the valley, or the mixture, in both languages", () => {
  const said = (beta, asAttention) => {
    const found = numbers.valleys(three, beta).length;
    return panels.sentence({ patterns: three, beta, steps: numbers.walk([0.3, 0.4], three, beta), found, asAttention });
  };
  assert.equal(
    said(10, false),
    "3 patterns, β = 10: 3 valleys. After 6 updates the state ξ is (1.30, 0.75), at pattern 1 (weight 1.00). " +
      "The energy fell from 0.670 to 0.110.",
  );
  assert.match(
    said(0.5, true),
    /^3 keys, scale = 0\.5: one valley\. After 6 rounds of attention, each output the next query, the query is \(0\.01, 0\.01\), an average, mostly of key and value 1 \(weight 0\.34\)\./,
  );
});

test("the panels draw every step, also where the energy is 0", () => {
  for (const steps of [numbers.walk([0.3, 0.4], three, 2), numbers.walk([1, 1], [[1, 1]], 2)]) {
    assert.equal(panels.energyPanel(steps).match(/<circle/g).length, numbers.UPDATES + 1);
    assert.equal(panels.trail(steps).match(/<circle/g).length, numbers.UPDATES);
    assert.doesNotMatch(panels.energyPanel(steps) + panels.trail(steps), /NaN|Infinity|undefined/);
  }
});
