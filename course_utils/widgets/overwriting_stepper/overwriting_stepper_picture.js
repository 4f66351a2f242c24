// The stepper's words, and its source: symbols, what is read out of the state, and how often that is right.
import { sum } from "../numbers.js";
import { label, rule, tick } from "../plot.js";
import { mark, several } from "../shared.js";

export const WIDE = { wide: 730, high: 190, left: 66, right: 726, top: 40, bottom: 150 };
export const NARROW = { wide: 350, high: 190, left: 32, right: 348, top: 40, bottom: 150 };
const MOVED = 10; // hundredths

/** Which numbers of a state moved by more than a tenth. */
export const moved = (before, now) => now.flatMap((x, i) => (Math.abs(x - before[i]) > MOVED ? [i] : []));

/** The first step after which the symbol at a place is named right in fewer than half of the sources. */
export const firstLost = (shares, place) => shares.findIndex((row) => row[place] < 0.5) + 1;

/** What has been read and what is left of it, in words. */
export function sentence({ sources, named, shares, tested, symbols, example, step, states }, changed) {
  const [source, width] = [sources[example], states[example][0].length];
  if (!step) return `Nothing is read yet: ${width} zeros.`;
  const right = named[example][step - 1].filter((symbol, i) => symbol === source[i]).length;
  const usual = sum(shares[step - 1]);
  return (
    `Symbol ${step}, ${source[step - 1]}, has moved ${changed} of the ${width} numbers by more than 0.1. ` +
    `From them a linear readout names ${right} of ${several(step, "symbol")} right; ` +
    `in ${tested.toLocaleString("en")} new sources ${usual.toFixed(1)} on average, where guessing gives ${(step / symbols).toFixed(1)}.`
  );
}

/** The source above, the readings below, and between them a bar for each symbol read so far. */
export function drawSource({ sources, named, shares, symbols, example, step }, { left, right, top, bottom, high }) {
  const source = sources[example];
  const each = (right - left) / source.length;
  const up = (share) => bottom - share * (bottom - top);
  const x = (i) => left + (i + 0.5) * each;
  const level = (share, words) => rule(left, up(share), right, up(share), "grid") + tick(left - 4, up(share) + 4, words, "end");
  const parts = [level(0, "0"), level(0.5, "50%"), level(1, "100%")];
  source.forEach((symbol, i) => {
    const isRead = i < step;
    const kind = i === step - 1 ? "now" : isRead ? "read" : "later";
    parts.push(label(x(i), 22, symbol, { class: `symbol ${kind}`, "text-anchor": "middle" }));
    if (!isRead) return;
    const share = shares[step - 1][i];
    parts.push(mark("rect", { x: x(i) - 0.38 * each, y: up(share), width: 0.76 * each, height: bottom - up(share), class: "bar" }));
    const answer = named[example][step - 1][i];
    const isRight = answer === symbol;
    parts.push(label(x(i), bottom + 17, answer, { class: isRight ? "right" : "wrong", "text-anchor": "middle" }));
    parts.push(label(x(i), bottom + 33, isRight ? "✓" : "·", { class: isRight ? "right" : "wrong", "text-anchor": "middle" }));
  });
  parts.push(rule(left, up(1 / symbols), right, up(1 / symbols), "guess"));
  if (left > 50) parts.push(label(0, 22, "source"), label(0, bottom + 17, "read out"), label(0, high - 7, "right"));
  return parts.join("");
}
