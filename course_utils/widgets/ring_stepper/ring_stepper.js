// Attention over a ring of ranks, step by step, and Ulysses' all-to-all.
import { whole } from "../numbers.js";
import { check, slider } from "../inputs.js";
import { choice, depict, div, figure, fill, make, picture, scroll, shell, spoken, uniqueId, widget } from "../shared.js";
import { walker } from "../player.js";
import { tabs } from "../tabs.js";
import { task } from "../task.js";
import { LAYOUTS, balance, sent, split, work } from "./ring_stepper_work.js";
import { SIDE, owners, ring, runs, sentence, square, ulysses } from "./ring_stepper_picture.js";

const TRAITS = ["world_size", "tokens_per_rank", "token_layout", "is_causal", "step", "view"];
const BEAT = 1100;
const VIEWS = { ring: "Ring", ulysses: "Ulysses" };

export default widget(TRAITS, ({ model, write }) => {
  const id = uniqueId();
  const get = (name) => model.get(name);
  const last = () => get("world_size") - 1;

  const ranks = slider("ranks", { min: 1, max: 8 }, (x) => write({ world_size: x, step: 0 }));
  const share = slider("tokens per rank", { min: 2, max: 8, step: 2 }, (x) => write({ tokens_per_rank: x }));
  const layout = choice("layout", (token_layout) => write({ token_layout }), Object.entries(LAYOUTS));
  const causal = check(" causal", (is_causal) => write({ is_causal }));
  const said = spoken("acw-said");
  const { bar, show: showStep, stop } = walker(BEAT, said, {
    at: () => Math.min(get("step"), last()), last, go: (step) => write({ step }),
  });
  const goal = task("find a layout in which no rank, under the causal mask, waits for a slower one.");
  const pairs = picture(`0 0 ${SIDE + 30} ${SIDE + 30}`);
  const circle = picture("0 0 320 286");
  const [shares, counts, bytes] = [make("table"), make("table"), make("table")];
  const [before, after] = [picture("0 0 318 236"), picture("0 0 318 236")];
  const both = div("acw-columns even",
    figure("Before: tokens (rows) by heads (columns)", before),
    figure("After (underlined: never moved)", after),
  );
  const { list, panels, show: showView } = tabs("Way to split", VIEWS, (view) => (stop(), write({ view })), {
    ring: [
      bar,
      div("acw-columns",
        figure("The ring: the number in each circle is that of the block it holds", circle),
        figure("Queries (rows) and keys (columns) in the text's order", pairs),
      ),
      make("p", {
        className: "acw-note",
        textContent:
          "In the square: a rank's colour, plain or dotted, is what it multiplies at this step; hatched pairs are " +
          "multiplied and masked; grey ones came in earlier steps.",
      }),
      scroll("Every rank", shares),
      scroll("Counted", counts),
    ],
    ulysses: [both, scroll("Bytes", bytes)],
  });
  const root = shell("ring", "Ring stepper",
    list,
    div("acw-controls", ranks.field, share.field, layout.field, causal.label),
    said,
    ...panels,
    goal.line,
  );

  function drawRing(state) {
    const { step, positions, table: rows } = state;
    said.textContent = sentence(state);
    const held = rows.map((row, r) => `rank ${r} holds block ${row[step].block}`).join(", ");
    depict(circle, `A ring of ${rows.length}: ${held}`, ring(`${id}-c`, state));
    const met = rows.map((row) => row[step].pairs).join(", ");
    depict(pairs, `${whole(state.n ** 2)} pairs; at this step the ranks multiply ${met}`, square(`${id}-s`, state));
    fill(
      shares,
      "Pairs that each rank multiplies",
      ["rank", "its tokens", "holds block", "now", "so far", "in all"],
      rows.map((row, r) => {
        const done = row.slice(0, step + 1).reduce((sum, one) => sum + one.pairs, 0);
        const now = row[step].pairs;
        return [`${r}`, runs(positions[r]), `${row[step].block}`, now ? whole(now) : "idle", whole(done), whole(state.even.ranks[r])];
      }),
    );
    const { rotation, forward: there, backward } = state.bytes;
    fill(
      counts,
      `Bytes that a rank sends for one layer (${get("num_heads")} heads of ${get("d_k")} numbers, ${get("bytes_per_element")} bytes each)`,
      ["way", "forward so far", "forward", "backward"],
      [["ring", whole(rotation * step), whole(there), whole(backward)]],
    );
  }

  function drawUlysses({ ranks: P, bytes: { ulysses: of, forward: there, backward } }) {
    const heads = get("num_heads");
    const fits = heads % P === 0;
    said.textContent = ulysses(P, heads);
    both.hidden = !fits;
    before.innerHTML = fits ? owners(`${id}-b`, P, heads, false) : "";
    after.innerHTML = fits ? owners(`${id}-a`, P, heads, true) : "";
    before.setAttribute("aria-label", `Before: each of ${P} ranks has all ${heads} heads of its tokens`);
    after.setAttribute("aria-label", `After: each of ${P} ranks has ${heads / P} heads of all tokens`);
    const row = (name, forward, backward) => [name, whole(forward), whole(backward)];
    fill(
      bytes,
      `Bytes that a rank sends for one layer (${heads} heads of ${get("d_k")} numbers, ${get("bytes_per_element")} bytes each)`,
      ["way", "forward", "backward"],
      [row("ring", there, backward), fits ? row("Ulysses", of.forward, of.backward) : ["Ulysses", "–", "–"]],
    );
  }

  function update() {
    const [P, each] = [get("world_size"), get("tokens_per_rank")];
    const n = P * each;
    const isCausal = get("is_causal");
    const positions = split(get("token_layout"), n, P);
    const rows = work(positions, isCausal);
    const step = Math.min(get("step"), P - 1);
    const view = get("view");
    const state = {
      n, ranks: P, positions, table: rows, step, causal: isCausal, layout: get("token_layout"),
      even: balance(rows), bytes: sent(P, n, get("num_heads"), get("d_k"), get("bytes_per_element")),
    };
    ranks.show(P);
    share.show(each, `${each}, ${n} in all`);
    layout.select.value = state.layout;
    causal.input.checked = isCausal;
    showStep();
    showView(view);
    goal.met(isCausal && P > 1 && view === "ring" && state.even.slowest === state.even.even);
    layout.field.hidden = causal.label.hidden = view !== "ring";
    if (view === "ring") drawRing(state);
    else drawUlysses(state);
  }

  return { root, update, begin: () => [stop] };
});
