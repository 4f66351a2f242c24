// The card of a guess: each kind by mouse and by keys, and what it says when the answer is known.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/guess_card/guess_card.js";
import { apart, inverted, placeOf, sentence, shown, valueAt } from "../../../course_utils/widgets/guess_card/guess_card_scale.js";
import { keepsHouse, near, show } from "../dom.mjs";

const BASE = { name: "03.x", asks: "How many?", low: 1, high: 1000, log: true, unit: "", across: "n", words: [], x: [], first: "" };
const NUMBER = { ...BASE, kind: "number" };
const CHOICE = { ...BASE, kind: "choice", words: ["CNN", "ViT", "SVM"] };
const ORDER = { ...CHOICE, kind: "order", first: "Smallest first." };
const CURVE = { ...BASE, kind: "curve", low: 0, high: 1, log: false, x: [1, 2, 4], across: "tokens" };

const card = (question, truth, more = {}) => show(widget, { question, truth, given: null, ran: false, ...more });

keepsHouse("guess_card", widget, { question: NUMBER, truth: 64, given: null, ran: false });

test("a place on the scale and its value are each other's inverse", () => {
  for (const scale of [NUMBER, CURVE]) {
    for (const place of [0, 0.25, 0.9, 1]) near(placeOf(scale, valueAt(scale, place)), place, 5e-3);
  }
  assert.equal(placeOf(NUMBER, 1e9), 1);
  assert.deepEqual([1234567, 12.3456, 0.5].map(shown), ["1,234,567", "12.3", "0.500"]);
});

test("words say how far a guess was off in the unit of the matter", () => {
  assert.equal(sentence(NUMBER, 500, 50), "You guessed 500. It is 50.0: too high by a factor of 10.0.");
  assert.equal(sentence({ ...NUMBER, log: false, unit: "%" }, 20, 50), "You guessed 20.0%. It is 50.0%: 30.0% too low.");
  assert.equal(sentence({ ...NUMBER, unit: "ms" }, 50, 50), "You guessed 50.0 ms. It is 50.0 ms.");
  assert.equal(sentence(CHOICE, "ViT", "CNN"), "You guessed “ViT”. It is “CNN”.");
  assert.equal(sentence(ORDER, ["a", "b"], ["a", "b"]), "You guessed the order.");
  assert.equal(sentence(ORDER, ["c", "b", "a"], ["a", "b", "c"]), "3 of 3 pairs the wrong way round.");
  assert.equal(sentence(CURVE, [0, 0.5, 1], [0.3, 0.5, 1]), "On average 10% of the axis away from what was measured.");
  assert.equal(inverted(["b", "a", "c"], ["a", "b", "c"]), 1);
  near(apart(CURVE, [0, 0, 0], [0, 0, 0.3]), 0.1);
});

test("a number is typed, given with Enter, and waits for the cell", async () => {
  const { model, one, press, said, set, text } = card(NUMBER, 64);
  const typed = one("input[type=text]");
  typed.value = "a lot";
  await press(typed, "Enter");
  assert.equal(model.get("given"), null);
  assert.match(text(".acw-number"), /type a number/);
  typed.value = "2,000";
  await press(typed, "Enter");
  assert.equal(model.get("given"), 2000);
  assert.match(said(), /run the next cell/);
  assert.doesNotMatch(text(".acw-guess"), /64/);
  await set({ ran: true });
  assert.match(said(), /too high by a factor of 31.3/);
});

test("the slider fills in the number", async () => {
  const { click, model, one, put } = card(NUMBER, 64);
  await put(one("input[type=range]"), 200);
  await click("Guess");
  assert.equal(model.get("given"), 1000);
});

test("a guess can be given again until the answer is shown", async () => {
  const { button, click, model, one, press, set, texts } = card(CHOICE, "CNN");
  await click("2 ViT");
  assert.equal(model.get("given"), "ViT");
  await click("Guess again");
  assert.equal(model.get("given"), null);
  await press(one(".acw-options"), "3");
  await set({ ran: true });
  assert.equal(model.get("given"), "SVM");
  assert.ok(button("Guess again").hidden);
  assert.deepEqual(texts(".acw-result li"), ["CNN (right)", "ViT", "SVM (your guess)"]);
});

test("an order is given one by one, and can be begun anew", async () => {
  const { click, model, one, press, said, set, text } = card(ORDER, ["SVM", "CNN", "ViT"]);
  await press(one(".acw-options"), "2");
  assert.match(text(".acw-options"), /So far: ViT/);
  await click("Start over");
  for (const key of ["3", "1", "2"]) await press(one(".acw-options"), key);
  await set({ ran: true });
  assert.deepEqual(model.get("given"), ["SVM", "CNN", "ViT"]);
  assert.equal(said(), "You guessed the order.");
});

test("a curve is typed by digits and given with Enter", async () => {
  const { all, model, one, press, set, text } = card(CURVE, [0, 0.5, 1]);
  const grips = all(".acw-grip");
  await press(grips[0], "Enter");
  assert.match(text(".acw-curve"), /Draw the curve first/);
  await press(grips[0], "9");
  await press(grips[1], "0");
  await press(grips[2], "ArrowUp");
  await press(grips[2], "Enter");
  await set({ ran: true });
  assert.deepEqual(model.get("given"), [1, 0, 0.55]);
  const drawing = one(".acw-result svg");
  assert.match(drawing.getAttribute("aria-label"), /Your guess: 1.00: 1.00, .* Measured:/);
  assert.equal(drawing.querySelectorAll("path.guess, path.truth").length, 2);
});
