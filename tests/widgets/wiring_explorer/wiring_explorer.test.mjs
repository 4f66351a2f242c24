// The explorer's masks, paths and reach as Python has them, its words and pictures; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/wiring_explorer/wiring_explorer.js";
import { blockWords, drawBlocks, looks } from "../../../course_utils/widgets/wiring_explorer/wiring_explorer_blocks.js";
import { columns, drawLayers, litPlaces } from "../../../course_utils/widgets/wiring_explorer/wiring_explorer_picture.js";
import {
  WIRINGS, chosenPlace, formulas, masks, parts, paths, places, reach, sentence,
} from "../../../course_utils/widgets/wiring_explorer/wiring_explorer_reach.js";
import { keepsHouse, read, show } from "../dom.mjs";

const cases = read("wiring_explorer/wiring_explorer_cases.json");
const usual = { ...cases.find(({ view }) => view.wiring === "t5").view, view: "paths" };
const bits = (table) => table.map((row) => row.map(Number));

keepsHouse("wiring_explorer", widget, usual);

test("masks, paths and reach are Python's", () => {
  for (const { view, masks: wanted, paths: counts } of cases) {
    assert.deepEqual(masks(view).map(({ mask }) => bits(mask)), wanted, JSON.stringify(view));
    assert.deepEqual(counts.map((_, i) => paths(view, i)[0]), counts, JSON.stringify(view));
    assert.deepEqual(bits(reach(view)), counts.map((row) => row.map((n) => Number(n > 0))));
  }
});

test("depth widens nothing under whole masks, and a window by its width", () => {
  const lit = (changes) => reach({ ...usual, pads: 0, ...changes }).at(-1).filter(Boolean).length;
  for (const wiring of Object.keys(WIRINGS)) assert.equal(lit({ wiring, num_layers: 1 }), lit({ wiring, num_layers: 6 }));
  assert.deepEqual([1, 2, 3].map((num_layers) => lit({ wiring: "gpt", window: 2, num_layers })), [2, 3, 4]);
});

test("a place is given the word before the one that it writes; BERT's is given a mask", () => {
  assert.deepEqual(places(usual), { inputs: ["a", "b", "c", "pad", "start", "v", "w"], outputs: ["", "", "", "", "v", "w", "x"] });
  assert.deepEqual(places({ ...usual, wiring: "bert" }).inputs.slice(4), ["mask", "mask", "mask"]);
  const chosen = [{}, { side: "source", place: 9 }, { place: 9 }].map((changes) => chosenPlace({ ...usual, ...changes }));
  assert.deepEqual(chosen, [5, 3, 6]);
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
});

test("the blocks are a wiring's parts, each with whom it looks at, and the memory where one is read", () => {
  for (const wiring of Object.keys(WIRINGS))
    for (const pre_norm of [true, false]) {
      const view = { ...usual, wiring, pre_norm };
      const { box, inside } = drawBlocks(view);
      assert.doesNotMatch(box + inside, /NaN|undefined/);
      assert.equal((inside.match(/class="norm"/g) ?? []).length, parts(view).flatMap(([, kinds]) => kinds).length);
      assert.equal(inside.includes("way memory"), ["t5", "stub"].includes(wiring));
      assert.equal(inside.includes("not read"), wiring === "stub");
    }
  assert.deepEqual(["bert", "gpt", "prefix"].map((wiring) => looks({ wiring, window: 0 }, "self-attention", false)), [
    "sees all", "sees no later place", "the source whole",
  ]);
  assert.equal(looks({ wiring: "gpt", window: 2 }, "self-attention", false), "sees no later place, window 2");
  assert.match(blockWords(usual), /decoder layer: self-attention \(sees no later place\), then cross-attention \(keys: the memory\), then feed-forward/);
});

test("the dashed rail joins the memory's lit places and each layer's readers", () => {
  const rails = (view) => (drawLayers({ ...usual, ...view }).inside.match(/class="cross"/g) ?? []).length;
  assert.equal(rails({ num_layers: 1, pads: 0, place: 0 }), 4 + 2 + 2);
  assert.equal(rails({ pads: 4 }), 0);
  assert.equal(rails({ wiring: "stub" }), 0);
});

test("the picture lights what the products light, and draws no other line", () => {
  for (const { view, paths: counts } of cases) {
    const { inside, box } = drawLayers(view);
    assert.doesNotMatch(inside + box, /NaN|undefined/);
    const lit = litPlaces(view);
    assert.equal(lit.length, view.num_layers + 1);
    const chosen = counts[chosenPlace(view)];
    lit[0].forEach((on, j) => assert.equal(on, chosen[j] > 0, JSON.stringify(view)));
    const split = ["t5", "stub"].includes(view.wiring);
    assert.equal(columns(view), view.num_source + view.num_target + Number(split));
    assert.equal((inside.match(/class="on"/g) ?? []).length, lit.flat().filter(Boolean).length);
  }
});

test("a click and an arrow choose an output", async () => {
  const { one, all, click, press, said, texts, traitsOf } = show(widget, usual);
  const key = (name) => press(one('.acw-outputs [aria-pressed="true"]'), name);
  assert.deepEqual(texts(".acw-inputs .on"), ["a", "b", "c", "start", "v"]);
  await click(all(".acw-outputs button")[0]);
  assert.deepEqual(traitsOf("side", "place"), ["source", 0]);
  assert.match(said(), /^The place of “a”.*3 of 7/);
  await key("End");
  assert.deepEqual(traitsOf("side", "place"), ["target", 2]);
  await key("ArrowLeft");
  assert.match(said(), /writes “w”/);
  await key("x");
  assert.deepEqual(traitsOf("place"), [1]);
});

test("a wiring brings its masks, its places and its formulas", async () => {
  const { put, texts } = show(widget, usual);
  const captions = () => texts(".acw-grids caption").filter((words) => words.startsWith("Mask"));
  assert.deepEqual(captions(), ["Mask: encoder", "Mask: decoder", "Mask: cross-attention"]);
  assert.equal(texts(".acw-formulas .line").length, 5);
  await put("wiring", "bert");
  assert.deepEqual(texts(".acw-inputs span").slice(-3), ["mask", "mask", "mask"]);
  assert.equal(captions().length, 1);
  await put("order", "post");
  assert.deepEqual(texts(".acw-formulas .line"), ["x ← norm₁(x + self(x))", "x ← norm₂(x + feed(x))"]);
});

test("each tab shows its own settings", async () => {
  const { click, control, traitsOf, all } = show(widget, { ...usual, view: "blocks" });
  const shown = () => ["order", "layers", "padding", "window"].map((name) => !control(name).closest(".acw-field").hidden);
  assert.deepEqual(shown(), [true, true, false, false]);
  await click("Masks");
  assert.deepEqual(traitsOf("view"), ["masks"]);
  assert.deepEqual(shown(), [false, false, true, true]);
  await click("Paths");
  assert.deepEqual(shown(), [false, true, true, true]);
  assert.deepEqual(all('[role="tabpanel"]').map(({ hidden }) => hidden), [true, true, false]);
});

test("a place that sees the word that it writes ticks the task", async () => {
  const { put, text } = show(widget, usual);
  for (const wiring of ["gpt", "bert"]) await put("wiring", wiring);
  assert.match(text(".acw-task"), /^○/);
  await put("wiring", "stub");
  assert.match(text(".acw-task"), /^✓/);
});

test("sizes keep the choice inside, and padding inside the source", async () => {
  const { put, control, said, texts } = show(widget, { ...usual, place: 2, pads: 4 });
  await put("target tokens", 1);
  assert.match(said(), /writes “v”/);
  await put("source tokens", 2);
  assert.equal(control("padding").max, "2");
  assert.deepEqual(texts(".acw-inputs span"), ["pad", "pad", "start"]);
  await put("window", 1);
  assert.equal(control("window").getAttribute("aria-valuetext"), "1");
});

test("it follows Python; words are written as text, whatever they hold", async () => {
  const { set, said, texts } = show(widget, { ...usual, source: ["<b>", "b", "c", "d", "e"] });
  await set({ num_layers: 3 });
  assert.match(said(), /after 3 layers/);
  assert.equal(texts(".acw-inputs span")[0], "<b>");
});
