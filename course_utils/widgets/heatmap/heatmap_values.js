// The values of a heatmap: how they are read from bytes, spanned by colours, made into pixels and compared, and
// what is said of them.
import { half } from "../half.js";
import { colourScale, format, several, cividis } from "../shared.js";

/** A part of what the colours span, 0 to 1, as red, green and blue; a range may have a scale of its own. */
export const shade = (range, t) => (range.scale ?? cividis)(t);

/** The colour of a finite value. */
export const colour = (range, value) => shade(range, (value - range.low) / (range.high - range.low));

/** Every float16 as a number. */
export const halfTable = () => Float32Array.from({ length: 65536 }, (_, bits) => half(bits));

/** The values in the bytes that Python sent. @param {DataView} view @param {"float32"|"float16"} encoding */
export function decode(view, encoding) {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  if (encoding === "float32") return new Float32Array(bytes);
  const table = halfTable();
  return Float32Array.from(new Uint16Array(bytes), (bits) => table[bits]);
}

/** One map of the stack, without copying. @param {number[]} shape layers, heads, rows, columns */
export function mapOf(values, shape, layer, head) {
  const size = shape[2] * shape[3];
  const start = (layer * shape[1] + head) * size;
  return values.subarray(start, start + size);
}

/** Least and largest finite value and how many are not finite. */
export function extent(values) {
  const { least, largest } = extremes(values);
  const strange = values.reduce((count, x) => count + !Number.isFinite(x), 0);
  return { low: values[least] ?? 0, high: values[largest] ?? 0, strange };
}

/** Where the least and the largest finite value stand; -1 where there is none. */
function extremes(values) {
  let [least, largest] = [-1, -1];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    if (least < 0 || values[i] < values[least]) least = i;
    if (largest < 0 || values[i] > values[largest]) largest = i;
  }
  return { least, largest };
}

/** What the colours span. @param {"auto"|"unit"|"all"|"head"} mode @param all,head their extents */
export function colourRange(mode, all, head) {
  const weights = all.low >= 0 && all.high <= 1;
  if (weights && (mode === "unit" || (mode === "auto" && all.high >= 0.5)))
    return { low: 0, high: 1, mode: "unit" };
  const of = mode === "head" ? head : all;
  const low = weights ? 0 : of.low;
  return { low, high: of.high > low ? of.high : low + 1, mode: mode === "head" ? "head" : "all" };
}

/**
 * The picture as RGBA pixels. Where several cells share a pixel the largest is shown (of values on both sides
 * of 0 the one farthest from it), so that a thin line of large weights never vanishes; where one of them is not finite the pixel is part of a grey hatch.
 */
export function raster(values, rows, columns, height, width, range) {
  const pixels = new Uint8ClampedArray(4 * width * height);
  const ramp = Array.from({ length: 256 }, (_, i) => shade(range, i / 255));
  const gain = 255 / (range.high - range.low);
  for (let y = 0; y < height; y++) {
    const top = Math.floor((y * rows) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * rows) / height));
    for (let x = 0; x < width; x++) {
      const left = Math.floor((x * columns) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * columns) / width));
      let largest = range.signed ? 0 : -Infinity;
      let finite = true;
      for (let r = top; r < bottom; r++) {
        for (let c = left; c < right; c++) {
          const value = values[r * columns + c];
          if (value - value !== 0) finite = false;
          else if (range.signed ? Math.abs(value) > Math.abs(largest) : value > largest) largest = value;
        }
      }
      const at = 4 * (y * width + x);
      if (finite) {
        const rgb = ramp[Math.min(255, Math.max(0, Math.round((largest - range.low) * gain)))];
        pixels[at] = rgb[0];
        pixels[at + 1] = rgb[1];
        pixels[at + 2] = rgb[2];
      } else pixels.fill((x + y) % 6 < 2 ? 70 : 200, at, at + 3);
      pixels[at + 3] = 255;
    }
  }
  return pixels;
}

/** Where a row is largest; null where it holds no finite value. */
export function largestInRow(values, row, columns) {
  const { largest } = extremes(values.slice(row * columns, (row + 1) * columns));
  return largest < 0 ? null : largest;
}

/** The columns of a row's largest values, largest first, equal ones in order. */
export function ranking(values, row, columns, count) {
  return Array.from({ length: columns }, (_, c) => c)
    .filter((c) => Number.isFinite(values[row * columns + c]))
    .sort((a, b) => values[row * columns + b] - values[row * columns + a] || a - b)
    .slice(0, count);
}

// What is said: tokens as they can be seen, and sentences about cells and heads.

const MAX_LABEL = 14;

/** A token as it can be seen: blanks and line ends have a sign of their own. */
export const visible = (token) =>
  token === "" ? "∅" : token.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "␣");

const isWide = (c) =>
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|[\u{1f000}-\u{3ffff}]/u.test(c);

/** About how wide a label is at 12 px. */
export const textWidth = (text) => [...text].reduce((sum, c) => sum + (isWide(c) ? 12.5 : 7), 0);

/** Axis labels: tokens cut to a readable length, or positions. */
export function labels(tokens, count) {
  if (!tokens) return Array.from({ length: count }, (_, i) => String(i));
  return tokens.map((token) => {
    const signs = [...visible(token)];
    return signs.length > MAX_LABEL ? signs.slice(0, MAX_LABEL - 1).join("") + "…" : signs.join("");
  });
}

/** A position by its token, set apart from the text around it whatever way its script runs. */
export function naming(tokens, index) {
  return tokens
    ? `\u2068'${[...visible(tokens[index])].slice(0, 60).join("")}'\u2069 (${index})`
    : String(index);
}

/** A share in whole per cent. */
export const percent = (share) =>
  !Number.isFinite(share) ? "∞%" : share > 0 && share < 0.005 ? "under 1%" : `${Math.round(100 * share)}%`;

/** What is said of one cell. */
export function sentence(view, row, column) {
  const { values, columns, queries, keys, weights } = view;
  const value = values[row * columns + column];
  const best = largestInRow(values, row, columns);
  const query = `query ${naming(queries, row)}`;
  const key = `key ${naming(keys, column)}`;
  const said =
    weights && Number.isFinite(value)
      ? `${query} attends ${format(value)} to ${key}`
      : `${query}, ${key}: ${format(value)}`;
  if (best === null) return `${said}; this row holds no finite number.`;
  if (best === column) return `${said}, this row's largest.`;
  return `${said}; this row's largest: ${format(values[row * columns + best])} to key ${naming(keys, best)}.`;
}

const hatched = (strange) => (strange ? ` ${several(strange, "cell is", "cells are")} not finite (hatched).` : "");

/** One sentence on the whole head. */
export function summary(view, headCount, name) {
  const { values, rows, columns, queries, keys } = view;
  const { strange } = extent(values);
  const best = extremes(values).largest;
  const size = `${headCount > 1 ? `${headCount} heads of ` : ""}${several(rows, "query", "queries")} by ${several(columns, "key", "keys")}. `;
  const top =
    best < 0
      ? "no finite number"
      : `largest ${format(values[best])}, query ${naming(queries, Math.floor(best / columns))}, key ${naming(keys, best % columns)}`;
  return `${size}${name || "Values"}: ${top}.${hatched(strange)}`;
}

// Two maps compared: their difference, its colours, and what is said of it.

// matplotlib's PuOr: orange below nothing, purple above it, told apart without red and green.
export const puor = colourScale("7f3b08b35806e08214fdb863fee0b6f7f7f7d8daebb2abd28073ac5427882d004b");

/** What the colours of differences span: as far below nothing as above it. */
export function signedRange({ low, high }) {
  const far = Math.max(-low, high) || 1;
  return { low: -far, high: far, signed: true, scale: puor };
}

/** The second map less the first. */
export const difference = (first, second) => first.map((x, i) => second[i] - x);

/**
 * How much of a query's weight lies on other keys in the second map, on average over the queries: half the
 * sum of the differences' sizes. Null where the rows are no weights: they do not all sum to 1 or to 0.
 */
export function shareMoved(first, second, columns) {
  let moved = 0;
  for (let start = 0; start < first.length; start += columns) {
    const sums = [0, 0];
    for (let i = start; i < start + columns; i++) {
      sums[0] += first[i];
      sums[1] += second[i];
      moved += Math.abs(second[i] - first[i]) / 2;
    }
    if (!sums.every((sum) => sum === 0 || Math.abs(sum - 1) < 0.02)) return null;
  }
  return moved / (first.length / columns);
}

const signed = (x) => (x > 0 ? "+" : "") + format(x);

/** What is said of one cell in two maps. */
export function pairSentence(first, second, row, column) {
  const at = row * first.columns + column;
  const [a, b] = [first.values[at], second.values[at]];
  const where = `query ${naming(first.queries, row)} to key ${naming(first.keys, column)}`;
  return `${where}: ${first.name} ${format(a)}, ${second.name} ${format(b)}, difference ${signed(b - a)}.`;
}

/** One sentence or two on how the second map differs from the first. */
export function pairSummary(first, second, apart, moved) {
  const { columns, queries, keys } = first;
  const { strange } = extent(apart);
  const { least, largest } = extremes(apart);
  if (least < 0) return "No cell is finite in both maps.";
  const at = (i) =>
    `${signed(apart[i])}, query ${naming(queries, Math.floor(i / columns))}, key ${naming(keys, i % columns)}`;
  const far = [
    apart[largest] > 0 && `largest rise ${at(largest)}`,
    apart[least] < 0 && `largest fall ${at(least)}`,
  ].filter(Boolean);
  const isSaid = moved !== null && far.length;
  const share = isSaid ? ` On average ${percent(moved)} of a query's weight lies on other keys.` : "";
  return `From ${first.name} to ${second.name}: ${far.join("; ") || "no difference"}.${share}${hatched(strange)}`;
}

/** The row's keys by how much the two maps differ there, as rows of a table. */
export function pairRows(first, second, apart, row, count) {
  const { columns, keys, values } = first;
  const sizes = apart.subarray(row * columns, (row + 1) * columns).map(Math.abs);
  return ranking(sizes, 0, columns, count).map((c) => {
    const at = row * columns + c;
    return [naming(keys, c), format(values[at]), format(second.values[at]), signed(apart[at])];
  });
}
