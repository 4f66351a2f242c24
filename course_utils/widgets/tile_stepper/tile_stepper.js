// Attention tile by tile: the controls and the page.
import { decimal } from "../numbers.js";
import { choice, depict, div, figure, fill, make, picture, scroll, shell, svg, uniqueId, widget } from "../shared.js";
import { walker } from "../player.js";
import { task } from "../task.js";
import { look, plan } from "./tile_stepper_walk.js";
import { bars, detail, extent, onChip, sentence, tiles } from "./tile_stepper_picture.js";

const TRAITS = ["query", "key", "value", "block_q", "block_k", "is_causal", "order", "step"];
const PAUSE = 1100; // milliseconds that a step stands while playing

export default widget(TRAITS, ({ model, write, read }) => {
  const id = uniqueId();
  const steps = () => plan(read()).length;
  const said = make("p", { className: "acw-said" });
  const { bar, show: showStep, stop: rest } = walker(PAUSE, said, {
    at: () => Math.min(model.get("step"), steps()), last: steps, go: (step) => write({ step }),
  });
  const goal = task("find block sizes with which the tiles move more numbers than the naive way.");

  const choose = (name, words, options) => {
    const chosen = (_, index) => (rest(), write({ [name]: options[index], step: 0 }));
    return choice(words, chosen, options);
  };
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8];
  const blockQ = choose("block_q", "queries per block", sizes);
  const blockK = choose("block_k", "keys per block", sizes);
  const order = choose("order", "loop", ["queries outside", "keys outside"]);
  const causal = make("input", {
    id: `${id}-causal`, type: "checkbox", onchange: () => (rest(), write({ is_causal: causal.checked, step: 0 })),
  });

  const note = make("p", { className: "acw-note" });
  const table = picture("0 0 1 1");
  const moved = svg("", { viewBox: "0 0 402 48" });
  const chip = make("p", { className: "acw-chip" });
  const [states, counts] = [make("table"), make("table")];
  const root = shell("tiles", "Tile stepper",
    div("acw-choices",
      blockQ.field,
      blockK.field,
      order.field,
      make("div", {}, causal, make("label", { for: causal.id, textContent: "causal" })),
    ),
    bar,
    said,
    div("acw-columns",
      figure("Scores: a row for each query, a column for each key", table),
      scroll("State of every query", states),
    ),
    note,
    chip,
    div("acw-columns",
      figure("Numbers moved between HBM and chip",
        moved,
        make("p", { className: "acw-key" },
          make("span", { className: "read", textContent: "■ read" }),
          make("span", { className: "written", textContent: "■ written, to the right of it" }),
          make("span", { textContent: "dashed: the whole walk" }),
        ),
      ),
      scroll("Numbers moved, as a table", counts),
    ),
    goal.line,
  );

  function update() {
    const state = read();
    const all = steps();
    const count = Math.min(state.step, all);
    const seen = look(state, count);
    showStep();
    blockQ.select.value = state.block_q;
    blockK.select.value = state.block_k;
    order.select.value = state.order;
    causal.checked = state.is_causal;
    said.textContent = sentence(seen, count);
    note.textContent = detail(seen, count);
    table.setAttribute("viewBox", extent(state));
    const whole = `Table of ${state.query.length} by ${state.key.length} scores in tiles.`;
    depict(table, `${whole} ${said.textContent}`, tiles(state, seen, count));
    const isActive = (i) => Boolean(seen.now) && i >= seen.now.q[0] && i < seen.now.q[1];
    const rows = seen.rows.map(({ m, l, acc, shrunk, where, before }, i) => {
      const factor = isActive(i) && seen.now.kind === "tile" && before > -Infinity ? decimal(shrunk) : "";
      return [i, factor, decimal(m), decimal(l), acc.map((x) => decimal(x)).join(", "), where];
    });
    const lines = fill(states, "State of every query: m, its maximum; l, its sum; acc, its weighted values", ["query", "old ×", "m", "l", "acc", "where"], rows);
    lines.forEach((row, i) => row.classList.toggle("active", isActive(i)));
    chip.textContent = onChip(seen);
    const numbers = ({ read, written }) => read + written;
    goal.met(numbers(seen.whole) > numbers(seen.naive));
    const sums = [["this walk, so far", seen.sofar], ["this walk, in all", seen.whole], ["naive, in all", seen.naive]];
    moved.innerHTML = bars(seen);
    const moves = sums.map(([name, { read, written }]) => [name, read, written, read + written]);
    fill(counts, "The same, counted", ["numbers", "read", "written", "together"], moves);
  }

  return { root, update, begin: () => [rest] };
});
