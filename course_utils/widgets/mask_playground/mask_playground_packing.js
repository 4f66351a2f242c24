// Documents in one row: their lengths, and how many pairs of tokens three layouts multiply for them.
import { make } from "../shared.js";

/** Which document the token at a place belongs to, counted from 0. */
export const documentOf = ({ second, third }, place) => Number(place >= second) + Number(place >= third);

/** How many tokens each document has, in order; an empty one is left out. */
export function lengthsOf(view) {
  const counts = [0, 0, 0];
  view.tokens.forEach((_, place) => counts[documentOf(view, place)]++);
  return counts.filter(Boolean);
}

/** The pairs multiplied by each layout, whatever a mask hides afterwards. */
export function pairsOf(lengths) {
  const total = lengths.reduce((a, b) => a + b, 0);
  return {
    own: lengths.reduce((sum, n) => sum + n * n, 0),
    padded: lengths.length * Math.max(...lengths) ** 2,
    row: total * total,
  };
}

const LAYOUTS = [
  ["own", "each for itself", (n) => n.map((one) => `${one}²`).join(" + ")],
  ["padded", "padded to the longest", (n) => `${n.length} · ${Math.max(...n)}²`],
  ["row", "one row, T × T", (n) => `${n.reduce((a, b) => a + b, 0)}²`],
];

/** A table of the three layouts; `show` fills it for a view, and hides it where documents are off. */
export function packingTable() {
  const caption = make("caption");
  const lines = LAYOUTS.map(([, name]) => {
    const bar = make("span", { className: "acw-bar" });
    const sum = make("td");
    const pairs = make("td");
    const row = make("tr", {}, make("th", { scope: "row", textContent: name }), sum, pairs, make("td", {}, bar));
    return { bar, sum, pairs, row };
  });
  const table = make("table", { className: "acw-packing" }, caption, make("tbody", {}, ...lines.map(({ row }) => row)));
  const show = (view) => {
    table.hidden = !view.on.includes("documents");
    const lengths = lengthsOf(view);
    const pairs = pairsOf(lengths);
    caption.textContent = `Pairs multiplied for documents of ${lengths.join(", ").replace(/, (\d+)$/, " and $1")} tokens`;
    LAYOUTS.forEach(([name, , formula], i) => {
      lines[i].sum.textContent = formula(lengths);
      lines[i].pairs.textContent = `= ${pairs[name]}`;
      lines[i].bar.style.width = `${(100 * pairs[name]) / pairs.row}%`;
    });
  };
  return { table, show };
}
