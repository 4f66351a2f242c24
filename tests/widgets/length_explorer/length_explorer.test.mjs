// The explorer's comparison, words and curve, and the explorer in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/length_explorer/length_explorer.js";
import { compare, curvePanel, places, sentence } from "../../../course_utils/widgets/length_explorer/length_explorer_drawing.js";
import { keepsHouse, near, show } from "../dom.mjs";

const names = ["fixed", "attention"];
const curves = [[[2, 0.8, 0.9, 1], [20, 0.2, 0.25, 0.3]], [[2, 1, 1, 1], [10, 0.98, 0.99, 1]]];
const samples = [["12", "12", "12"], ["34", "3", "34"], ["01234567890123", "01234567890129", "012345678901234"]];
const START = { samples, names, curves, trained: 10, length: 2, example: 0 };

keepsHouse("length_explorer", widget, START);

test("symbols are compared place by place; what is missing is wrong, what is too much is not counted", () => {
  const right = (source, written) => compare([...source], [...written]).map((one) => one.right);
  assert.deepEqual(right("123", "193"), [true, false, true]);
  assert.deepEqual(right("123", "1"), [true, false, false]);
  assert.deepEqual(right("12", "123"), [true, true]);
  assert.equal(compare(["1"], [])[0].symbol, "");
});

test("the words count what is right and name the first error", () => {
  const copies = [compare([..."123"], [..."193"]), compare([..."123"], [..."123"])];
  assert.equal(
    sentence(names, "123", copies),
    "3 symbols. Right: fixed 2, attention 3. First error: fixed at symbol 2.",
  );
  const one = compare(["1"], ["1"]);
  assert.equal(sentence(names, "1", [one, one]), "1 symbol. Right: fixed 1, attention 1. No error.");
});

test("the curve puts lengths and shares where they belong", () => {
  const { across, up } = places(20);
  assert.ok(across(20) > across(10) && up(1) < up(0));
  near(across(10), (across(0) + across(20)) / 2, 1e-9);
  const drawn = curvePanel({ names, curves, trained: 10, length: 5, longest: 20 });
  assert.ok(drawn.includes(`L${across(20).toFixed(1)} ${up(0.25).toFixed(1)}`), "the mean's last point");
  assert.match(drawn, /trained up to 10/);
  assert.doesNotMatch(drawn, /NaN|Infinity|undefined/);
  const unmarked = curvePanel({ names, curves, trained: 0, length: 5, longest: 20 });
  assert.doesNotMatch(unmarked, /trained/);
});

test("names of models are text, not markup", () => {
  const drawn = curvePanel({ names: ["<b>", "&"], curves, trained: 0, length: 2, longest: 20 });
  assert.match(drawn, /&lt;b&gt;/);
  assert.doesNotMatch(drawn, /<b>/);
});

/** Show the explorer, with its table of symbols as texts. */
function explorer(changes = {}) {
  const page = show(widget, { ...START, ...changes });
  const symbols = () => page.all(".acw-parts tr").map((row) => [...row.children].map((cell) => cell.textContent));
  return { ...page, symbols };
}

test("wrong symbols are marked in the page and said to be wrong", async () => {
  const { all, set, symbols } = explorer();
  assert.equal(all("mark").length, 0);
  await set({ example: 1 });
  assert.deepEqual(symbols().slice(1), [["fixed", "3", "– wrong"], ["attention", "3", "4"]]);
});

test("the slider goes over the lengths there are, and long sources break after ten", async () => {
  const { all, put, control, button, symbols, said, traitsOf } = explorer({ example: 1 });
  await put("source length", 1);
  assert.deepEqual(traitsOf("length", "example"), [14, 0]);
  assert.equal(control("source length").getAttribute("aria-valuetext"), "14 symbols");
  assert.equal(all(".acw-parts table").length, 2);
  assert.deepEqual(symbols()[4], ["fixed", "0", "1", "2", "9 wrong"]);
  assert.equal(said(), "14 symbols. Right: fixed 13, attention 14. First error: fixed at symbol 14.");
  assert.ok(button("Another example").disabled, "one example only");
});

test("another example goes round", async () => {
  const { click, traitsOf } = explorer();
  for (const example of [1, 0]) {
    await click("Another example");
    assert.deepEqual(traitsOf("example"), [example]);
  }
});

test("the table holds every length of either model, and says what was not measured", () => {
  assert.deepEqual(explorer().rows("details"), [
    ["2", "90% (80% to 100%)", "100% (100% to 100%)"],
    ["10", "not measured", "99% (98% to 100%)"],
    ["20", "25% (20% to 30%)", "not measured"],
  ]);
});

test("the shortest source with an error ticks the task, and no longer one does", async () => {
  const { put, click, text } = explorer();
  assert.match(text(".acw-task"), /^○Try: find the shortest source in which fixed makes an error\.$/);
  await put("source length", 1);
  assert.match(text(".acw-task"), /^○/);
  await put("source length", 0);
  await click("Another example");
  assert.match(text(".acw-task"), /^✓/);
});
