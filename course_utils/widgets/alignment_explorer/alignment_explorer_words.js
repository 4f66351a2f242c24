// What the alignment explorer knows of a date: weights, fields, and the sentence that says them.

const PARTS = [["year", 0, 4], ["month", 5, 7], ["day", 8, 10]];

/** The code points of a text: what the model reads one by one. */
export const signs = (text) => Array.from(text);

/** The part of YYYY-MM-DD that a place belongs to; null for a hyphen. */
export const partAt = (place) => PARTS.find(([, start, end]) => place >= start && place < end)?.[0] ?? null;

/** The weights of one score and date, a row for each written character, in percent. */
export function rowsOf(bytes, sources, written, score, date) {
  let at = 0;
  const width = (d) => signs(sources[d].text).length;
  const size = (s, d) => signs(written[s][d]).length * width(d);
  for (let s = 0; s < score; s++) for (let d = 0; d < sources.length; d++) at += size(s, d);
  for (let d = 0; d < date; d++) at += size(score, d);
  return signs(written[score][date]).map((_, row) =>
    Array.from({ length: width(date) }, (_, i) => bytes[at + row * width(date) + i]),
  );
}

/** How much of a row lies inside a span. */
export const inside = (row, [start, end]) => row.slice(start, end).reduce((sum, percent) => sum + percent, 0);

/** The places of the largest percentages, the largest first, none of 0. */
export function largest(row, count) {
  return row
    .map((percent, i) => i)
    .filter((i) => row[i] > 0)
    .sort((a, b) => row[b] - row[a] || a - b)
    .slice(0, count);
}

/** A source cut into its fields and what stands between them. */
export function pieces(source) {
  const all = signs(source.text);
  const spans = Object.entries(source.spans).sort((a, b) => a[1][0] - b[1][0]);
  const cut = [];
  let at = 0;
  for (const [name, [start, end]] of spans) {
    if (at < start) cut.push({ name: null, start: at, end: start });
    cut.push({ name, start, end });
    at = end;
  }
  if (at < all.length) cut.push({ name: null, start: at, end: all.length });
  return cut;
}

/** A sign as it is named in a sentence: spaces visible, directions kept apart. */
export const shown = (sign) => (sign === " " ? "␣" : sign);
const quoted = (sign) => `\u2068'${shown(sign)}'\u2069`;

/** What one written character took from the source, in words. */
export function sentence(source, written, rows, place, name) {
  const all = signs(source.text);
  const row = rows[place];
  const part = partAt(place);
  const sign = signs(written)[place];
  const right = source.iso[place];
  const took = largest(row, 3).map((i) => `${row[i]}% from ${quoted(all[i])} (${i + 1})`);
  const of = part ? `character ${place + 1}, ${part}` : `character ${place + 1}, a hyphen`;
  const wish = right === undefined ? " Nothing should be here." : ` Right would be '${right}'.`;
  const error = sign === right ? "" : wish;
  const whole = part ? ` Inside the ${part}: ${inside(row, source.spans[part])}%.` : "";
  return `${name} wrote '${sign}' (${of}) with ${took.join(", ") || "next to nothing"}.${whole}${error}`;
}
