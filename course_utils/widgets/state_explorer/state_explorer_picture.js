// The explorer's words and pictures: the cache pair by pair, the state cell by cell.
import { decimal, whole } from "../numbers.js";
import { mark, cividis } from "../shared.js";
import { FADING, KINDS, bytes, direction } from "./state_explorer_numbers.js";

export const letter = (key) => String.fromCharCode(97 + key);
export const SIZE = { wide: 336, high: 180 };
export const STATE = 180;

/** A number from -limit to limit as a colour. */
const shade = (x, limit) => `rgb(${cividis((x / limit + 1) / 2)})`;

/** One rectangle for each number, in a box. */
function grid(numbers, { left, top, across, down, limit }) {
  return numbers
    .flatMap((row, i) =>
      row.map((x, j) =>
        mark("rect", { x: left + j * across, y: top + i * down, width: across + 0.2, height: down + 0.2, fill: shade(x, limit) }),
      ),
    )
    .join("");
}

/** The cache: a column of key over value for each pair, in the order of arrival. */
export function drawCache(writes, width) {
  const step = Math.min(14, SIZE.wide / Math.max(writes.length, 1));
  const down = (SIZE.high / 2 - 6) / width;
  return writes
    .map(([k, v], i) =>
      [["key", k, 0], ["value", v, SIZE.high / 2]]
        .map(([name, index, top]) => {
          const column = direction(name, index, width).map((x) => [x]);
          return grid(column, { left: i * step, top, across: step - (step > 6 ? 2 : 0.6), down, limit: 1 });
        })
        .join(""),
    )
    .join("");
}

/** The largest number of a state, for its colours. */
export const limitOf = (state) => Math.max(...state.flat().map(Math.abs)) || 1;

/** The state: a row for each entry of a key, a column for each entry of a value. */
export function drawState(state) {
  const side = STATE / state.length;
  return grid(state, { left: 0, top: 0, across: side, down: side, limit: limitOf(state) });
}

/** What is kept, what is asked, and what comes back. */
export function sentence({ kind, writes, width, fade, asked, read }) {
  const faded = FADING.includes(kind) ? `, keeping ${fade.toFixed(2)} of the past at each pair` : "";
  const kept = bytes(writes.length, width);
  const held =
    kind === "softmax"
      ? `The cache holds ${whole(kept.cache)} bytes and grows`
      : `The state holds ${whole(kept.state)} bytes and does not grow; a cache would hold ${whole(kept.cache)}`;
  const right = read.filter((one) => one.answered === one.wanted).length;
  const one = read.find(({ key }) => key === asked);
  const answer = one
    ? ` Asked for ${letter(asked)}: ${one.answered}${one.answered === one.wanted ? ", right" : `, wrong: ${one.wanted} was written last`} ` +
      `(cosine ${decimal(one.cosine)}).`
    : "";
  return (
    `${writes.length} ${writes.length === 1 ? "pair" : "pairs"}, ${KINDS[kind]}${faded}. ${held}. ` +
    `${right} of ${read.length} keys read back right.${answer}`
  );
}
