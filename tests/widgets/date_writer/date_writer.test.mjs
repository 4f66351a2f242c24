// The page's model is Python's on every recorded text; what it says of places and of certainty; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/date_writer/date_writer.js";
import * as numbers from "../../../course_utils/widgets/date_writer/date_writer_model.js";
import * as words from "../../../course_utils/widgets/date_writer/date_writer_words.js";
import { bare, keepsHouse, near, read, show } from "../dom.mjs";

const [run] = read("../../course_utils/records/chapter_02_writer.json").runs;
const state = numbers.unpack(run);
const cases = read("date_writer/date_writer_cases.json");
const EXAMPLES = ["13. März 2021", "next Friday"];
const START = {
  weights: run.weights, parts: run.layout, alphabet: run.alphabet, languages: 31, sure: 0.9, measured: "Measured.",
  examples: EXAMPLES, text: EXAMPLES[0], place: 6,
};
const written = (text) => numbers.writeDate(state, numbers.signsOf(text, run.alphabet).tokens);

keepsHouse("date_writer", widget, START);

test("what is written, its probability and every weight are Python's, to 1e-4", () => {
  assert.ok(cases.length > 40);
  for (const wanted of cases) {
    const found = written(wanted.text);
    assert.equal(found.text, wanted.written, wanted.text);
    near(found.chance, wanted.chance, 1e-4);
    near(found.steps.map((step) => step.weights), wanted.weights, 1e-4);
    near(found.steps.map(({ chances }) => Math.max(...chances)), wanted.chances, 1e-4);
    if (wanted.iso) assert.equal(found.text, wanted.iso);
  }
});

test("a block of Q8_0 is a scale and 32 signed bytes", () => {
  const bytes = new Uint8Array(34);
  bytes.set([0, 0x38, 1, 255, 127], 0); // 0.5
  const { x } = numbers.unpack({ weights: btoa(String.fromCharCode(...bytes)), layout: [["x", [1, 3]]] });
  assert.deepEqual([...x.data, x.width, x.rows], [0.5, -0.5, 63.5, 3, 1]);
});

test("a text is read in lower case, composed, without marks of direction; unknown characters are found once", () => {
  assert.equal(numbers.plain("  4.\u00a0MA\u0308RZ\u200f "), "4. märz");
  const { signs, tokens, unknown } = numbers.signsOf("aßbß", "ab");
  assert.deepEqual([signs, tokens, unknown], [["a", "ß", "b", "ß"], [4, 3, 5, 3], ["ß"]]);
});

test("a day of the calendar is one", () => {
  for (const day of ["2021-03-04", "2000-02-29", "0999-12-31"]) assert.ok(numbers.isDay(day), day);
  for (const none of ["2021-02-29", "1900-02-29", "2021-13-01", "2021-00-10", "096-06-06", "0000-01-01", ""])
    assert.ok(!numbers.isDay(none), none);
  assert.deepEqual(["2021-02-30", "2021-02-28", "96-06-06"].map(numbers.isNoDay), [true, false, false]);
});

test("words, numbers and other signs keep apart, in any script", () => {
  const found = (text) => words.wordsOf(Array.from(text)).map((word) => word.text);
  assert.deepEqual(found("4. märz 2021"), ["4", ".", " ", "märz", " ", "2021"]);
  assert.deepEqual(found("2021年3月"), ["2021", "年", "3", "月"]);
  assert.deepEqual(found("मार्च २०"), ["मार्च", " ", "२०"]);
});

test("the sentence names the written sign, the word it reads and its share", () => {
  const signs = Array.from("4 mai 2021");
  const chances = (best) => Array.from({ length: 15 }, (_, i) => (i === 10 ? best : i === 8 ? 1 - best : 0));
  const step = (weights, best = 1) => ({ token: 10, chances: chances(best), weights });
  const found = (...row) => ({ text: "2021-05-04", steps: Array(10).fill(step(...row)) });
  const sure = found([0, 0.09, 0.5, 0.4, 0.01, 0, 0, 0, 0, 0]);
  assert.equal(bare(words.sentence(signs, sure, 6)), "Writing the 5 of month 05, it reads ‘mai’ with 0.91 of its weight.");
  const torn = found([0.4, 0, 0.6, 0, 0, 0, 0, 0, 0, 0], 0.8);
  assert.equal(
    bare(words.sentence(signs, torn, 4)),
    "Writing a hyphen, it reads ‘mai’ with 0.60 of its weight, and ‘4’ with 0.40. It gives this 5 probability 0.80, a 3 0.20.",
  );
  assert.match(words.sentence(signs, found([0, 0, 0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25]), 0), /2021’\u2069 with all of its weight\.$/);
});

test("it says how sure it is, what is no day, and what it does not know", () => {
  const said = (text, chance, unknown = []) => bare(words.certainty({ text, chance }, 0.9, unknown));
  assert.equal(said("2021-03-04", 0.998), "Sure: probability more than 0.99.");
  assert.equal(said("2021-02-30", 0.93), "Sure: probability 0.93. 2021-02-30 is not a day of the calendar.");
  assert.match(said("1912-09-02", 0.114), /^Unsure: probability 0\.11\. This may not be a date/);
  assert.match(said("2021-04-02", 0.001, ["ß", "þ"]), /less than 0\.01.* It does not know ‘ß’, ‘þ’\.$/);
});

test("typing writes at once; a chip puts its text there", async () => {
  const { one, all, fire, click, text, texts, traitsOf } = show(widget, START);
  assert.equal(texts(".acw-written button").join(""), "2021-03-13");
  assert.match(text(".acw-said"), /^Writing the 3 of month 03, it reads ‘märz’ with /);
  one("input").value = "1 mai 1999";
  await fire(one("input"), "input");
  assert.deepEqual(traitsOf("text"), ["1 mai 1999"]);
  assert.equal(texts(".acw-written button").join(""), "1999-05-01");
  assert.match(text(".acw-sure"), /^Sure/);
  await click("next Friday");
  assert.match(text(".acw-sure"), /^Unsure/);
  assert.ok(all(".acw-written .unsure").length > 0);
  assert.equal(one("input").value, "next Friday");
  one("input").value = " ";
  await fire(one("input"), "input");
  assert.equal(text(".acw-sure"), "Nothing to read yet.");
  assert.equal(text(".acw-said"), "");
  assert.equal(all(".acw-written button").length, 0);
});

test("the task is done once it is sure of a day that no calendar has, and stays done", async () => {
  const { one, fire, text } = show(widget, START);
  const type = async (value) => {
    one("input").value = value;
    await fire(one("input"), "input");
  };
  await type("next Friday");
  assert.match(text(".acw-task"), /no calendar has\.$/);
  await type("30 February 2021");
  assert.match(text(".acw-sure"), /^Sure: .* 2021-02-30 is not a day of the calendar\.$/);
  assert.match(text(".acw-task"), /^✓.*Done\.$/);
  await type("1 May 1999");
  assert.match(text(".acw-task"), /^✓.*Done\.$/);
});

test("pointing shows, leaving goes back, pressing keeps, and the arrows walk", async () => {
  const { all, text, fire, click, press, traitsOf } = show(widget, START);
  const keys = all(".acw-written button");
  const before = text(".acw-said");
  await fire(keys[0], "pointerenter", { pointerType: "mouse" });
  assert.match(text(".acw-said"), /^Writing the 2 of year 2021, it reads ‘2021’/);
  await fire(keys[0], "pointerleave");
  assert.equal(text(".acw-said"), before);
  await click(keys[9]);
  assert.deepEqual(traitsOf("place"), [9]);
  assert.match(text(".acw-said"), /^Writing the 3 of day 13/);
  assert.deepEqual(all(".acw-written button").filter(({ tabIndex }) => tabIndex === 0), [keys[9]]);
  await press(keys[9], "ArrowLeft");
  assert.match(text(".acw-said"), /^Writing the 1 of day 13/);
  assert.equal(document.activeElement, keys[8]);
});
