// Which claims pass the filters, what is said of them, and the ledger in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/claim_ledger.js";
import { VERDICTS, details, kinds, lit, passes, sentence, tally, told, ways } from "../../course_utils/widgets/claim_ledger_rows.js";
import { fakeModel, stage, tick } from "./dom.mjs";

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
const ids = (filters) => claims.filter((claim) => passes(claim, { ...none, ...filters })).map(({ id }) => id);

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

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ claims, timeline, ...none, opened: "", ...changes });
  const stop = widget.render({ model, el });
  const seen = () => [...el.querySelectorAll("tbody tr")].filter((row) => !row.hidden && row.className !== "acw-open");
  const choose = async (at, value) => {
    const select = el.querySelectorAll("select")[at];
    select.value = value;
    select.dispatchEvent(new window.Event("change"));
    await tick();
  };
  return { window, el, model, stop, seen, choose };
}

test("a choice hides rows, lights the timeline and is written back", async () => {
  const { el, model, seen, choose } = show();
  assert.equal(seen().length, 4);
  await choose(0, "02");
  assert.equal(model.get("chapter"), "02");
  assert.equal(seen().length, 2);
  assert.match(el.querySelector(".acw-said").textContent, /^2 of 4 claims/);
  assert.deepEqual([...el.querySelectorAll("ol button")].map((b) => b.classList.contains("lit")), [true, false]);
  assert.match(el.querySelector(".acw-cited").textContent, /1 of 2 entries belong to chapter 02/);
  el.querySelector(".acw-controls button").click();
  await tick();
  assert.equal(seen().length, 4);
});

test("a row opens and closes, and closes when it is filtered away", async () => {
  const { el, model, choose } = show();
  const button = el.querySelectorAll("tbody button")[0];
  button.click();
  await tick();
  assert.equal(model.get("opened"), "01-01");
  assert.equal(button.getAttribute("aria-expanded"), "true");
  assert.match(el.querySelector(".acw-open").textContent, /it waits/);
  await choose(1, "wrong");
  assert.equal(el.querySelector(".acw-open"), null);
  await choose(1, "");
  button.click();
  await tick();
  assert.equal(el.querySelector(".acw-open"), null);
});

test("words typed filter, and an entry that has the focus is cited", async () => {
  const { window, el, seen } = show();
  const input = el.querySelector("input");
  input.value = "preprint";
  input.dispatchEvent(new window.Event("input"));
  await tick();
  assert.equal(seen().length, 1);
  el.querySelectorAll("ol button")[1].dispatchEvent(new window.Event("focus"));
  assert.match(el.querySelector(".acw-cited").textContent, /Vaswani/);
});

test("without a timeline none is drawn, and nothing is left behind", () => {
  const { el, stop } = show({ timeline: [] });
  assert.ok(el.querySelector(".acw-time").hidden);
  stop();
  assert.equal(el.children.length, 0);
});
