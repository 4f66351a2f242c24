// The explorer's words and numbers, and the widget in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/alignment_explorer.js";
import * as words from "../../course_utils/widgets/alignment_explorer_words.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const SOURCES = [
  {
    text: "3 v 1942",
    iso: "1942-05-03",
    locale: "xx_XX",
    spans: { day: [0, 1], month: [2, 3], year: [4, 8] },
  },
  { text: "𞤀5", iso: "2000-05-05", locale: "ff_GN", spans: { month: [0, 1], day: [1, 2], year: [1, 2] } },
];
const WRITTEN = [
  ["1942-05-04", "2"],
  ["19", "20"],
];
const [DOT, SMALL, TWO, LAST] = [80, 2, 16, 4];
const bytes = Uint8Array.from({ length: DOT + SMALL + TWO + LAST }, (_, i) => i % 7);
bytes.set([10, 0, 0, 0, 60, 20, 10, 0], 0);
bytes.set([1, 2], DOT);
bytes.set([50, 50, 30, 70], DOT + SMALL + TWO);

test("weights are found for every score and date", () => {
  const rows = (s, d) => words.rowsOf(bytes, SOURCES, WRITTEN, s, d);
  assert.equal(rows(0, 0).length, 10);
  assert.deepEqual(rows(0, 0)[0], [10, 0, 0, 0, 60, 20, 10, 0]);
  assert.deepEqual(rows(0, 1), [[1, 2]], "a sign of two code units is one column");
  assert.deepEqual(rows(1, 1), [
    [50, 50],
    [30, 70],
  ]);
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
    [
      ["day", 0, 1],
      [null, 1, 2],
      ["month", 2, 3],
      [null, 3, 4],
      ["year", 4, 8],
    ],
  );
});

test("the sentence says shares, the part's sum, and what is wrong", () => {
  const rows = words.rowsOf(bytes, SOURCES, WRITTEN, 0, 0);
  assert.equal(
    words.sentence(SOURCES[0], WRITTEN[0][0], rows, 0, "dot").replace(/[\u2068\u2069]/g, ""),
    "dot wrote '1' (character 1, year) with 60% from '1' (5), 20% from '9' (6), 10% from '3' (1)." +
      " Inside the year: 90%.",
  );
  assert.match(words.sentence(SOURCES[0], WRITTEN[0][0], rows, 9, "dot"), /day.* Right would be '3'\.$/);
  assert.match(words.sentence(SOURCES[0], WRITTEN[0][0], rows, 4, "dot"), /a hyphen\) with [^.]*\.$/);
  const long = { ...SOURCES[0], iso: "" };
  assert.match(words.sentence(long, "1", rows, 0, "dot"), /Nothing should be here\.$/);
});

function show() {
  const { window, el } = stage();
  const model = fakeModel({
    sources: SOURCES,
    scores: ["dot", "general"],
    written: WRITTEN,
    data: new DataView(bytes.buffer),
    score: 0,
    date: 0,
    place: 0,
  });
  const stop = widget.render({ model, el });
  const keys = () => [...el.querySelectorAll(".acw-target button")];
  const said = () => el.querySelector(".acw-readout").textContent;
  return { window, el, model, stop, keys, said };
}

test("pointing shows, leaving goes back, pressing keeps", async () => {
  const { window, model, keys, said, el } = show();
  const before = said();
  keys()[9].dispatchEvent(new window.PointerEvent("pointerenter", { pointerType: "mouse" }));
  assert.match(said(), /character 10, day/);
  assert.equal(el.querySelector(".acw-field.here small").textContent, "day");
  keys()[9].dispatchEvent(new window.PointerEvent("pointerleave"));
  assert.equal(said(), before);
  keys()[9].dispatchEvent(new window.MouseEvent("click"));
  await tick();
  assert.equal(model.get("place"), 9);
  assert.match(said(), /character 10, day/);
  assert.equal(keys().filter((key) => key.tabIndex === 0).length, 1, "one stop for the keyboard");
  assert.ok(keys()[9].classList.contains("wrong"));
});

test("a chosen place outlives a shorter text, and the table has every row", async () => {
  const { window, model, el, said } = show();
  model.set("place", 9);
  model.set("date", 1);
  model.set("score", 1);
  await tick();
  assert.match(said(), /^general wrote '0' \(character 2, year\)/);
  const details = el.querySelector("details");
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
  assert.equal(details.querySelectorAll("tbody tr").length, 2);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("date", 1);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
