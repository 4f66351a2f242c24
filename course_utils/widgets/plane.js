// Places of a plane that a reader moves: with the pointer, or with the arrow keys.
import { make } from "./shared.js";

export const LIMIT = 2; // how far from the centre a handle may go, along each axis
const STEP = 0.1;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** A place inside the limits, on the grid of steps. */
export function snap(place) {
  return place.map((x) => {
    const near = Math.round(Math.min(LIMIT, Math.max(-LIMIT, x)) / STEP) * STEP;
    return +near.toFixed(1) + 0; // no minus zero
  });
}

/** Where a key of the keyboard takes a place, or null if it means nothing here. */
export function moved(place, key, large) {
  const move = MOVES[key];
  if (!move) return null;
  const by = large ? 5 * STEP : STEP;
  return snap(place.map((x, axis) => x + by * move[axis]));
}

/** A picture of the plane, `side` wide, that reaches `reach` from the centre: places in it, and back; up is up. */
export const planeOf = (side, reach) => ({
  at: ([x, y]) => [(side / 2) * (1 + x / reach), (side / 2) * (1 - y / reach)],
  from: (across, down) => [(2 * across - 1) * reach, (1 - 2 * down) * reach],
});

/** The place below the pointer. @param {(across: number, down: number) => number[]} from by shares of the sides */
export function pointed(event, plane, from) {
  const box = plane.getBoundingClientRect();
  return snap(from((event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height));
}

/** A place as a handle: drag it, or focus it and use the arrow keys. */
export function handle(properties, { plane, from, seat, move }) {
  const grip = make("div", {
    role: "slider",
    tabIndex: 0,
    "aria-roledescription": "handle in the plane",
    "aria-valuemin": -LIMIT,
    "aria-valuemax": LIMIT,
    ...properties,
    onkeydown(event) {
      const next = moved(seat(), event.key, event.shiftKey);
      if (!next) return;
      event.preventDefault();
      move(next);
    },
    onpointerdown(event) {
      event.preventDefault();
      grip.focus();
      grip.setPointerCapture(event.pointerId);
    },
    onpointermove(event) {
      if (grip.hasPointerCapture(event.pointerId)) move(pointed(event, plane, from));
    },
  });
  return grip;
}

/** Put a handle where its place is in the picture. */
export function put(grip, [x, y], side) {
  grip.style.left = `${(100 * x) / side}%`;
  grip.style.top = `${(100 * y) / side}%`;
}
