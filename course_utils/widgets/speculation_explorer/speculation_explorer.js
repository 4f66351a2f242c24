// Speculative decoding over eight tokens: what the draft says, what the target accepts, and what comes out.
import { check, slider } from "../inputs.js";
import { button, depict, div, figure, fill, make, picture, shell, widget } from "../shared.js";
import { player } from "../player.js";
import { task } from "../task.js";
import { MOST, TOKENS, WHOLE, longRun, moved, progress } from "./speculation_explorer_numbers.js";
import { LINE, counters, drawRatio, drawSum, percent, places, sentence } from "./speculation_explorer_picture.js";

const TRAITS = ["target", "draft", "gamma", "seed", "rounds", "stage", "from_target"];
const BEAT = 1400;
const KINDS = { target: "target p", draft: "draft q" };

export default widget(TRAITS, ({ model, write, read }) => {

  const gamma = slider("guesses per call γ", { min: 1, max: MOST.gamma }, (value) => (stop(), write({ gamma: value, stage: WHOLE })));
  const wrong = check(" draw from p instead of the residual", (from_target) => write({ from_target }));
  const said = make("p", { className: "acw-said" });
  const isLast = () => model.get("rounds") >= MOST.rounds - 1;
  const forward = () => {
    const { events, shown } = progress(read());
    if (shown < events.length) write({ stage: shown + 1 });
    else if (!isLast()) write({ rounds: model.get("rounds") + 1, stage: 1 });
  };
  const { play, stop } = player(BEAT, said, { at: () => 0, last: () => Number(!isLast()), go: (to) => to && forward() });
  const by = (words, act) => button(words, () => (stop(), act()));
  const back = by("Back", () => {
    const { shown } = progress(read());
    const rounds = model.get("rounds");
    if (shown > 1 || !rounds) write({ stage: Math.max(0, shown - 1) });
    else write({ rounds: rounds - 1, stage: WHOLE });
  });
  const step = by("Step", forward);
  const run = by("Run 1000", () => write({ rounds: progress(read()).over + 999, stage: WHOLE }));
  const again = by("Begin again", () => write({ seed: model.get("seed") + 1, rounds: 0, stage: WHOLE }));
  const goal = task("shape the draft so that a call writes more than 4 tokens in the long run.");

  const rows = [...TOKENS].map((letter, index) => {
    const bars = Object.keys(KINDS).map((kind) => {
      const input = make("input", {
        type: "range", min: 0, max: 100, step: 1, className: kind, "aria-label": `${KINDS[kind]} of ${letter}`,
        oninput: () => write({ [kind]: moved(model.get(kind), index, +input.value) }),
      });
      return { kind, input, number: make("span", { className: "number" }) };
    });
    const came = { bar: make("span", { className: "came" }), number: make("span", { className: "number" }) };
    const row = div("token",
      make("b", { textContent: letter }),
      ...bars.flatMap(({ input, number }) => [input, number]),
      make("span", { className: "track" }, came.bar),
      came.number,
    );
    return { row, bars, came };
  });
  const key = (className, words) => make("span", {}, make("i", { className, "aria-hidden": "true" }), words);
  const legend = make("p", { className: "acw-legend" },
    key("target", "target p"), key("above", "residual: p above q"), key("draft", "draft q"), key("came", "came out"),
  );
  const call = make("ol", { className: "acw-call", "aria-label": "This call" });
  const viewBox = `0 0 ${LINE.wide} ${LINE.high}`;
  const [ratio, sum] = [picture(viewBox), picture(viewBox)];
  const sumWords = make("figcaption");
  const table = make("table");
  const root = shell("speculation", "Speculation explorer",
    div("acw-walk acw-stay", back, step, play, run),
    div("acw-controls", gamma.field, wrong.label, again),
    said,
    div("acw-columns",
      make("div", { className: "acw-bars", role: "group", "aria-label": "Distributions" }, legend, ...rows.map(({ row }) => row)),
      make("div", {}, call, figure("Accepted while u is below p/q", ratio), make("figure", {}, sumWords, sum), table),
    ),
    goal.line,
  );

  function drawBars(state, shares) {
    rows.forEach(({ bars, came }, i) => {
      const both = Math.min(state.target[i], state.draft[i]);
      for (const { kind, input, number } of bars) {
        const value = state[kind][i];
        input.value = value;
        input.style.setProperty("--value", value / 100);
        input.style.setProperty("--both", (kind === "target" ? both : value) / 100);
        input.setAttribute("aria-valuetext", `${value}%`);
        number.textContent = `${value}%`;
      }
      came.bar.style.setProperty("--value", shares ? shares[i] : 0);
      came.number.textContent = shares ? percent(shares[i]) : "";
    });
  }

  function update() {
    const state = read();
    const now = progress(state);
    const events = now.events.slice(0, now.shown);
    const judged = events.findLast(({ kind }) => kind === "draft");
    const last = events.find(({ kind }) => kind === "last");
    const { rows: counted, shares } = counters(state, now.over);
    gamma.show(state.gamma);
    wrong.input.checked = state.from_target;
    goal.met(longRun(state).perCall > 4);
    back.disabled = !now.shown && !state.rounds;
    step.disabled = state.rounds >= MOST.rounds - 1 && now.shown === now.events.length;
    run.disabled = now.over > MOST.rounds - 1000;
    drawBars(state, shares);
    said.textContent = sentence(state, now);
    call.replaceChildren(...places(now).map((textContent) => make("li", { textContent })));
    const at = judged ? `: p/q at ${judged.ratio.toFixed(2)}, u at ${judged.u.toFixed(3)}` : ", still empty";
    depict(ratio, `A line from 0 to 1${at}`, drawRatio(judged));
    const above = last ? !last.whole : !(state.from_target || now.accepted === state.gamma);
    sumWords.textContent = last || now.shown ? `One more token, from ${above ? "the residual" : "p"}` : "One more token";
    const met = last && `The weights side by side; u at ${last.u.toFixed(3)} meets ${TOKENS[last.token]}`;
    depict(sum, met ?? "A line, still empty", drawSum(last));
    fill(table, "", [`after ${now.over} ${now.over === 1 ? "call" : "calls"}`, "counted", "in the long run"], counted);
  }

  return { root, update, begin: () => [stop] };
});
