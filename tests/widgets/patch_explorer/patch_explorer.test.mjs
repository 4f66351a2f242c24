// The explorer's Vision Transformer is Python's; its shuffles, its drawings and its words; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { entropy } from "../../../course_utils/widgets/numbers.js";
import widget from "../../../course_utils/widgets/patch_explorer/patch_explorer.js";
import * as numbers from "../../../course_utils/widgets/patch_explorer/patch_explorer_model.js";
import * as picture from "../../../course_utils/widgets/patch_explorer/patch_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const record = read("../../course_utils/records/chapter_14_explorer.json");
const sizes = { layers: record.settings.num_layers, heads: record.settings.num_heads };
const states = Object.fromEntries(record.runs.map((run) => [run.patch, numbers.unpack(run)]));
const START = { images: record.pictures, models: record.runs, ...sizes, image: 0, patch: 2, layer: 1, head: 1, positions: true, shuffle: 0 };

function view({ image, patch, shuffle, positions }, layer = 1, head = 1) {
  const { pixels, label } = record.pictures[image];
  const settings = { pixels, label, patch, layer, head, positions, shuffle, ...sizes };
  return numbers.view({ ...settings, state: states[patch] });
}

keepsHouse("patch_explorer", widget, START);

test("probabilities and every row of the class token are Python's, to 1e-4", () => {
  for (const wanted of read("patch_explorer/patch_explorer_cases.json"))
    wanted.rows.forEach((heads, layer) =>
      heads.forEach((row, head) => {
        const found = view(wanted, layer + 1, head + 1);
        near([found.row, found.probabilities], [row, wanted.probabilities], 1e-4);
      }),
    );
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
  const [still, moved] = [0, 5].map((shuffle) => view({ image: 3, patch: 2, shuffle, positions: false }));
  near(still.probabilities, moved.probabilities);
  near(moved.row.slice(1), moved.places.map((from) => still.row[from + 1]));
  const [before, after] = [0, 5].map((shuffle) => view({ image: 3, patch: 2, shuffle, positions: true }));
  assert.ok(before.probabilities.some((p, i) => Math.abs(p - after.probabilities[i]) > 0.01));
});

test("entropy is in nats, and a weight of 0 adds nothing", () => {
  near(entropy([0.25, 0.25, 0.5, 0]), 1.5 * Math.log(2));
});

test("the drawings hold a square for every patch and no number that is none", () => {
  for (const patch of [2, 4]) {
    const { patches, row } = view({ image: 11, patch, shuffle: 2, positions: true });
    const drawn = [picture.drawCut(patches, patch), picture.drawRead(patches, patch, row), picture.drawTokens(patches, patch, row)];
    const count = (8 / patch) ** 2;
    [[/<text/g, count], [/<text/g, count], [/class="bar"/g, count + 1]].forEach(([part, wanted], i) =>
      assert.equal(drawn[i].match(part).length, wanted),
    );
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

test("the lists choose image, patch, layer and head; there is a token for each patch and one more", async () => {
  const { put, all, rows, said, traitsOf } = show(widget, START);
  const tokens = () => [all(".acw-tokens .bar").length, rows("details").length];
  assert.deepEqual(tokens(), [17, 17]);
  for (const [list, value] of [["image", 9], ["patch", 4], ["layer", 2], ["head", 3]]) await put(list, value);
  assert.deepEqual(traitsOf("image", "patch", "layer", "head"), [9, 4, 2, 3]);
  assert.match(said(), /it is a 4\. In layer 2, head 3 .* of at most 1\.61\.$/);
  assert.deepEqual(tokens(), [5, 5]);
});

test("the button shuffles, once more each time, and another takes it back", async () => {
  const { click, rows, said, traitsOf } = show(widget, START);
  await click("shuffle patches");
  await click("shuffle patches");
  assert.match(said(), /^Shuffle 2, with positions/);
  assert.deepEqual(traitsOf("shuffle"), [2]);
  const stands = rows("details").map((row) => row[2]);
  assert.notDeepEqual(stands.slice(1, 5), ["1", "2", "3", "4"]);
  await click("in order");
  assert.match(said(), /^In order/);
});

test("without positions a shuffle keeps every probability", async () => {
  const { put, click, text, traitsOf } = show(widget, START);
  await put("positions", false);
  assert.deepEqual(traitsOf("positions"), [false]);
  const before = text(".acw-main tbody");
  await click("shuffle patches");
  assert.equal(text(".acw-main tbody"), before);
});

test("a shuffled image that is read right ticks the task; one in order does not", async () => {
  const { put, click, said, text } = show(widget, START);
  await click("shuffle patches");
  assert.match(said(), /a wrong 2/);
  assert.match(text(".acw-task"), /^○/);
  await click("in order");
  await put("image", 4);
  assert.match(text(".acw-task"), /^○/);
  await click("shuffle patches");
  assert.match(text(".acw-task"), /^✓/);
});
