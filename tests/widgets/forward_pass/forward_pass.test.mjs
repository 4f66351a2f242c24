// Rows, roles, lens and next words are Python's; the atlas, the map, the lens and the words of the page; its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/forward_pass/forward_pass.js";
import * as numbers from "../../../course_utils/widgets/forward_pass/forward_pass_numbers.js";
import * as picture from "../../../course_utils/widgets/forward_pass/forward_pass_picture.js";
import * as words from "../../../course_utils/widgets/forward_pass/forward_pass_words.js";
import { bare, keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("forward_pass/forward_pass_cases.json");
const { settings, runs } = read("../../course_utils/records/chapter_20_forward_pass.json");
const { layers, heads, resting, ...packing } = settings;
const REAL = {
  prompts: runs, packing, layers, heads, resting, prompt: 0, layer: 16, head: 0, position: 13, predicted: 12, measure: "first",
  times: 0, without_first: false, live: false, asked: "", removed: [], without: {}, told: "",
};
const unpacked = await Promise.all(runs.map((run) => numbers.unpack(run, { layers, heads, ...packing })));

/** Render, and wait until the numbers are unpacked. */
async function ready(changes = {}) {
  const page = show(widget, { ...REAL, ...changes });
  for (let i = 0; i < 200 && !page.said(); i++) await new Promise((done) => setTimeout(done, 5));
  const settled = async (pattern) => {
    for (let i = 0; i < 200 && !pattern.test(page.said()); i++) await new Promise((done) => setTimeout(done, 5));
    assert.match(page.said(), pattern);
  };
  return { ...page, settled };
}

keepsHouse("forward_pass", widget, { ...REAL, live: true });

test("rows, roles and base rates, lens and next words are Python's", () => {
  for (const { prompt, position, layer, head, ...wanted } of cases) {
    const seen = unpacked[prompt];
    const row = numbers.rowOf(seen, layer, head, position);
    near(row, wanted.row, 1e-7);
    near(numbers.withoutFirst(row), wanted.without, 1e-7);
    const lens = numbers.lensAt(seen, layer + 1, position);
    assert.deepEqual(lens.words.map((one) => one.word), wanted.lens);
    near(lens.words.map((one) => one.chance), wanted.lensChances, 1e-7);
    near(lens.entropy, wanted.lensEntropy, 1e-6);
    const next = numbers.nextAt(seen, position);
    assert.deepEqual(next.map((one) => one.word), wanted.next);
    near(next.map((one) => one.chance), wanted.nextChances, 1e-7);
    for (const measure of Object.keys(numbers.MEASURES)) {
      const all = numbers.atlas(seen, { measure, position, times: 2.9 });
      near(all.values[layer * heads + head], wanted[measure].value, 1e-6);
      near(all.values.reduce((a, b) => a + b, 0), wanted[measure].sum, 1e-4);
      if (measure === "entropy") continue;
      near(all.base, wanted[measure].base, 1e-7);
      assert.equal(all.kept.filter(Boolean).length, wanted[measure].above);
    }
  }
});

test("rows sum to one but for the rounding, at every head and query", () => {
  for (const seen of unpacked)
    for (let head = 0; head < layers * heads; head++)
      for (let query = 0; query < seen.tokens.length; query++) {
        const row = numbers.rowOf(seen, Math.floor(head / heads), head % heads, query);
        near(row.reduce((a, b) => a + b, 0), 1, (row.length * 0.5) / 255 + 1e-9);
      }
});

test("the layers in which most heads rest follow from the weights", () => {
  const counts = numbers.upTo(layers).map((layer) =>
    numbers.upTo(heads).filter((head) => {
      const firsts = unpacked.flatMap((seen) => numbers.upTo(seen.tokens.length).slice(1).map((q) => numbers.rowOf(seen, layer, head, q)[0]));
      return firsts.reduce((a, b) => a + b, 0) / firsts.length > 0.5;
    }).length,
  );
  near(counts, resting, 1); // a mean may be at the limit
  assert.match(words.restingSentence(resting, heads, 3), /^It is layer 3 \(as you said\).*layers 3–9, 12–15, 17–29/);
  assert.match(words.restingSentence([0, 5, 1, 9], 9, 0), /^It is layer 1 \(you said 0\).*layers 1, 3, and/);
});

test("without the first token nothing may be left; no token stands before the first; a token may be new", () => {
  assert.deepEqual(numbers.withoutFirst([1, 0, 0]), [0, 0, 0]);
  assert.deepEqual(numbers.withoutFirst([0.5, 0.25, 0.25]), [0, 0.5, 0.5]);
  assert.deepEqual([numbers.keysOf("previous", [5], 0), numbers.keysOf("followed", [5, 6], 1)], [[], []]);
  assert.deepEqual(numbers.keysOf("followed", [5, 6, 5, 7, 5], 4), [1, 3]);
  assert.match(words.valueWords("followed", [5, 6], [0.5, 0.5]), /there is no such token/);
  assert.match(bare(words.keySentence(["a", "b"], [1, 1], [0, 0], true)), /puts 0\.000 on key 1, ‘b’: without the first token nothing is left\.$/);
});

test("tokens are named with their blanks, and cut where they are long", () => {
  assert.equal(picture.shown(" a\n\tb"), "␣a⏎⇥b");
  assert.deepEqual(["<|im_start|>", " Hamlet"].map((one) => picture.cut(one, 8)), ["<|im_st…", "␣Hamlet"]);
  assert.deepEqual([0, 0.0001, 0.0126].map(words.chance), ["0.000", "below 0.001", "0.013"]);
});

test("a cell of the atlas is its head, standing and lying; the lens unfolds, and follows a long text", () => {
  for (const narrow of [false, true]) {
    const grid = picture.atlasGrid(326, narrow, layers, heads);
    assert.deepEqual(picture.headAt(grid, picture.placeOf(grid, 23, 4)), { layer: 23, head: 4 });
    assert.ok(grid.wide <= 326 && grid.rows * grid.columns === 270);
  }
  assert.deepEqual(picture.lensStates(30, false).map(picture.layerOf).slice(-3), ["8", "4", "0"]);
  assert.deepEqual(picture.lensStates(30, true).map(picture.layerOf).slice(-2), ["0", "–"]);
  const long = picture.lensGrid(928, { tokens: new Array(48).fill("a"), layers }, 40, false);
  assert.deepEqual([long.columns, long.from], [15, 33]);
  const map = picture.mapGrid(326, true, new Array(48).fill("a"));
  assert.ok(map.wide <= 326);
});

test("the atlas shows only once a layer was named", async () => {
  const { one, click, put, text, traitsOf } = await ready({ predicted: -1 });
  assert.deepEqual([one(".acw-atlas").hidden, one(".acw-predict").hidden], [true, false]);
  await put("layer", 3);
  await click("Show the atlas");
  assert.deepEqual(traitsOf("predicted"), [3]);
  assert.deepEqual([one(".acw-atlas").hidden, one(".acw-predict").hidden], [false, true]);
  assert.match(text(".acw-answer"), /as you said/);
  assert.equal(one(".acw-atlas").querySelectorAll("rect").length, 270 + 2);
});

test("steppers move the choice, and stop at the ends; another prompt begins at its last position", async () => {
  const { all, click, put, said, settled, traitsOf } = await ready();
  const stepper = (name) => all("button").find((each) => each.getAttribute("aria-label") === name);
  assert.equal(stepper("head down").disabled, true);
  await click(stepper("layer up"));
  await click(stepper("head up"));
  await click(stepper("position down"));
  assert.deepEqual(traitsOf("layer", "head", "position"), [17, 1, 12]);
  assert.match(said(), /^Layer 17, head 1, position 12, ‘␣drink’/);
  await put("prompt", 1);
  assert.deepEqual(traitsOf("prompt", "position"), [1, 4]);
  await settled(/position 4, ‘␣is’/);
});

test("arrow keys move in the atlas, over the map's keys and in the lens", async () => {
  const { all, press, text, traitsOf } = await ready();
  const [atlas, map, lens] = all(".acw-plot");
  await press(atlas, "ArrowUp");
  await press(atlas, "ArrowRight");
  assert.deepEqual(traitsOf("layer", "head"), [17, 1]);
  await press(map, "ArrowRight");
  assert.match(text(".acw-map .acw-readout"), /^Query 13, ‘␣to’, puts [\d.]+ on key 1, ‘␣Mary’/);
  await press(map, "ArrowUp");
  assert.deepEqual(traitsOf("position"), [12]);
  await press(lens, "ArrowUp");
  await press(lens, "ArrowLeft");
  assert.deepEqual(traitsOf("layer", "position"), [18, 11]);
  assert.match(text(".acw-lens .acw-readout"), /^Lens at position 11, ‘␣a’, after layer 18: /);
});

test("hovering shows and does not choose", async () => {
  const { all, fire, said, traitsOf } = await ready();
  const [atlas] = all(".acw-plot");
  atlas.querySelector("svg").getBoundingClientRect = () => ({ left: 0, top: 0 });
  await fire(atlas, "pointermove", { clientX: 24 + 16 * 5 + 3, clientY: 18 + 3 });
  assert.match(said(), /^Layer 29, head 5/);
  assert.deepEqual(traitsOf("layer", "head"), [16, 0]);
  await fire(atlas, "pointerleave");
  assert.match(said(), /^Layer 16, head 0/);
  await fire(atlas, "pointermove", { clientX: 3, clientY: 3 });
  assert.match(said(), /^Layer 16, head 0/);
});

test("the first token is taken out of the map; heads under a multiple of the base rate are left out", async () => {
  const { all, one, put, set, text, traitsOf } = await ready({ layer: 20, head: 3 });
  assert.match(text(".acw-map .acw-readout"), /puts 0\.\d*[1-9]\d* on key 0/);
  await put("take the first token out", true);
  assert.match(text(".acw-map .acw-readout"), /puts 0\.000 on key 0/);
  await put("atlas", "previous");
  await put("only heads above", 5);
  assert.deepEqual(traitsOf("without_first", "measure", "times"), [true, "previous", 5]);
  const seen = numbers.atlas(unpacked[0], { measure: "previous", position: 13, times: 5 });
  const kept = seen.kept.filter(Boolean).length;
  assert.ok(kept > 0 && kept < 270);
  assert.match(text(".acw-count"), new RegExp(`^${kept} of 270 heads are above 5 times the base rate 0\\.071`));
  assert.equal(all(".acw-atlas .empty").length, 270 - kept);
  await set({ measure: "entropy" });
  assert.deepEqual([text(".acw-count"), one('input[type="range"]').disabled], ["", true]);
});

test("a narrow page has the atlas lying down and the lens as a list", async () => {
  const page = await ready();
  Object.defineProperty(page.one(".acw-lens"), "clientWidth", { value: 326 });
  await page.set({ layer: 22 });
  const [atlas, , lens] = page.all(".acw-plot");
  assert.deepEqual([lens.hidden, page.one(".acw-lens table").hidden], [true, false]);
  assert.deepEqual(page.rows(".acw-lens")[0].slice(0, 2), ["29", "‘␣Mary’"]);
  assert.equal(page.text(".acw-lens tr.chosen th"), "22");
  await page.press(atlas, "ArrowDown");
  assert.deepEqual(page.traitsOf("layer", "head"), [22, 1]);
  await page.put("all layers", true);
  assert.equal(page.rows(".acw-lens").length, 31);
});

test("all is in tables as well", async () => {
  const { open, rows } = await ready({ prompt: 2, position: 9, layer: 18, head: 6 });
  await open();
  assert.equal(rows("details").length, 5 + 31);
  assert.deepEqual(rows("details")[0], ["5", "‘␣green’", "0.922"]);
  assert.equal(rows(".acw-next").length, 10);
});

test("with a model, a text is asked for and a head taken out, and Python's answer shown", async () => {
  const { button, click, fire, one, rows, set, text, traitsOf } = await ready({ live: true });
  const box = one(".acw-own input");
  box.value = "one two";
  await fire(box, "keydown", { key: "Enter" });
  assert.deepEqual(traitsOf("asked"), ["one two"]);
  assert.match(text(".acw-told"), /Python is at work/);
  await click("Take this head out");
  assert.deepEqual(traitsOf("removed"), [[0, 16, 0]]);
  assert.match(text(".acw-change"), /Python is at work/);
  const same = Array.from({ length: 14 }, () => [0.25, ...new Array(9).fill(0.01)]);
  await set({ without: { removed: [0, 16, 0], same, first: same.map(() => [" the", 0.5]) } });
  assert.match(text(".acw-change"), /^Without head 0 of layer 16 .*first ‘␣the’ with 0\.500; ‘␣Mary’ goes from 0\.923 to 0\.250\.$/);
  assert.deepEqual(rows(".acw-next")[0].slice(2), ["0.923", "0.250"]);
  assert.ok(button("Put the head back"));
  await click("Put the head back");
  assert.deepEqual([traitsOf("removed"), text(".acw-change")], [[[]], ""]);
});

test("numbers that cannot be unpacked are said to be so", async () => {
  const page = await ready({ prompts: [{ ...runs[0], data: "AAAA" }] });
  assert.match(page.said(), /^The numbers cannot be unpacked/);
});

test("a head that stays with its own token ticks the task", async () => {
  const page = await ready();
  assert.match(page.text(".acw-task"), /^○/);
  await page.set({ layer: 5, head: 2 });
  assert.match(page.text(".acw-task"), /^✓/);
});
