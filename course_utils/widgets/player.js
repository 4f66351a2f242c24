// Playing a walk: a step each beat, up to its end.
import { button } from "./shared.js";

/**
 * A button that plays and pauses, and what stops it. A walk that plays is not read out: it would never stop talking.
 * @param {{at: () => number, last: () => number, go: (step: number) => void}} walk
 */
export function player(beat, said, { at, last, go }) {
  let timer = null;
  const set = (next) => {
    clearTimeout(timer);
    timer = next;
    play.textContent = timer ? "Pause" : "Play";
    said.setAttribute("aria-live", timer ? "off" : "polite");
  };
  const stop = () => set(null);
  const step = () => {
    go(at() + 1);
    set(at() < last() ? setTimeout(step, beat) : null);
  };
  const play = button("Play", () => {
    if (timer) return stop();
    if (at() >= last()) go(0);
    return set(setTimeout(step, beat));
  });
  stop();
  return { play, stop };
}
