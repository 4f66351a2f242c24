// What the stepper shows: a plane with states, query and context, and the same in words.
import { decimal } from "../numbers.js";
import { escape, mark } from "../shared.js";
import { STAGES } from "./look_stepper_walk.js";

const SUBSCRIPTS = "₀₁₂₃₄₅₆";

/** A name with a small number, as s₁. */
export const named = (letter, number) => letter + SUBSCRIPTS[number];

/** A vector as (0.10, 1.00). */
export const pair = (vector) => `(${vector.map((x) => decimal(x)).join(", ")})`;

/** What the last stage did, in a sentence. */
export function sentence({ words, factor }, seen) {
  const [asks, context, next] = [named("s", seen.number - 1), named("c", seen.number), named("s", seen.number)];
  const [source, wrote] = words[seen.best];
  return [
    `${named("s", 0)} is the decoder's first state. It asks; the next three stages answer.`,
    `Word ${seen.number}, scores: ${asks} asks each state by a dot product, times ${factor}.`,
    `Word ${seen.number}, weights: the softmax of the scores. “${source}” gets ${decimal(seen.weights[seen.best])}.`,
    `Word ${seen.number}, context: ${context} = ${pair(seen.context)}, the states' average with these weights.`,
    `Word ${seen.number}, next state: ${next} = ${pair(seen.state)}. Written: “${wrote}”.`,
  ][seen.shown];
}

const [SIZE, UNIT] = [300, 112];
const at = ([x, y]) => [SIZE / 2 + UNIT * x, SIZE / 2 - UNIT * y];
const text = ([x, y], inside, more = {}) => mark("text", { x, y, "text-anchor": "middle", ...more }, escape(inside));

function arrow(vector, name, kind) {
  const [[x0, y0], [x, y]] = [at([0, 0]), at(vector)];
  const long = Math.hypot(x - x0, y - y0) || 1;
  const [dx, dy] = [(x - x0) / long, (y - y0) / long];
  const head = [[x, y], [x - 9 * dx + 4 * dy, y - 9 * dy - 4 * dx], [x - 9 * dx - 4 * dy, y - 9 * dy + 4 * dx]];
  return (
    mark("line", { x1: x0, y1: y0, x2: x, y2: y, class: kind }) +
    mark("polygon", { points: head.map((point) => point.map((p) => p.toFixed(1)).join(",")).join(" "), class: kind }) +
    text([x0 + (x - x0) * 0.55 - 14 * dy, y0 + (y - y0) * 0.55 + 14 * dx + 4], name, { class: `${kind} strong` })
  );
}

/** The plane: states as circles that grow with their weight, the query, then context and next state. */
export function plane({ words, states }, seen) {
  const drawn = [mark("circle", { cx: SIZE / 2, cy: SIZE / 2, r: 2.5, class: "origin" })];
  const context = at(seen.context);
  states.forEach((h, i) => {
    const [x, y] = at(h);
    if (seen.shown >= 3)
      drawn.push(mark("line", { x1: x, y1: y, x2: context[0], y2: context[1], class: "pull", "stroke-width": 0.5 + 7 * seen.weights[i] }));
    drawn.push(mark("circle", { cx: x, cy: y, r: seen.shown >= 2 ? 4 + 12 * Math.sqrt(seen.weights[i]) : 7, class: "key" }));
    drawn.push(text([x, y + (y > SIZE / 2 ? 32 : -22)], words[i][0]));
  });
  drawn.push(arrow(seen.query, named("s", seen.number - 1), "query"));
  if (seen.shown >= 3) {
    const [x, y] = context;
    drawn.push(mark("rect", { x: x - 6, y: y - 6, width: 12, height: 12, transform: `rotate(45 ${x.toFixed(1)} ${y.toFixed(1)})`, class: "context" }));
    drawn.push(text([x + 18, y + 4], named("c", seen.number), { class: "context strong" }));
  }
  if (seen.shown >= STAGES.length) drawn.push(arrow(seen.state, named("s", seen.number), "next"));
  return drawn.join("");
}

/** The two formulas with their numbers, each empty until its stage. */
export function formulas({ states }, seen) {
  const sum = states.map((h, i) => `${decimal(seen.weights[i])} ${pair(h)}`).join(" + ");
  const [asks, context, next] = [named("s", seen.number - 1), named("c", seen.number), named("s", seen.number)];
  return [
    seen.shown >= 3 ? `${context} = ${sum} = ${pair(seen.context)}` : `${context} = …`,
    seen.shown >= 4 ? `${next} = tanh(${context} W_c + ${asks} W_s) = ${pair(seen.state)}` : `${next} = …`,
  ];
}
