// Cut a digit into patches, shuffle them, take the positions away; see what the class token reads.
import { check } from "../inputs.js";
import { button, choice, div, figure, fill, folded, make, offer, say, scroll, shell, spoken, svg, widget } from "../shared.js";
import { task } from "../task.js";
import { unpack, view } from "./patch_explorer_model.js";
import { SIDE, drawCut, drawRead, drawTokens, sentence, short, tokensBox } from "./patch_explorer_picture.js";

const TRAITS = ["image", "patch", "layer", "head", "positions", "shuffle", "models", "images"];

export default widget(TRAITS, ({ model, write, read }) => {
  const states = new Map();
  const stateOf = (patch) => {
    if (!states.has(patch)) states.set(patch, unpack(model.get("models").find((one) => one.patch === patch)));
    return states.get(patch);
  };
  const number = (name, label) => choice(label, (value) => write({ [name]: +value }));
  const controls = { image: number("image", "image"), patch: number("patch", "patch"), layer: number("layer", "layer"), head: number("head", "head") };
  const counts = (n) => Array.from({ length: n }, (_, i) => i + 1);
  offer(controls.image, model.get("images").map(({ label }, i) => [i, `${label}${"′".repeat(model.get("images").slice(0, i).filter((one) => one.label === label).length)}`]));
  offer(controls.patch, model.get("models").map(({ patch }) => [patch, `${patch} × ${patch}`]));
  offer(controls.layer, counts(model.get("layers")));
  offer(controls.head, counts(model.get("heads")));
  const shuffle = button("shuffle patches", () => write({ shuffle: (model.get("shuffle") % 99) + 1 }));
  const back = button("in order", () => write({ shuffle: 0 }));
  const positions = check(" positions", (wanted) => write({ positions: wanted }));

  const said = spoken("acw-said");
  const viewBox = `0 0 ${SIDE} ${SIDE}`;
  const [whole, seen, tokens] = [svg("acw-cut", { viewBox }), svg("acw-read", { viewBox }), svg("acw-tokens")];
  const goal = task("find an image that it reads right with its patches shuffled.");
  const [guesses, weights] = [make("table"), make("table")];
  const root = shell("patches", "Patch explorer",
    div("acw-controls",
      ...Object.values(controls).map(({ field }) => field), shuffle, back, positions.label),
    said,
    div("acw-main",
      figure("The image as numbered patches", whole),
      figure("What the class token reads there", seen),
      guesses,
    ),
    scroll("The sequence of tokens", figure("The sequence: class token, then patches; below, the weights", tokens)),
    goal.line,
    folded("All weights of the class token", weights),
  );

  function update() {
    const now = read();
    const { label, pixels } = now.images[now.image];
    const found = view({ ...now, pixels, state: stateOf(now.patch), heads: model.get("heads"), layers: model.get("layers") });
    for (const [name, { select }] of Object.entries(controls)) select.value = now[name];
    positions.input.checked = now.positions;
    back.disabled = !now.shuffle;
    say(said, sentence({ ...now, label, found }));
    whole.innerHTML = drawCut(found.patches, now.patch);
    seen.innerHTML = drawRead(found.patches, now.patch, found.row);
    tokens.setAttribute("viewBox", tokensBox(found.row.length));
    tokens.style.minWidth = `${found.row.length * 34}px`;
    tokens.style.maxWidth = `${found.row.length * 52}px`;
    tokens.innerHTML = drawTokens(found.patches, now.patch, found.row);
    const guessed = found.probabilities.map((p, i) => [i, short(p)]);
    const digits = fill(guesses, "Probability of each digit", ["digit", "probability"], guessed);
    goal.met(now.shuffle > 0 && found.probabilities.indexOf(Math.max(...found.probabilities)) === label);
    digits.forEach((row, i) => {
      row.style.setProperty("--share", `${100 * found.probabilities[i]}%`);
      row.classList.toggle("right", i === label);
    });
    fill(weights, "", ["token", "place", "patch of the image", "weight"], found.row.map((w, i) => {
      const across = 8 / now.patch;
      return i ? [i, `row ${Math.floor((i - 1) / across) + 1}, column ${((i - 1) % across) + 1}`, found.places[i - 1] + 1, w.toFixed(4)] : ["0, class", "in front", "none", w.toFixed(4)];
    }));
  }

  return { root, update };
});
