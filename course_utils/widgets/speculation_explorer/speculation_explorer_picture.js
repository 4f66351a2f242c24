// The explorer's words, and its two lines from 0 to 1: a ratio, and a cumulative sum.
import { mark } from "../shared.js";
import { TOKENS, longRun, distance, tally } from "./speculation_explorer_numbers.js";

export const LINE = { wide: 340, high: 54 };
const [LEFT, RIGHT, TOP, DEEP] = [8, 332, 20, 16];
const along = (x) => LEFT + x * (RIGHT - LEFT);

export const fixed = (x, digits = 2) => x.toFixed(digits);
export const percent = (x) => `${fixed(100 * x, 1)}%`;
const named = (tokens) => tokens.map((token) => TOKENS[token]).join(", ");

/** A bar from one place of the line to another. */
const part = (from, to, className) =>
  mark("rect", { x: along(from), y: TOP, width: Math.max(0, along(to) - along(from)), height: DEEP, class: className });
const words = (x, y, text, anchor = "middle", className = "") =>
  mark("text", { x, y, "text-anchor": anchor, class: className }, text);
const frame = () => mark("rect", { x: LEFT, y: TOP, width: RIGHT - LEFT, height: DEEP, class: "frame" });

/** Where a uniform number stands. */
function pointer(u) {
  const x = along(u);
  const anchor = u < 0.15 ? "start" : u > 0.85 ? "end" : "middle";
  return (
    mark("line", { x1: x, x2: x, y1: TOP - 5, y2: TOP + DEEP + 2, class: "needle" }) +
    words(Math.min(Math.max(x, LEFT), RIGHT), TOP - 8, `u = ${fixed(u, 3)}`, anchor)
  );
}

/** The ratio of a drafted token on a line from 0 to 1: below it the token stays. */
export function drawRatio(event) {
  const ends = words(LEFT, LINE.high - 4, "0", "middle", "muted") + words(RIGHT, LINE.high - 4, "1", "middle", "muted");
  if (!event) return frame() + ends;
  const end = Math.min(1, event.ratio);
  const said = event.ratio < 1 ? fixed(event.ratio) : `${fixed(event.ratio)}, above the line`;
  const place = Math.min(0.72, Math.max(0.2, end));
  return part(0, end, "stays") + frame() + ends + words(along(place), LINE.high - 4, `p/q = ${said}`) + pointer(event.u);
}

/** Weights side by side, as shares of their sum: the token that the uniform meets is written. */
export function drawSum(event) {
  if (!event) return frame();
  const total = event.weights.reduce((sum, x) => sum + x, 0);
  let from = 0;
  const parts = event.weights.map((weight, i) => {
    const to = from + weight / total;
    const made = weight ? part(from, to, i === event.token ? "met" : "other") : "";
    const letter = along(to) - along(from) > 11 ? words(along((from + to) / 2), LINE.high - 4, TOKENS[i]) : "";
    from = to;
    return made + letter;
  });
  return parts.join("") + frame() + pointer(event.u);
}

/** What happened last. */
export function sentence({ rounds, gamma }, { drafted, events, shown, accepted }) {
  if (!shown) return `${gamma} ${gamma === 1 ? "token" : "tokens"} drafted at a time. Step looks at the first one.`;
  const event = events[shown - 1];
  const call = `Call ${rounds + 1}`;
  if (event.kind === "draft") {
    const less = event.stays ? "is below" : "is not below";
    return (
      `${call}, place ${shown} of ${gamma}: the draft says ${TOKENS[event.token]}. Its p/q is ${fixed(event.ratio)}; ` +
      `${fixed(event.u, 3)} ${less} it: ${event.stays ? "accepted" : "refused"}.`
    );
  }
  const left = accepted === gamma ? "all accepted" : `refused at place ${accepted + 1}`;
  const source = event.whole ? "p" : "the residual";
  const wrote = [...drafted.slice(0, accepted), event.token];
  const many = wrote.length === 1 ? "1 token" : `${wrote.length} tokens`;
  return `${call}, ${left}: one more token, from ${source}, is ${TOKENS[event.token]}. The call wrote ${many}: ${named(wrote)}.`;
}

/** The drafted tokens and the last one, each with what became of it. */
export function places({ drafted, events, shown, accepted }) {
  const made = drafted.map((token, i) => {
    if (i < shown && events[i].kind === "draft") return events[i].stays ? `${TOKENS[token]} ✓` : `${TOKENS[token]} ✗`;
    return i > accepted && shown > accepted ? `${TOKENS[token]} –` : "?";
  });
  return [...made, shown === events.length ? `${TOKENS[events.at(-1).token]} new` : "?"];
}

/** What was counted over all calls, beside what it comes to in the long run. */
export function counters(state, over) {
  const counted = tally(state, over);
  const { alpha, perCall, shares } = longRun(state);
  const shown = (number, of, digits) => (of ? fixed(number / of, digits) : "–");
  const wrote = counted.wrote.map((n) => n / counted.tokens);
  return {
    shares: counted.tokens ? wrote : null,
    rows: [
      ["accepted, of those judged", shown(counted.accepted, counted.judged, 3), `Σ min(p, q) = ${fixed(alpha)}`],
      ["tokens per call", shown(counted.tokens, over, 3), fixed(perCall, 3)],
      ["distance from p", counted.tokens ? fixed(distance(wrote, state.target), 3) : "–", fixed(distance(shares, state.target), 3)],
    ],
  };
}
