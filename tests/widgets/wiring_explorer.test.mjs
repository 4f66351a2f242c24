// The explorer's masks, paths and reach as Python has them, and its words and pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  WIRINGS, chosenPlace, formulas, masks, parts, paths, places, reach, sentence,
} from "../../course_utils/widgets/wiring_explorer_reach.js";
import { columns, drawLayers, drawPart, litPlaces } from "../../course_utils/widgets/wiring_explorer_picture.js";

const cases = JSON.parse(readFileSync(new URL("wiring_explorer_cases.json", import.meta.url)));
const usual = cases.find(({ view }) => view.wiring === "t5").view;
const bits = (table) => table.map((row) => row.map(Number));

test("masks, paths and reach are Python's", () => {
  for (const { view, masks: wanted, paths: counts } of cases) {
    assert.deepEqual(masks(view).map(({ mask }) => bits(mask)), wanted, JSON.stringify(view));
    const found = counts.map((_, i) => paths(view, i)[0]);
    assert.deepEqual(found, counts, JSON.stringify(view));
    assert.deepEqual(bits(reach(view)), counts.map((row) => row.map((n) => Number(n > 0))));
  }
});

test("depth widens nothing under whole masks, and a window by its width", () => {
  const lit = (changes) => reach({ ...usual, pads: 0, ...changes }).at(-1).filter(Boolean).length;
  for (const wiring of Object.keys(WIRINGS)) assert.equal(lit({ wiring, num_layers: 1 }), lit({ wiring, num_layers: 6 }));
  assert.deepEqual([1, 2, 3].map((num_layers) => lit({ wiring: "gpt", window: 2, num_layers })), [2, 3, 4]);
});

test("the faulty decoder reaches later tokens and no word of the source", () => {
  const row = reach({ ...usual, wiring: "stub" })[usual.num_source];
  assert.deepEqual(row, [false, false, false, false, true, true, true]);
  assert.deepEqual(reach(usual)[usual.num_source], [true, true, true, false, true, false, false]);
});

test("a place is given the word before the one that it writes; BERT's is given a mask", () => {
  assert.deepEqual(places(usual), { inputs: ["a", "b", "c", "pad", "start", "v", "w"], outputs: ["", "", "", "", "v", "w", "x"] });
  assert.deepEqual(places({ ...usual, wiring: "bert" }).inputs.slice(4), ["mask", "mask", "mask"]);
  assert.equal(chosenPlace(usual), 5);
  assert.equal(chosenPlace({ ...usual, side: "source", place: 9 }), 3);
  assert.equal(chosenPlace({ ...usual, place: 9 }), 6);
});

test("the words say who is lit and who is dark", () => {
  assert.equal(
    sentence(usual),
    "The place that writes “w”, after 2 layers: 5 of 7 inputs reach it, on 84 paths. " +
      "Lit: “a”, “b”, “c”, “start”, “v”. Dark: “pad”, “w”.",
  );
  assert.match(sentence({ ...usual, side: "source", place: 3, num_layers: 1 }), /^The place of “pad”, after 1 layer: 4 of 7 /);
  assert.match(sentence({ ...usual, wiring: "bert", pads: 0 }), /None is dark\.$/);
  const alone = { ...usual, wiring: "gpt", side: "source", place: 0, num_source: 1, pads: 0 };
  assert.match(sentence(alone), /1 of 4 inputs reach it, on 1 path\. /);
});

test("the order of norms and residuals is written as it is computed", () => {
  assert.deepEqual(parts({ wiring: "gpt" }), [["Every layer", ["self-attention", "feed-forward"]]]);
  const decoder = parts({ wiring: "t5" })[1][1];
  assert.deepEqual(formulas(decoder, true), ["x ← x + self(norm₁(x))", "x ← x + cross(norm₂(x), memory)", "x ← x + feed(norm₃(x))"]);
  assert.deepEqual(formulas(decoder, false), ["x ← norm₁(x + self(x))", "x ← norm₂(x + cross(x, memory))", "x ← norm₃(x + feed(x))"]);
  for (const pre of [true, false]) {
    const drawn = drawPart("cross-attention", 1, pre);
    assert.match(drawn, /norm₂.*memory|memory.*norm₂/s);
    assert.doesNotMatch(drawn, /NaN|undefined/);
  }
});

test("the picture lights what the products light, and draws no other line", () => {
  for (const { view, paths: counts } of cases) {
    const { inside, box } = drawLayers(view);
    assert.doesNotMatch(inside + box, /NaN|undefined/);
    const lit = litPlaces(view);
    assert.equal(lit.length, view.num_layers + 1);
    const chosen = counts[chosenPlace(view)];
    const split = ["t5", "stub"].includes(view.wiring);
    lit[0].forEach((on, j) => assert.equal(on, chosen[j] > 0, JSON.stringify(view)));
    assert.equal(columns(view), view.num_source + view.num_target + Number(split));
    assert.equal((inside.match(/class="on"/g) ?? []).length, lit.flat().filter(Boolean).length);
  }
});
