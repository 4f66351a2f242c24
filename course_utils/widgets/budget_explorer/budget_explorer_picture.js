// The explorer's curve: loss against the number of parameters, for one budget under one law.
import { label, path, rule, tick } from "../plot.js";
import { mark } from "../shared.js";
import { count } from "../units.js";
import { lossAt, optimum } from "./budget_explorer_law.js";

export const PLOT = { wide: 560, high: 300, left: 52, right: 548, top: 26, bottom: 250 };
const DECADES = 2.2;

/** Scales for one curve: N is logarithmic around the optimum, the loss begins below its minimum. */
export function places(law, flops) {
  const best = optimum(law, flops);
  const middle = Math.log10(best.N);
  const [from, to] = [middle - DECADES, middle + DECADES];
  const ends = [from, to].map((power) => lossAt(law, 10 ** power, flops / 6 / 10 ** power));
  const top = best.loss + Math.min(Math.max(...ends) - best.loss, 1.5 * (Math.min(...ends) - best.loss)) * 1.05;
  const low = best.loss - 0.12 * (top - best.loss);
  const across = (N) => PLOT.left + ((Math.log10(N) - from) / (to - from)) * (PLOT.right - PLOT.left);
  const up = (loss) => PLOT.bottom - ((loss - low) / (top - low)) * (PLOT.bottom - PLOT.top);
  return { best, from, to, low, top, across, up };
}

/** Round steps that cut an axis into about four. */
export function ticks(low, high) {
  const raw = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= raw);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => +((first + i) * step).toPrecision(6));
}

/** The curve along 6 N D = C, its minimum, the rule of 20 tokens per parameter, and the run's size. */
export function drawCurve(law, flops, run, own) {
  const { best, from, to, low, top, across, up } = places(law, flops);
  const at = (N) => lossAt(law, N, flops / 6 / N);
  const parts = [];
  for (const loss of ticks(low, top)) {
    parts.push(rule(PLOT.left, up(loss), PLOT.right, up(loss), "grid"), tick(PLOT.left - 7, up(loss) + 4, loss, "end"));
  }
  for (let power = Math.ceil(from); power <= to; power++) {
    parts.push(tick(across(10 ** power), PLOT.bottom + 18, count(10 ** power)));
  }
  parts.push(tick((PLOT.left + PLOT.right) / 2, PLOT.bottom + 40, "parameters N"));
  parts.push(tick(0, 12, "loss (nats per token)", "start"));
  const line = [];
  for (let i = 0; i <= 100; i++) {
    const N = 10 ** (from + ((to - from) * i) / 100);
    if (at(N) <= top) line.push([across(N), up(at(N))]);
  }
  parts.push(mark("path", { d: path(line), class: "curve" }));
  // A name stands to the right of its pin, so the pins further right are the shorter ones.
  const pins = [[best.N, "the minimum", "best"], [Math.sqrt(flops / 120), "20 tokens per parameter", "rule"], [own, `${run}'s size`, "own"]];
  const seen = pins.filter(([N]) => N > 10 ** from && N < 10 ** to && at(N) <= top).sort(([a], [b]) => a - b);
  seen.forEach(([N, name, kind], i) => {
    const [x, y] = [across(N), PLOT.top + 22 * (i + 1)];
    const side = x > PLOT.right - 170 ? "end" : "start";
    parts.push(rule(x, up(at(N)), x, y - 9, `pin ${kind}`));
    parts.push(mark("circle", { cx: x, cy: up(at(N)), r: 5, class: `point ${kind}` }));
    parts.push(label(x + (side === "end" ? -6 : 6), y, name, { class: `name ${kind}`, "text-anchor": side }));
  });
  return parts.join("");
}
