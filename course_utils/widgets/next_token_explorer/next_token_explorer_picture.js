// The explorer's words, the rows of its bars, and the sizes of the nucleus at all places.
import { decimal, whole } from "../numbers.js";
import { label, rule, tick } from "../plot.js";
import { mark } from "../shared.js";
import { TASK, drawn, expected, sizeAt, tally } from "./next_token_explorer_numbers.js";

export const SINGLE = 15; // tokens with a bar of their own
export const CHART = { wide: 340, high: 214 };
const BOX = { left: 46, right: 334, top: 10, bottom: 168 };

/** A token as it is named: blanks visible. */
export const shown = (token) => token.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "␣");
const quoted = (token) => `\u2068‘${shown(token)}’\u2069`;

/** A probability: three decimals, or fewer digits where it is smaller. */
export const chance = (p) => (p === 0 ? "0" : p >= 0.0095 ? decimal(p, 3) : p >= 5e-5 ? decimal(p, 4) : p.toExponential(0).replace("e-", "e−"));

/** A nucleus's share: exact, or about top-p where not all of it is recorded. */
export const share = ({ exact, kept, top_p }) => (exact ? decimal(kept, 3) : top_p === 1 ? "1" : `about ${top_p}`);

/** Where we are, how large the nucleus is, and where the true token stands. */
export function sentence(setting, place, seen, before) {
  const { temperature, top_p, vocabulary } = setting;
  const inside = place.rank <= seen.size ? "inside" : "outside";
  const tail = [...shown(before)].slice(-24).join("");
  return (
    `Place ${setting.place + 1} of ${setting.count}, after \u2068“…${tail}”\u2069. At temperature ${decimal(temperature, 1)} and ` +
    `top-p ${top_p} the nucleus holds ${whole(seen.size)} of ${whole(vocabulary)} tokens, with a share of ${share(seen)}. The true next token, ${quoted(place.token)}, ` +
    `is number ${whole(place.rank)} with probability ${chance(seen.true)}: ${inside} the nucleus.`
  );
}

/** What a draw met: a token, or a range of numbers and a token that stands there. */
function met(place, { index, low, high }) {
  if (index !== undefined) return `${quoted(place.tokens[index])}, number ${index + 1}`;
  const near = place.far.find(([rank]) => rank >= low && rank <= high);
  const example = near ? `, where ${quoted(near[1])} is ${whole(near[0])}` : "";
  return `among numbers ${whole(low)} to ${whole(high)}${example}`;
}

/** How many were drawn, how many of them from outside the nucleus, and the last one of both. */
export function drawnWords(setting, place, seen) {
  const { seed, draws, nucleus_only } = setting;
  if (!draws) return "Nothing is drawn yet.";
  const { outside, stray } = tally(seen, seed, draws, nucleus_only);
  const last = drawn(seen, seed, draws - 1, nucleus_only);
  const apart = stray && last.inside ? ` The last from outside: ${met(place, stray)}.` : "";
  const wanted = draws * expected(seen, nucleus_only).outside;
  return (
    `${whole(draws)} drawn, ${whole(outside)} from outside the nucleus (expected: ${wanted >= 10 ? whole(wanted) : decimal(wanted, 1)}). ` +
    `The last: ${met(place, last)}, ${last.inside ? "inside" : "outside"}.${apart}`
  );
}

/** What is left out, as a share and as what it does to a text of a hundred tokens. */
export function risk({ left, exact, top_p }) {
  if (top_p === 1) return "Nothing is cut off: all tokens are in the nucleus.";
  const about = exact ? "" : "about ";
  const none = (1 - left) ** 100;
  return (
    `Without the cut, a share of ${about}${chance(left)} falls outside. Were it so at every place, a text of 100 tokens would have ` +
    `${about}${decimal(100 * left, 1)} such tokens, and none with probability ${none < 0.0005 ? "below 0.001" : decimal(none, 3)}.`
  );
}

/** The rows of the bars: tokens one by one, then the others together; each with its part inside the nucleus. */
export function bars(setting, place, seen) {
  const { seed, draws, nucleus_only } = setting;
  const wanted = expected(seen, nucleus_only);
  const { counts, beyond } = tally(seen, seed, draws, nucleus_only);
  const total = (list, from, to) => list.slice(from, to).reduce((a, b) => a + b, 0);
  const one = (i) => ({
    name: `${i + 1}`, token: place.tokens[i], true: i + 1 === place.rank, came: counts[i],
    inside: i < seen.size ? wanted.chances[i] : 0, outside: i < seen.size ? 0 : wanted.chances[i],
  });
  const rows = Array.from({ length: Math.min(SINGLE, counts.length) }, (_, i) => one(i));
  if (place.rank > SINGLE)
    rows.push(
      place.rank <= counts.length
        ? one(place.rank - 1)
        : {
            name: whole(place.rank), token: place.token, true: true, came: null,
            inside: place.rank <= seen.size ? wanted.true : 0, outside: place.rank <= seen.size ? 0 : wanted.true,
          },
    );
  const cut = Math.min(Math.max(seen.size, SINGLE), counts.length);
  rows.push(
    {
      name: `${SINGLE + 1}–${counts.length}`, token: null, came: total(counts, SINGLE),
      inside: total(wanted.chances, SINGLE, cut), outside: total(wanted.chances, cut),
    },
    { name: `${counts.length + 1}+`, token: null, came: beyond, ...wanted.beyond },
  );
  return rows;
}

/** The two parts of the task, each with the place that fulfilled it. */
export const taskParts = (met) =>
  [`one token is the whole nucleus`, `it takes more than ${TASK.many}`].map(
    (words, i) => `${met[i] >= 0 ? "☑" : "☐"} ${words}${met[i] >= 0 ? `: place ${met[i] + 1}` : ""}`,
  );

const across = (i, count) => BOX.left + ((i + 0.5) / count) * (BOX.right - BOX.left);
const up = (size) => BOX.bottom - ((Math.log10(size) + 0.25) / 5) * (BOX.bottom - BOX.top);

/** Which place stands nearest to a column of the picture. */
export function nearest(x, count) {
  const i = Math.floor(((x - BOX.left) / (BOX.right - BOX.left)) * count);
  return Math.min(count - 1, Math.max(0, i));
}

/** The size of the nucleus at every place, by powers of ten. */
export function drawSizes(setting, places, texts) {
  const grid = [1, 10, 100, 1000, 10000]
    .map((size) => rule(BOX.left, up(size), BOX.right, up(size), "grid") + tick(BOX.left - 6, up(size) + 4, whole(size), "end"))
    .join("");
  const points = places
    .map((place, i) => {
      const [x, y] = [across(i, places.length), up(sizeAt(place, setting))];
      const kind = i === setting.place ? "here" : "other";
      return rule(x, BOX.bottom, x, y, `stem ${kind}`) + mark("circle", { cx: x, cy: y, r: i === setting.place ? 5 : 3.5, class: kind });
    })
    .join("");
  const names = texts
    .map(({ name }, number) => {
      const own = places.flatMap((place, i) => (place.text === number ? [across(i, places.length)] : []));
      const [from, to] = [own[0], own.at(-1)];
      return rule(from - 4, BOX.bottom + 20, to + 4, BOX.bottom + 20, "axis") + tick((from + to) / 2, BOX.bottom + 36, name);
    })
    .join("");
  const here = across(setting.place, places.length);
  const number = label(here, BOX.bottom + 15, setting.place + 1, { class: "chosen", "text-anchor": "middle" });
  return grid + rule(BOX.left, BOX.bottom, BOX.right, BOX.bottom, "axis") + points + number + names;
}
