// The explorer's calls, counts and long run are Python's; its bars always sum to 100; its words; steps and runs.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { mulberry32 } from "../../../course_utils/widgets/numbers.js";
import widget from "../../../course_utils/widgets/speculation_explorer/speculation_explorer.js";
import * as numbers from "../../../course_utils/widgets/speculation_explorer/speculation_explorer_numbers.js";
import * as picture from "../../../course_utils/widgets/speculation_explorer/speculation_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("speculation_explorer/speculation_explorer_cases.json");
const first = { ...cases.rounds[0].state, rounds: 0, stage: 0 };
const total = (weights) => weights.reduce((a, b) => a + b, 0);

keepsHouse("speculation_explorer", widget, first);

test("every call drafts, accepts and draws what Python does", () => {
  for (const { state, calls } of cases.rounds)
    calls.forEach((wanted, number) => {
      const { drafted, accepted, events } = numbers.round(state, number);
      assert.deepEqual([drafted, accepted, events.at(-1).token], wanted);
    });
});

test("the counts and what they come to are Python's", () => {
  for (const { state, count, tally, longRun } of cases.rounds) {
    assert.deepEqual(numbers.tally(state, count), tally);
    const { alpha, perCall, shares } = numbers.longRun(state);
    near([alpha, perCall, shares], [longRun.alpha, longRun.perCall, longRun.shares]);
  }
});

test("tokens per call are (1 - α^(γ+1)) / (1 - α), and the law is the target's", () => {
  for (const { state } of cases.rounds) {
    const { alpha, perCall, shares } = numbers.longRun(state);
    near(perCall, alpha === 1 ? state.gamma + 1 : (1 - alpha ** (state.gamma + 1)) / (1 - alpha));
    near(total(shares), 1);
    if (!state.from_target) near(numbers.distance(shares, state.target), 0);
  }
  assert.ok(numbers.distance(numbers.longRun({ ...first, from_target: true }).shares, first.target) > 0.1);
});

test("a bar that is moved takes from the others, or gives to them, and all sum to 100", () => {
  for (const [weights, index, height, made] of cases.moved) assert.deepEqual(numbers.moved(weights, index, height), made);
  let weights = first.target;
  for (let n = 0; n < 500; n++) {
    const height = Math.floor(140 * mulberry32(3, n)) - 20;
    weights = numbers.moved(weights, n % 8, height);
    assert.equal(weights[n % 8], Math.max(0, Math.min(100, height)));
    assert.equal(total(weights), 100);
    assert.ok(weights.every((x) => Number.isInteger(x) && x >= 0));
  }
});

test("a token of probability 0 is never met", () => {
  for (const [weights, u, token] of [[[0, 3, 0, 1], 0, 1], [[0, 3, 0, 1], 0.75, 3], [[0, 3, 0, 0], 0.999999, 1]])
    assert.equal(numbers.pick(weights, u), token);
});

test("a call goes event by event, and is over after the last", () => {
  const { events } = numbers.round(first, 7);
  for (let stage = 0; stage <= numbers.WHOLE; stage++) {
    const { shown, over } = numbers.progress({ ...first, rounds: 7, stage });
    assert.ok(shown <= stage);
    assert.equal(over, shown === events.length ? 8 : 7);
  }
  assert.equal(events.at(-1).kind, "last");
});

/** The first call of the default settings that was refused at a place, or nowhere. */
const callThat = (accepts) => {
  for (let rounds = 0; ; rounds++) if (numbers.round(first, rounds).accepted === accepts) return rounds;
};

test("the words say what happened, and what each place holds", () => {
  const at = (rounds, stage) => {
    const now = numbers.progress({ ...first, rounds, stage });
    return [picture.sentence({ ...first, rounds }, now), picture.places(now)];
  };
  assert.deepEqual(at(0, 0), ["4 tokens drafted at a time. Step looks at the first one.", ["?", "?", "?", "?", "?"]]);
  const [refused, through] = [callThat(1), callThat(4)];
  const { drafted, events } = numbers.round(first, refused);
  const [one, two, , four] = drafted.map((token) => numbers.TOKENS[token]);
  assert.match(at(refused, 1)[0], new RegExp(`^Call ${refused + 1}, place 1 of 4: the draft says ${one}\\. .* is below it: accepted\\.$`));
  assert.match(at(refused, 2)[0], /is not below it: refused\.$/);
  assert.deepEqual(at(refused, 2)[1].slice(0, 2), [`${one} ✓`, `${two} ✗`]);
  assert.deepEqual(at(refused, 2)[1].slice(3), [`${four} –`, "?"]);
  const last = numbers.TOKENS[events.at(-1).token];
  assert.match(at(refused, 7)[0], new RegExp(`refused at place 2: one more token, from the residual, is ${last}\\. The call wrote 2 tokens: ${one}, ${last}\\.$`));
  assert.equal(at(refused, 7)[1][4], `${last} new`);
  assert.match(at(through, 7)[0], /, all accepted: one more token, from p, is .\. The call wrote 5 tokens:/);
  assert.match(at(callThat(0), 7)[0], /The call wrote 1 token: .\.$/);
});

test("the lines have a part for each weight, and say no number that is not one", () => {
  const { events } = numbers.round(first, callThat(1));
  assert.match(picture.drawRatio(events[0]), /p\/q = .*u = 0\.\d{3}/);
  assert.match(picture.drawRatio({ ratio: 7, u: 0.99 }), /7\.00, above the line/);
  assert.equal(picture.drawSum(events.at(-1)).match(/class="(met|other)"/g).length, 3);
  for (const drawn of [picture.drawRatio(), picture.drawSum()]) assert.match(drawn, /<rect/);
  assert.doesNotMatch(picture.drawSum(events.at(-1)) + picture.drawRatio(events[0]), /NaN|undefined/);
});

test("the counters stand beside the long run", () => {
  const none = picture.counters(first, 0);
  assert.equal(none.shares, null);
  assert.deepEqual(none.rows.map((row) => row[1]), ["–", "–", "–"]);
  const { rows, shares } = picture.counters(first, 4000);
  assert.equal(rows[0][2], "Σ min(p, q) = 0.64");
  near([rows[0][1], rows[1][1], rows[2][1]], [0.64, rows[1][2], 0], 0.05);
  assert.equal(rows[2][2], "0.000");
  near(total(shares), 1);
});

test("before the first call there is nothing to see, with two bars to a token", () => {
  const { all, said, text, texts } = show(widget, first);
  assert.deepEqual([all(".token").length, all(".token input").length], [8, 16]);
  assert.match(said(), /^4 tokens drafted/);
  assert.equal(text("th"), "after 0 calls");
  assert.deepEqual(texts("li"), ["?", "?", "?", "?", "?"]);
});

test("steps lead through a call and into the next", async () => {
  const { click, said, text, traitsOf } = show(widget, first);
  const sentences = [];
  while (traitsOf("rounds")[0] === 0) {
    await click("Step");
    sentences.push(said());
  }
  assert.match(sentences[0], /^Call 1, place 1 of 4/);
  assert.match(sentences.at(-2), /The call wrote/);
  assert.match(sentences.at(-1), /^Call 2, place 1 of 4/);
  assert.equal(text("th"), "after 1 call");
});

test("a thousand calls fill the counters; the last one stays in view, and there is an end", async () => {
  const { button, click, set, said, text, traitsOf } = show(widget, first);
  await click("Run 1000");
  assert.equal(text("th"), "after 1000 calls");
  assert.match(said(), /^Call 1000, .* The call wrote/);
  assert.match(text(".came + .number, .track + .number"), /^\d+\.\d%$/);
  await click("Step");
  assert.match(said(), /^Call 1001, place 1/);
  await click("Run 1000");
  assert.equal(text("th"), "after 2000 calls");
  await click("Begin again");
  assert.deepEqual([...traitsOf("seed", "rounds"), text("th")], [1, 0, "after 1 call"]);
  const off = () => ["Run 1000", "Step"].map((name) => button(name).disabled);
  await set({ rounds: 19500 });
  assert.deepEqual(off(), [true, false]);
  await set({ rounds: 19999, stage: 7 });
  assert.deepEqual(off(), [true, true]);
});

test("a bar takes from the others of its own distribution", async () => {
  const { one, put, traitsOf } = show(widget, first);
  const bar = (token) => one(`[aria-label="draft q of ${token}"]`);
  await put(bar("d"), 54);
  const [draft, target] = traitsOf("draft", "target");
  assert.deepEqual([draft[3], total(draft)], [54, 100]);
  assert.deepEqual(target, first.target);
  assert.equal(bar("d").getAttribute("aria-valuetext"), "54%");
  assert.equal(bar("a").value, `${draft[0]}`);
});

test("the other source and γ change what the same calls wrote", async () => {
  const { put, rows, text, traitsOf } = show(widget, { ...first, rounds: 999, stage: 7 });
  assert.equal(rows()[2][2], "0.000");
  await put("draw from p instead of the residual", true);
  assert.ok(rows()[2][1] > 0.1 && rows()[2][2] > 0.1);
  await put("guesses per call γ", 1);
  assert.deepEqual(traitsOf("from_target", "gamma"), [true, 1]);
  assert.equal(text("th"), "after 1000 calls");
  assert.equal(rows()[1][2], "1.640");
});

test("back undoes steps, over the call's beginning, and stops before the first", async () => {
  const { button, click, traitsOf, text } = show(widget, { ...first, rounds: 1, stage: 1 });
  await click("Back");
  assert.deepEqual([...traitsOf("rounds"), text("th")], [0, "after 1 call"]);
  for (let i = 0; i < 7; i++) await click("Back");
  assert.deepEqual(traitsOf("rounds", "stage"), [0, 0]);
  assert.ok(button("Back").disabled);
});

test("play goes from call to call until it is paused", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { click, traitsOf } = show(widget, { ...first, stage: 7 });
    await click("Play");
    for (let i = 0; i < 4; i++) mock.timers.tick(1400);
    await click("Pause");
    const at = traitsOf("rounds", "stage");
    assert.ok(at[0] >= 1);
    mock.timers.tick(9000);
    assert.deepEqual(traitsOf("rounds", "stage"), at);
  } finally {
    mock.timers.reset();
  }
});

test("a draft like the target ticks the task", async () => {
  const { set, text } = show(widget, first);
  assert.match(text(".acw-task"), /^○/);
  await set({ draft: first.target });
  assert.match(text(".acw-task"), /^✓/);
});
