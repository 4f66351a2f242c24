// Playing a walk: a step each beat, up to its end.
import { slider } from "./inputs.js";
import { button, div } from "./shared.js";

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

/**
 * The bar of a walk: Back, Step, Play, and a slider of all steps, whose label says what a step is. `show` brings it up to
 * date, `stop` ends playing. On a phone the bar stays at the top while its picture is in view.
 */
export function walker(beat, said, { at, last, go }, label = "step") {
  const to = (step) => go(Math.max(0, Math.min(step, last())));
  const { play, stop } = player(beat, said, { at, last, go: to });
  const by = (words, where) => button(words, () => (stop(), to(where())));
  const [back, forward] = [by("Back", () => at() - 1), by("Step", () => at() + 1)];
  const place = slider(label, { min: 0 }, (step) => (stop(), to(step)));
  const bar = div("acw-walk acw-stay", back, forward, play, place.label, place.input, place.output);
  const show = () => {
    place.input.max = last();
    place.show(at(), `${at()} of ${last()}`, `${label} ${at()} of ${last()}`);
    back.disabled = at() === 0;
    forward.disabled = at() === last();
  };
  return { bar, show, stop };
}
