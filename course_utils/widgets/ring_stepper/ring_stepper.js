// Attention over a ring of ranks, step by step, and Ulysses' all-to-all.
import { whole } from "../numbers.js";
import { check, slider } from "../inputs.js";
import { button, choice, depict, div, figure, fill, make, picture, scroll, shell, spoken, uniqueId, widget } from "../shared.js";
import { LAYOUTS, balance, sent, split, work } from "./ring_stepper_work.js";
import { SIDE, owners, ring, runs, sentence, square, ulysses } from "./ring_stepper_picture.js";

const TRAITS = ["world_size", "tokens_per_rank", "token_layout", "is_causal", "step", "view"];
const VIEWS = { ring: "Ring", ulysses: "Ulysses" };

export default widget(TRAITS, ({ model, write }) => {
  const id = uniqueId();
  const get = (name) => model.get(name);
  const last = () => get("world_size") - 1;
  const go = (step) => write({ step: Math.max(0, Math.min(step, last())) });

  const ranks = slider("ranks", { min: 1, max: 8 }, (x) => write({ world_size: x, step: 0 }));
  const share = slider("tokens per rank", { min: 2, max: 8, step: 2 }, (x) => write({ tokens_per_rank: x }));
  const layout = choice("layout", (token_layout) => write({ token_layout }), Object.entries(LAYOUTS));
  const causal = check(" causal", (is_causal) => write({ is_causal }));
  const at = slider("step", { min: 0 }, go);
  const by = (words, where) => button(words, () => go(where()));
  const back = by("Back", () => get("step") - 1);
  const forward = by("Step", () => get("step") + 1);

  const tabs = Object.entries(VIEWS).map(([view, textContent]) =>
    make("button", {
      type: "button", id: `${id}-tab-${view}`, role: "tab", textContent, "aria-controls": `${id}-${view}`,
      onclick: () => write({ view }),
      onkeydown(event) {
        if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
        event.preventDefault();
        const other = tabs.find((tab) => tab !== event.currentTarget);
        other.click();
        other.focus();
      },
    }),
  );
  const said = spoken("acw-said");
  const pairs = picture(`0 0 ${SIDE + 30} ${SIDE + 30}`);
  const circle = picture("0 0 320 286");
  const [shares, counts, bytes] = [make("table"), make("table"), make("table")];
  const [before, after] = [picture("0 0 318 236"), picture("0 0 318 236")];
  const both = div("acw-columns even",
    figure("Before: tokens (rows) by heads (columns)", before),
    figure("After (underlined: never moved)", after),
  );
  const panel = (view, ...inside) =>
    make("div", { id: `${id}-${view}`, role: "tabpanel", "aria-labelledby": `${id}-tab-${view}` }, ...inside);
  const panels = [
    panel(
      "ring",
      div("acw-steps", back, forward, at.field),
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
    ),
    panel("ulysses", both, scroll("Bytes", bytes)),
  ];
  const root = shell("ring", "Ring stepper",
    make("div", { className: "acw-tabs", role: "tablist", "aria-label": "Way to split" }, ...tabs),
    div("acw-controls", ranks.field, share.field, layout.field, causal.label),
    said,
    ...panels,
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
    at.input.max = P - 1;
    at.show(step, step, `step ${step} of ${P - 1}`);
    back.disabled = step === 0;
    forward.disabled = step === P - 1;
    Object.keys(VIEWS).forEach((name, i) => {
      tabs[i].setAttribute("aria-selected", String(name === view));
      tabs[i].tabIndex = name === view ? 0 : -1;
      panels[i].hidden = name !== view;
    });
    layout.field.hidden = causal.label.hidden = view !== "ring";
    if (view === "ring") drawRing(state);
    else drawUlysses(state);
  }

  return { root, update };
});
