// Which claims pass the filters, what is said of them, and the ledger in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/claim_ledger/claim_ledger.js";
import { VERDICTS, details, kinds, lit, passes, sentence, tally, told, ways } from "../../../course_utils/widgets/claim_ledger/claim_ledger_rows.js";
import { keepsHouse, show } from "../dom.mjs";

const claims = [
  { id: "01-01", chapter: "01", claim: "Attention runs in parallel", verdict: "corrected", correct: "Without recurrence.", how: "run", check: "parallel", found: "it waits" },
  { id: "01-02", chapter: "01", claim: "A batch runs 1600 steps", verdict: "wrong", correct: "50 steps.", how: "computed", check: "steps" },
  { id: "02-01", chapter: "02", claim: "Introduced in 2015", verdict: "wrong", correct: "A preprint of 2014.", how: "looked up", cite: ["bahdanau2015neural"] },
  { id: "02-02", chapter: "02", claim: "It sums to 1", verdict: "confirmed", correct: "As stated.", how: "read" },
];
const timeline = [
  { date: "2014-09", event: "additive attention", chapters: ["01", "02"], citation: "Bahdanau et al. (2015), Jointly" },
  { date: "2017-06", event: "heads", chapters: ["05"], citation: "Vaswani et al. (2017), Attention" },
];
const none = { chapter: "", verdict: "", how: "", text: "" };
const START = { claims, timeline, ...none, opened: "" };
const ids = (filters) => claims.filter((claim) => passes(claim, { ...none, ...filters })).map(({ id }) => id);

keepsHouse("claim_ledger", widget, START);

test("each filter alone, and several at once", () => {
  assert.equal(ids({}).length, 4);
  assert.deepEqual(ids({ chapter: "02" }), ["02-01", "02-02"]);
  assert.deepEqual(ids({ verdict: "wrong" }), ["01-02", "02-01"]);
  assert.deepEqual(ids({ how: "run" }), ["01-01"]);
  assert.deepEqual(ids({ chapter: "02", verdict: "wrong" }), ["02-01"]);
});

test("words may stand anywhere and in any order, in what was found too", () => {
  assert.deepEqual(ids({ text: "  STEPS batch " }), ["01-02"]);
  assert.deepEqual(ids({ text: "waits" }), ["01-01"]);
  assert.deepEqual(ids({ text: "nothing of the kind" }), []);
  assert.deepEqual(ids({ text: "(" }), []);
});

test("counts follow what is shown", () => {
  assert.equal(sentence(claims, 4), "4 of 4 claims: 2 wrong, 1 hold with a correction, 1 hold.");
  assert.equal(sentence([], 4), "0 of 4 claims.");
  assert.equal(ways(claims.slice(0, 2)), "Checked: 1 computed, 1 run.");
  assert.equal(ways([]), "No claim passes these filters.");
  assert.deepEqual(tally(claims, "how", kinds(claims, "how")), [["computed", 1], ["looked up", 1], ["read", 1], ["run", 1]]);
  assert.equal(Object.keys(VERDICTS).length, 5);
});

test("what opens says what was run, or that nothing was", () => {
  assert.deepEqual(details(claims[0])[1], ["Found now", "it waits"]);
  assert.deepEqual(details(claims[1])[1], ["Found now", "Not recomputed here."]);
  assert.match(details(claims[0])[2][1], /^parallel\(\)/);
  assert.match(details(claims[2])[1][1], /nothing was run/);
  assert.deepEqual(details(claims[2])[2], ["Works", "bahdanau2015neural"]);
  assert.equal(details(claims[3]).length, 2);
});

test("an entry is lit by its chapters, and tells its citation", () => {
  assert.deepEqual(timeline.map((entry) => lit(entry, "02")), [true, false]);
  assert.equal(lit(timeline[0], ""), false);
  assert.equal(told(timeline[1]), "2017-06: heads. Vaswani et al. (2017), Attention. Chapter 05.");
});

const rowsOf = ({ all }) => all("tbody tr").filter((row) => !row.hidden && row.className !== "acw-open").length;

test("a choice hides rows, lights the timeline and is written back", async () => {
  const page = show(widget, START);
  assert.equal(rowsOf(page), 4);
  await page.put("chapter", "02");
  assert.deepEqual(page.traitsOf("chapter"), ["02"]);
  assert.equal(rowsOf(page), 2);
  assert.match(page.said(), /^2 of 4 claims/);
  assert.deepEqual(page.all("ol button").map((entry) => entry.classList.contains("lit")), [true, false]);
  assert.match(page.text(".acw-cited"), /1 of 2 entries belong to chapter 02/);
  await page.click("Show all");
  assert.equal(rowsOf(page), 4);
});

test("a row opens and closes, and closes when it is filtered away", async () => {
  const { one, click, put, text, traitsOf } = show(widget, START);
  const button = one("tbody button");
  await click(button);
  assert.deepEqual(traitsOf("opened"), ["01-01"]);
  assert.equal(button.getAttribute("aria-expanded"), "true");
  assert.match(text(".acw-open"), /it waits/);
  await put("verdict", "wrong");
  assert.equal(one(".acw-open"), null);
  await put("verdict", "");
  await click(button);
  assert.equal(one(".acw-open"), null);
});

test("words typed filter, and an entry that has the focus is cited", async () => {
  const page = show(widget, START);
  await page.put("words", "preprint");
  assert.equal(rowsOf(page), 1);
  await page.fire(page.all("ol button")[1], "focus");
  assert.match(page.text(".acw-cited"), /Vaswani/);
});

test("without a timeline none is drawn", () => {
  assert.ok(show(widget, { ...START, timeline: [] }).one(".acw-time").hidden);
});

test("an opened claim that was run and is wrong ticks the task, another does not", async () => {
  const one = claims.map((claim, i) => ({ ...claim, how: "run", verdict: i ? "wrong" : "confirmed" }));
  const { set, text } = show(widget, { ...START, claims: one });
  await set({ opened: one[0].id });
  assert.match(text(".acw-task"), /^○/);
  await set({ opened: one[1].id });
  assert.match(text(".acw-task"), /^✓/);
});
