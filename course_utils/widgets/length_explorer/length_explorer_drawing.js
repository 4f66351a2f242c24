// What the explorer says and draws: right and wrong symbols, the words, the accuracy curve.
import { label, path, rule, tick } from "../plot.js";
import { mark } from "../shared.js";

/** Which symbols of a copy are right; what was not written is wrong. */
export const compare = (source, written) =>
  Array.from(source, (symbol, i) => ({ symbol: written[i] ?? "", right: written[i] === symbol }));

/** The picture in one sentence. */
export function sentence(names, source, copies) {
  const counts = copies.map((copy) => copy.filter((one) => one.right).length);
  const said = names.map((name, i) => `${name} ${counts[i]}`).join(", ");
  const first = copies.map((copy) => copy.findIndex((one) => !one.right) + 1);
  const lost = names
    .map((name, i) => (first[i] ? `${name} at symbol ${first[i]}` : ""))
    .filter(Boolean)
    .join(", ");
  const plural = source.length === 1 ? "symbol" : "symbols";
  return `${source.length} ${plural}. Right: ${said}. ${lost ? `First error: ${lost}.` : "No error."}`;
}

const BOX = { left: 46, right: 390, top: 14, bottom: 150 };

/** Lengths and accuracies as places in the picture. */
export function places(longest) {
  return {
    across: (n) => BOX.left + (n / longest) * (BOX.right - BOX.left),
    up: (share) => BOX.bottom - share * (BOX.bottom - BOX.top),
  };
}

/** Where a curve's name stands: above its curve in the middle, or below it where there is no room. */
function nameOf(name, rows, kind, { across, up }) {
  const [length, , mean] = rows[Math.floor(rows.length / 2)];
  const y = up(mean) - 12 < BOX.top + 6 ? up(mean) + 20 : up(mean) - 12;
  return label(across(length), y, name, { class: `name ${kind}`, "text-anchor": "middle" });
}

/** Mean accuracy of both models at each length, with the range of their runs, and where we are. */
export function curvePanel({ names, curves, trained, length, longest }) {
  const to = places(longest);
  const { across, up } = to;
  const grid = [0, 0.5, 1].map(
    (share) =>
      rule(BOX.left, up(share), BOX.right, up(share), share ? "grid" : "axis") +
      tick(BOX.left - 6, up(share) + 4, `${100 * share}%`, "end"),
  );
  const step = longest > 30 ? 10 : longest > 10 ? 5 : 1;
  const ticks = [];
  for (let n = step; n <= longest; n += step) ticks.push(tick(across(n), BOX.bottom + 16, n));
  const lines = curves.map((rows, i) => {
    const kind = i ? "second" : "first";
    const upper = rows.map(([n, , , high]) => [across(n), up(high)]);
    const lower = rows.map(([n, low]) => [across(n), up(low)]).reverse();
    return (
      mark("path", { class: `range ${kind}`, d: `${path([...upper, ...lower])}Z` }) +
      mark("path", { class: `mean ${kind}`, d: path(rows.map(([n, , mean]) => [across(n), up(mean)])) }) +
      nameOf(names[i], rows, kind, to)
    );
  });
  const end =
    trained && trained < longest
      ? rule(across(trained), BOX.top, across(trained), BOX.bottom, "trained") +
        label(across(trained) - 5, BOX.bottom - 6, `trained up to ${trained}`, { "text-anchor": "end" })
      : "";
  return (
    grid.join("") +
    ticks.join("") +
    end +
    rule(across(length), BOX.top - 6, across(length), BOX.bottom, "here") +
    lines.join("") +
    tick((BOX.left + BOX.right) / 2, BOX.bottom + 33, "source length")
  );
}
