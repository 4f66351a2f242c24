// A guess before the measurement: a number, a choice, an order, or a curve drawn by hand; then both, side by side.
import { button, depict, div, make, mark, note, picture, shell, spoken, uniqueId, widget } from "../shared.js";
import { label, path, rule, tick } from "../plot.js";
import { placeOf, sentence, shown, valueAt } from "./guess_card_scale.js";

const WIDE = 480;
const [LEFT, RIGHT, TOP, BOTTOM] = [56, 468, 26, 182]; // of a curve's axes

export default widget(["given", "truth", "ran"], ({ model, write }) => {
  const question = model.get("question");
  const give = (given) => write({ given });
  const field = { number, choice: options, order, curve }[question.kind](question, give);
  const said = spoken("acw-said");
  const result = div("acw-result");
  const again = button("Guess again", () => write({ given: null }));
  const root = shell("guess", "Your guess", make("p", { className: "acw-title", textContent: question.asks }), field.root, result, said, again);

  function update() {
    const [given, truth, ran] = ["given", "truth", "ran"].map((name) => model.get(name));
    const open = given === null || given === undefined;
    field.root.hidden = !open;
    again.hidden = open || ran;
    result.replaceChildren(...(open ? [] : compared(question, given, ran ? truth : null)));
    said.textContent = open ? "" : ran ? sentence(question, given, truth) : "Kept. Now run the next cell.";
    if (open && said.dataset.asked) field.focus();
    said.dataset.asked = "yes";
  }
  return { root, update };
});

function number(question, give) {
  const id = uniqueId();
  const { low, high, unit } = question;
  const slide = make("input", { type: "range", min: 0, max: 200, value: 100, "aria-label": question.asks });
  const typed = make("input", { id, type: "text", inputMode: "decimal", size: 9, autocomplete: "off" });
  const problem = spoken("acw-note");
  slide.addEventListener("input", () => (typed.value = String(valueAt(question, slide.value / 200))));
  const done = () => {
    const text = typed.value.trim().replaceAll(",", "").replace(/%$/, "");
    const value = Number(text);
    if (text === "" || !Number.isFinite(value)) problem.textContent = "Move the slider or type a number.";
    else give(value);
  };
  for (const input of [slide, typed]) input.addEventListener("keydown", (event) => event.key === "Enter" && done());
  typed.addEventListener("input", () => {
    problem.textContent = "";
    if (typed.value.trim() && Number.isFinite(+typed.value)) slide.value = 200 * placeOf(question, +typed.value);
  });
  const root = div("acw-number",
    div("acw-slide", make("span", { textContent: shown(low) }), slide, make("span", { textContent: shown(high) })),
    div("acw-typed", make("label", { for: id, textContent: "Your guess" }), typed, make("span", { textContent: unit }), button("Guess", done)),
    problem,
  );
  return { root, focus: () => typed.focus() };
}

/** Keys 1, 2, ... press the buttons in their order. */
function byNumber(root, buttons) {
  root.addEventListener("keydown", (event) => {
    const chosen = buttons[Number(event.key) - 1];
    if (!chosen || chosen.disabled) return;
    event.preventDefault();
    chosen.click();
  });
}

function options(question, give) {
  const buttons = question.words.map((words, i) => {
    const one = button("", () => give(words));
    one.append(make("kbd", { textContent: String(i + 1), "aria-hidden": "true" }), ` ${words}`);
    return one;
  });
  const root = div("acw-options", ...buttons);
  byNumber(root, buttons);
  return { root, focus: () => buttons[0].focus() };
}

function order(question, give) {
  let chosen = [];
  const place = new Map();
  const buttons = question.words.map((words) => {
    const sign = make("kbd", { textContent: "–", "aria-hidden": "true" });
    const one = button("", () => {
      chosen.push(words);
      show();
      if (chosen.length === question.words.length) give(chosen);
      else buttons.find((other) => !other.disabled).focus();
    });
    one.append(sign, ` ${words}`);
    place.set(words, { one, sign });
    return one;
  });
  const says = spoken("acw-note");
  const over = button("Start over", () => {
    chosen = [];
    show();
  });
  function show() {
    for (const [words, { one, sign }] of place) {
      const at = chosen.indexOf(words);
      one.disabled = at >= 0;
      sign.textContent = at < 0 ? "–" : `${at + 1}.`;
    }
    says.textContent = chosen.length ? `So far: ${chosen.join(", ")}.` : question.first;
    over.hidden = !chosen.length;
  }
  show();
  const root = div("acw-options", ...buttons, over, says);
  byNumber(root, buttons);
  const focus = () => {
    chosen = [];
    show();
    buttons[0].focus();
  };
  return { root, focus };
}

const across = (question, i) => LEFT + 14 + (i * (RIGHT - LEFT - 28)) / (question.x.length - 1);
const up = (question, value) => BOTTOM - placeOf(question, value) * (BOTTOM - TOP);

function axes(question) {
  const middle = valueAt(question, 0.5);
  const { low, high, unit } = question;
  const rules = [low, middle, high].map((value) => rule(LEFT, up(question, value), RIGHT, up(question, value), "grid"));
  const values = [low, middle, high].map((value) => tick(LEFT - 6, up(question, value) + 4, shown(value), "end"));
  const places = question.x.map((x, i) => tick(across(question, i), BOTTOM + 16, shown(x)));
  return [
    ...rules, ...values, ...places,
    rule(LEFT, BOTTOM, RIGHT, BOTTOM, "axis"),
    label((LEFT + RIGHT) / 2, BOTTOM + 33, question.across, { "text-anchor": "middle" }),
    unit ? label(LEFT, TOP - 10, unit, { class: "muted" }) : "",
  ].join("");
}

const points = (question, values) => values.map((value, i) => [across(question, i), up(question, value)]);

function curve(question, give) {
  const count = question.x.length;
  const places = Array.from({ length: count }, () => 0.5);
  let touched = false;
  const problem = spoken("acw-note");
  const ground = picture(`0 0 ${WIDE} ${BOTTOM + 40}`);
  const grips = places.map((_, i) =>
    make("div", {
      className: "acw-grip", tabIndex: 0, role: "slider", "aria-label": `${question.across} ${shown(question.x[i])}`,
      "aria-valuemin": "0", "aria-valuemax": "100", "aria-orientation": "vertical", onkeydown: (event) => key(event, i),
    }),
  );
  const board = div("acw-board", ground, ...grips);
  function show() {
    const values = places.map((place) => valueAt(question, place));
    depict(ground, `Your curve: ${values.map((y, i) => `${shown(question.x[i])}: ${shown(y)}`).join(", ")}`,
      axes(question) + mark("path", { d: path(points(question, values)), class: touched ? "guess" : "guess still" }));
    grips.forEach((grip, i) => {
      grip.style.left = `${(100 * across(question, i)) / WIDE}%`;
      grip.style.top = `${(100 * (BOTTOM - places[i] * (BOTTOM - TOP))) / (BOTTOM + 40)}%`;
      grip.setAttribute("aria-valuenow", String(Math.round(100 * places[i])));
      grip.setAttribute("aria-valuetext", shown(values[i]));
    });
  }
  function set(i, place) {
    places[i] = Math.min(1, Math.max(0, place));
    touched = true;
    problem.textContent = "";
    show();
  }
  function key(event, i) {
    const step = { ArrowUp: 0.05, ArrowDown: -0.05, PageUp: 0.2, PageDown: -0.2 }[event.key];
    const next = { ArrowRight: i + 1, ArrowLeft: i - 1 }[event.key];
    if (step) set(i, places[i] + step);
    else if (next !== undefined) grips[Math.min(count - 1, Math.max(0, next))].focus();
    else if (/^\d$/.test(event.key)) {
      set(i, event.key / 9);
      grips[Math.min(count - 1, i + 1)].focus();
    } else if (event.key === "Enter") done();
    else return;
    event.preventDefault();
  }
  function drawn(event) {
    const box = ground.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDE;
    const y = ((event.clientY - box.top) / box.height) * (BOTTOM + 40);
    const i = Math.round(((x - LEFT - 14) / (RIGHT - LEFT - 28)) * (count - 1));
    set(Math.min(count - 1, Math.max(0, i)), (BOTTOM - y) / (BOTTOM - TOP));
  }
  let held = false;
  board.addEventListener("pointerdown", (event) => {
    held = true;
    board.setPointerCapture?.(event.pointerId);
    drawn(event);
  });
  board.addEventListener("pointermove", (event) => held && drawn(event));
  for (const end of ["pointerup", "pointercancel"]) board.addEventListener(end, () => (held = false));
  const done = () => {
    if (touched) give(places.map((place) => valueAt(question, place)));
    else problem.textContent = "Draw the curve first.";
  };
  show();
  const how = note("Draw it, or type a digit from 0 (bottom) to 9 (top) for each place.");
  return { root: div("acw-curve", board, how, button("Guess", done), problem), focus: () => grips[0].focus() };
}

/** The guess, beside what was measured if that is known. */
function compared(question, given, truth) {
  if (question.kind === "curve") return [bothCurves(question, given, truth)];
  if (question.kind === "number") return [bothNumbers(question, given, truth)];
  if (question.kind === "order") {
    const list = (words, all) => div("", make("p", { className: "acw-note", textContent: words }), make("ol", {}, ...all.map((textContent) => make("li", { textContent }))));
    return [div("acw-lists", list("Your order", given), ...(truth ? [list("Measured", truth)] : []))];
  }
  return [make("ul", {}, ...question.words.map((words) => {
    const signs = [words === given ? "your guess" : "", truth !== null && words === truth ? "right" : ""].filter(Boolean);
    return make("li", { className: words === truth ? "right" : "", textContent: signs.length ? `${words} (${signs.join(", ")})` : words });
  }))];
}

function bothNumbers(question, given, truth) {
  const at = (value) => 20 + placeOf(question, value) * (WIDE - 40);
  const anchor = (value) => (placeOf(question, value) < 0.15 ? "start" : placeOf(question, value) > 0.85 ? "end" : "middle");
  const drawing = picture(`0 0 ${WIDE} 84`);
  const sign = (value, y, words, name) => {
    const turned = name === "guess" ? `M${at(value)} 30l-6 -9h12z` : `M${at(value)} 36l-6 9h12z`;
    return mark("path", { d: turned, class: name }) + label(at(value), y, words, { "text-anchor": anchor(value), class: name });
  };
  const inside = rule(20, 33, WIDE - 20, 33, "axis") + tick(20, 80, shown(question.low), "start") +
    tick(WIDE - 20, 80, shown(question.high), "end") + sign(given, 14, `your guess ${shown(given)}`, "guess") +
    (truth === null ? "" : sign(truth, 58, `measured ${shown(truth)}`, "truth"));
  depict(drawing, truth === null ? `Your guess: ${shown(given)}` : sentence(question, given, truth), inside);
  return drawing;
}

function bothCurves(question, given, truth) {
  const drawing = picture(`0 0 ${WIDE} ${BOTTOM + 40}`);
  const line = (values, name) => mark("path", { d: path(points(question, values)), class: name });
  const name = (values, words, kind, dy) =>
    label(RIGHT, up(question, values.at(-1)) + dy, words, { class: kind, "text-anchor": "end" });
  const higher = truth !== null && placeOf(question, given.at(-1)) >= placeOf(question, truth.at(-1));
  const inside = axes(question) + line(given, "guess") + name(given, "your guess", "guess", higher || truth === null ? -7 : 16) +
    (truth === null ? "" : line(truth, "truth") + name(truth, "measured", "truth", higher ? 16 : -7));
  const list = (values) => values.map((y, i) => `${shown(question.x[i])}: ${shown(y)}`).join(", ");
  depict(drawing, `Your guess: ${list(given)}.${truth === null ? "" : ` Measured: ${list(truth)}.`}`, inside);
  return drawing;
}
