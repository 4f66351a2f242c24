// The landscape's walks, energies and valleys are Python's; its contours and words; handles and sliders move the walk.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/hopfield_landscape/hopfield_landscape.js";
import * as numbers from "../../../course_utils/widgets/hopfield_landscape/hopfield_landscape_numbers.js";
import * as panels from "../../../course_utils/widgets/hopfield_landscape/hopfield_landscape_panels.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("hopfield_landscape/hopfield_landscape_cases.json");
const three = cases[0].patterns;
const START = { patterns: [[1.5, 0], [-1.5, 0], [0, 1.5]], count: 2, start: [0.3, 0.4], beta: 4, as_attention: false };

keepsHouse("hopfield_landscape", widget, START);

test("every step of a walk has Python's state, weights and energy", () => {
  for (const { patterns, beta, walk } of cases) {
    const ours = numbers.walk(walk[0].state, patterns, beta);
    for (const name of ["state", "weights", "energy"])
      near(ours.map((step) => step[name]), walk.map((step) => step[name]), 1e-9);
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
  const grid = [[0, 2, 2], [0, 0, 2], [0, 0, 0]];
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

test("the words name the valley, or the average, in both languages", () => {
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

test("arrow keys move the start or one pattern, and the landscape with it; other keys keep their meaning", async () => {
  const { one, press, said, traitsOf } = show(widget, START);
  const grip = (name) => one(`.acw-grip[aria-label="${name}"]`);
  assert.equal(grip("state ξ").getAttribute("aria-valuetext"), "0.30, 0.40");
  assert.deepEqual([grip("pattern 2").hidden, grip("pattern 3").hidden], [false, true]);
  assert.ok(parseFloat(grip("pattern 1").style.left) > 80);
  assert.match(said(), /at pattern 1 \(weight 1\.00\)/);
  assert.ok((await press(grip("state ξ"), "ArrowLeft", { shiftKey: true })).defaultPrevented);
  assert.deepEqual(traitsOf("start"), [[-0.2, 0.4]]);
  assert.match(said(), /at pattern 2 \(weight 1\.00\)/);
  assert.ok(!(await press(grip("state ξ"), "Tab")).defaultPrevented);
  const before = one(".acw-plane svg g").innerHTML;
  await press(grip("pattern 2"), "ArrowUp");
  assert.deepEqual(traitsOf("patterns"), [[[1.5, 0], [-1.5, 0.1], [0, 1.5]]]);
  assert.notEqual(one(".acw-plane svg g").innerHTML, before);
});

test("the sliders set how sharp and how many", async () => {
  const { all, put, said, traitsOf } = show(widget, START);
  const [sharpness, count] = all("input[type=range]");
  await put(sharpness, -10);
  assert.deepEqual(traitsOf("beta"), [0.1]);
  assert.match(said(), /^2 patterns, β = 0\.1: one valley\..* an average/);
  await put(count, 3);
  assert.match(said(), /^3 patterns/);
  assert.equal(all(".acw-grip:not([hidden])").length, 4);
  assert.equal(all("thead th").length, 6);
});

test("the switch gives the same numbers attention's names", async () => {
  const { put, text, said } = show(widget, START);
  const body = text("tbody");
  await put("call it attention", true);
  assert.equal(text("tbody"), body);
  assert.equal(text("caption"), "The state before each step, its energy, and the attention weights");
  assert.match(said(), /^2 keys, scale = 4/);
  assert.equal(text('.acw-grip[aria-label="query"]'), "q");
});

test("it follows Python; each row of weights sums to 1, and pictures have words with the numbers", async () => {
  const { set, rows, all } = show(widget, START);
  await set({ count: 3 });
  for (const row of rows()) near(row.slice(-3).reduce((sum, weight) => sum + Number(weight), 0), 1, 0.021);
  const said = all("[role=img]").map((picture) => picture.getAttribute("aria-label"));
  assert.match(said[0], /^The energy over the plane, with 3 valleys/);
  assert.match(said[1], /^Energy: \d\.\d{3}, /);
});

test("several patterns in one valley tick the task", async () => {
  const { set, text } = show(widget, START);
  await set({ count: 1, beta: 0.1 });
  assert.match(text(".acw-task"), /^○/);
  await set({ count: 2 });
  assert.match(text(".acw-task"), /^✓/);
});
