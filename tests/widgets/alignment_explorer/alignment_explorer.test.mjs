// The explorer's words and numbers, and the widget in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/alignment_explorer/alignment_explorer.js";
import * as words from "../../../course_utils/widgets/alignment_explorer/alignment_explorer_words.js";
import { bare, keepsHouse, show } from "../dom.mjs";

const SOURCES = [
  { text: "3 v 1942", iso: "1942-05-03", locale: "xx_XX", spans: { day: [0, 1], month: [2, 3], year: [4, 8] } },
  { text: "𞤀5", iso: "2000-05-05", locale: "ff_GN", spans: { month: [0, 1], day: [1, 2], year: [1, 2] } },
];
const WRITTEN = [["1942-05-04", "2"], ["19", "20"]];
const [DOT, SMALL, TWO, LAST] = [80, 2, 16, 4];
const bytes = Uint8Array.from({ length: DOT + SMALL + TWO + LAST }, (_, i) => i % 7);
bytes.set([10, 0, 0, 0, 60, 20, 10, 0], 0);
bytes.set([1, 2], DOT);
bytes.set([50, 50, 30, 70], DOT + SMALL + TWO);
const START = {
  sources: SOURCES, scores: ["dot", "general"], written: WRITTEN, data: new DataView(bytes.buffer), score: 0, date: 0, place: 0,
};

keepsHouse("alignment_explorer", widget, START);

test("weights are found for every score and date", () => {
  const rows = (s, d) => words.rowsOf(bytes, SOURCES, WRITTEN, s, d);
  assert.equal(rows(0, 0).length, 10);
  assert.deepEqual(rows(0, 0)[0], [10, 0, 0, 0, 60, 20, 10, 0]);
  assert.deepEqual(rows(0, 1), [[1, 2]], "a sign of two code units is one column");
  assert.deepEqual(rows(1, 1), [[50, 50], [30, 70]]);
});

test("a place knows its part, a hyphen has none", () => {
  assert.deepEqual(
    Array.from({ length: 11 }, (_, i) => words.partAt(i)),
    [..."yyyy-mm-dd"].map((c) => ({ y: "year", m: "month", d: "day" })[c] ?? null).concat(null),
  );
});

test("the largest come first, ties from the left, none of 0", () => {
  assert.deepEqual(words.largest([0, 5, 9, 5, 0], 3), [2, 1, 3]);
  assert.deepEqual(words.largest([0, 0], 3), []);
});

test("pieces cover the source once, in order", () => {
  const cut = words.pieces(SOURCES[0]);
  assert.deepEqual(
    cut.map(({ name, start, end }) => [name, start, end]),
    [["day", 0, 1], [null, 1, 2], ["month", 2, 3], [null, 3, 4], ["year", 4, 8]],
  );
});

test("the sentence says shares, the part's sum, and what is wrong", () => {
  const rows = words.rowsOf(bytes, SOURCES, WRITTEN, 0, 0);
  assert.equal(
    bare(words.sentence(SOURCES[0], WRITTEN[0][0], rows, 0, "dot")),
    "dot wrote '1' (character 1, year) with 60% from '1' (5), 20% from '9' (6), 10% from '3' (1)." +
      " Inside the year: 90%.",
  );
  assert.match(words.sentence(SOURCES[0], WRITTEN[0][0], rows, 9, "dot"), /day.* Right would be '3'\.$/);
  assert.match(words.sentence(SOURCES[0], WRITTEN[0][0], rows, 4, "dot"), /a hyphen\) with [^.]*\.$/);
  const long = { ...SOURCES[0], iso: "" };
  assert.match(words.sentence(long, "1", rows, 0, "dot"), /Nothing should be here\.$/);
});

test("pointing shows, leaving goes back, pressing keeps", async () => {
  const { all, text, fire, click, press, traitsOf } = show(widget, START);
  const [keys, said] = [() => all(".acw-target button"), () => text(".acw-readout")];
  const before = said();
  await fire(keys()[9], "pointerenter", { pointerType: "mouse" });
  assert.match(said(), /character 10, day/);
  assert.equal(text(".acw-field.here small"), "day");
  await fire(keys()[9], "pointerleave");
  assert.equal(said(), before);
  await click(keys()[9]);
  assert.deepEqual(traitsOf("place"), [9]);
  assert.match(said(), /character 10, day/);
  assert.ok(keys()[9].classList.contains("wrong"));
  const stops = keys().filter(({ tabIndex }) => tabIndex === 0);
  assert.deepEqual(stops, [keys()[9]], "one stop for the keyboard");
  await press(stops[0], "Home");
  assert.equal(said(), before);
  assert.equal(document.activeElement, keys()[0]);
});

test("a chosen place outlives a shorter text, and the table has every row", async () => {
  const { set, open, text, rows } = show(widget, START);
  await set({ place: 9, date: 1, score: 1 });
  assert.match(text(".acw-readout"), /^general wrote '0' \(character 2, year\)/);
  await open();
  assert.equal(rows("details").length, 2);
});

test("buttons go round the dates", async () => {
  const three = { sources: [...SOURCES, SOURCES[1]], written: WRITTEN.map((run) => [...run, run[1]]) };
  const { click, traitsOf } = show(widget, { ...START, ...three });
  for (const [button, date] of [["Previous", 2], ["Previous", 1], ["Next", 2], ["Next", 0]]) {
    await click(button);
    assert.deepEqual(traitsOf("date"), [date]);
  }
});

test("a character read mostly outside of its part ticks the task", async () => {
  const { set, text } = show(widget, START);
  const ticked = [];
  for (let place = 0; place < 10; place++) {
    await set({ place });
    const [, inside] = text(".acw-readout").match(/: (\d+)%\.$/) ?? [, 100];
    ticked.push([inside < 50, text(".acw-task").startsWith("✓")]);
  }
  const first = ticked.findIndex(([outside]) => outside);
  assert.ok(first >= 0);
  assert.deepEqual(ticked.map(([, done]) => done), ticked.map((_, i) => i >= first));
});
