// The explorer's Vision Transformer is Python's; its shuffles, its drawings and its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as numbers from "../../course_utils/widgets/patch_explorer_model.js";
import * as picture from "../../course_utils/widgets/patch_explorer_picture.js";

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url)));
const cases = read("patch_explorer_cases.json");
const record = read("../../course_utils/records/chapter_14_explorer.json");
const sizes = { layers: record.settings.num_layers, heads: record.settings.num_heads };
const states = Object.fromEntries(record.runs.map((run) => [run.patch, numbers.unpack(run)]));

function view({ image, patch, shuffle, positions }, layer = 1, head = 1) {
  const { pixels, label } = record.pictures[image];
  const settings = { pixels, label, patch, layer, head, positions, shuffle, ...sizes };
  return { ...settings, found: numbers.view({ ...settings, state: states[patch] }) };
}

test("probabilities and every row of the class token are Python's, to 1e-4", () => {
  for (const wanted of cases) {
    for (let layer = 1; layer <= sizes.layers; layer++) {
      for (let head = 1; head <= sizes.heads; head++) {
        const { found } = view(wanted, layer, head);
        found.row.forEach((w, i) => assert.ok(Math.abs(w - wanted.rows[layer - 1][head - 1][i]) < 1e-4));
        found.probabilities.forEach((p, i) => assert.ok(Math.abs(p - wanted.probabilities[i]) < 1e-4));
      }
    }
  }
});

test("patches are cut in reading order, and come back from every shuffle", () => {
  const pixels = Array.from({ length: 64 }, (_, i) => i);
  assert.deepEqual(numbers.cut(pixels, 4)[1], [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]);
  assert.deepEqual(numbers.cut(pixels, 2)[4], [16, 17, 24, 25]);
  assert.deepEqual(numbers.order(4, 0), [0, 1, 2, 3]);
  for (const shuffle of [1, 2, 50, 99]) {
    const places = numbers.order(16, shuffle);
    assert.deepEqual([...places].sort((a, b) => a - b), numbers.order(16, 0));
    assert.notDeepEqual(places, numbers.order(16, 0));
  }
});

test("without positions a shuffle changes nothing but where things stand; with them it changes the answer", () => {
  const [still, moved] = [0, 5].map((shuffle) => view({ image: 3, patch: 2, shuffle, positions: false }).found);
  still.probabilities.forEach((p, i) => assert.ok(Math.abs(p - moved.probabilities[i]) < 1e-12));
  moved.places.forEach((from, at) => assert.ok(Math.abs(moved.row[at + 1] - still.row[from + 1]) < 1e-12));
  const [before, after] = [0, 5].map((shuffle) => view({ image: 3, patch: 2, shuffle, positions: true }).found);
  assert.ok(before.probabilities.some((p, i) => Math.abs(p - after.probabilities[i]) > 0.01));
});

test("entropy is in nats, and a weight of 0 adds nothing", () => {
  assert.ok(Math.abs(numbers.entropy([0.25, 0.25, 0.5, 0]) - 1.5 * Math.log(2)) < 1e-12);
});

test("the drawings hold a square for every patch and no number that is none", () => {
  for (const patch of [2, 4]) {
    const { found } = view({ image: 11, patch, shuffle: 2, positions: true });
    const drawn = [picture.drawCut(found.patches, patch), picture.drawRead(found.patches, patch, found.row), picture.drawTokens(found.patches, patch, found.row)];
    const count = (8 / patch) ** 2;
    assert.equal(drawn[0].match(/<text/g).length, count);
    assert.equal(drawn[1].match(/<text/g).length, count);
    assert.equal(drawn[2].match(/class="bar"/g).length, count + 1);
    assert.doesNotMatch(drawn.join(""), /NaN|Infinity|undefined/);
  }
});

test("the sentence names the answer, the patch that is read most, and the entropy", () => {
  const found = { row: [0.1, 0.2, 0.05, 0.6, 0.05], probabilities: [0.1, 0.9], entropy: 1.1234 };
  const settings = { label: 1, patch: 4, layer: 2, head: 3, positions: true, shuffle: 0, found };
  assert.equal(
    picture.sentence(settings),
    "In order, with positions: the model reads 1 with probability 0.90; it is a 1. In layer 2, head 3 the class token looks " +
      "most at patch 3 (row 2, column 1), weight 0.60; 0.10 stays with itself. Entropy 1.12 of at most 1.61.",
  );
  assert.match(picture.sentence({ ...settings, label: 0, shuffle: 4, positions: false }), /^Shuffle 4, without positions: the model reads a wrong 1 /);
});
