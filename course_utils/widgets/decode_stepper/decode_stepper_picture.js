// The decode stepper in words, and its bars: what each step so far has cost.
import { runsOf } from "../numbers.js";
import { inBytes, inFlop } from "../units.js";
import { rule, tick } from "../plot.js";
import { mark, several } from "../shared.js";
import { operations, stateAt, steps } from "./decode_stepper_steps.js";

const list = (first, last) => (last - first === 1 ? `Position ${first} is` : `Positions ${first} to ${last - 1} are`);

/** What this step does, in words. */
export function sentence(kind, sizes, count) {
  const at = stateAt(kind, sizes, count);
  if (!at.count) return `Before the first step: ${several(sizes.prompt, "token")} of the prompt are known, nothing is kept.`;
  const work = `${list(at.first, at.last)} fed: ${inFlop(at.step.flops)}`;
  const instead = kind === "none" || at.once.flops === at.step.flops ? "" : `; with nothing kept, ${inFlop(at.once.flops)}`;
  const next = at.last < sizes.prompt ? "more of the prompt follows" : `position ${at.last} is predicted`;
  const gone = at.dropped.length ? ` ${several(at.dropped.length, "older position makes", "older positions make")} room.` : "";
  return `Step ${at.count} of ${at.of}. ${work}${instead}. Then ${next}.${gone}`;
}

/** What the cache holds, in words. */
export function contents(kind, sizes, count) {
  const { held, kept, bytes, reserved } = stateAt(kind, sizes, count);
  if (kind === "none") return "Cache of each layer: none. Keys and values are thrown away after each step.";
  const runs = runsOf([...kept].sort((a, b) => a - b));
  const which = runs.map(([a, b]) => (a === b ? a : `${a} to ${b}`)).join(" and ") || "nothing yet";
  return `Cache of each layer: ${kept.length} of ${held.length} slots, holding ${which}. ${inBytes(bytes)} of ${inBytes(reserved)} in all layers.`;
}

/** The rows of the table. */
export function rows(kind, sizes, count) {
  const { step, all, again, added, bytes } = stateAt(kind, sizes, count);
  return [
    ["tokens fed", step.tokens, all.tokens, again.tokens],
    ["operations", inFlop(step.flops), inFlop(all.flops), inFlop(again.flops)],
    ["kept", `+${inBytes(added)}`, inBytes(bytes), "0 B"],
  ];
}

export const BARS = { wide: 560, high: 138, left: 2, right: 558, top: 4, bottom: 100 };

const again = (kind, sizes, step) => operations(kind, sizes, { ...step, first: 0 });
const highest = (kind, sizes) => Math.max(...steps(kind, sizes).map((step) => again(kind, sizes, step)));

/** Operations of every step so far as bars, and behind each what it would cost with nothing kept. */
export function drawBars(kind, sizes, count) {
  const { left, right, top, bottom } = BARS;
  const all = steps(kind, sizes);
  const most = highest(kind, sizes);
  const width = (right - left) / all.length;
  const tall = (flops) => Math.max(1.5, (flops / most) * (bottom - top));
  const bar = (i, flops, name) => {
    const height = tall(flops);
    return mark("rect", { x: left + i * width + 1, y: bottom - height, width: width - 2, height, class: name });
  };
  const parts = [
    rule(left, bottom, right, bottom, "axis"),
    tick(left, bottom + 32, "prompt", "start"),
    tick(right, bottom + 32, "one token per step →", "end"),
  ];
  all.slice(0, count).forEach((step, i) => {
    if (kind !== "none" && step.last > sizes.prompt) parts.push(bar(i, again(kind, sizes, step), "again"));
    parts.push(bar(i, operations(kind, sizes, step), i === count - 1 ? "spent now" : "spent"));
  });
  if (count) parts.push(mark("path", { d: `M${(left + (count - 0.5) * width).toFixed(1)} ${bottom + 4}l5 9h-10z`, class: "here" }));
  return parts.join("");
}

/** The legend of the bars. */
export function barWords(kind, sizes) {
  const most = inFlop(highest(kind, sizes));
  const which = kind === "none" ? "everything is computed again" : "solid, with this cache; dashed, the same model without";
  return `Operations of each step, up to ${most}: ${which}`;
}
