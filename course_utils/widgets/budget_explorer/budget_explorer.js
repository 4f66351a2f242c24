// The budget explorer: what a law would buy with a budget, beside what a published run bought.
import { slider } from "../inputs.js";
import { presets } from "../presets.js";
import { choice, depict, div, fill, make, offer, picture, scroll, shell, spoken, widget } from "../shared.js";
import { task } from "../task.js";
import { count, power } from "../units.js";
import { lossAt, optimum } from "./budget_explorer_law.js";
import { PLOT, drawCurve } from "./budget_explorer_picture.js";

const BUDGET = { min: 1200, max: 2700 };
const NEAR = 0.001;

/** What the law says, and what the run's size could read for the same budget, in words. */
export function advice(name, law, flops, run, own) {
  const { N, D, loss } = optimum(law, flops);
  const left = flops / 6 / own;
  return (
    `${name}, ${power(flops)} flop: ${count(N)} parameters and ${count(D)} tokens ` +
    `(${+(D / N).toPrecision(2)} per parameter), loss ${loss.toFixed(3)}. ` +
    `At ${run}'s ${count(own)} parameters they buy ${count(left)} tokens: loss ${lossAt(law, own, left).toFixed(3)}.`
  );
}

/** What each law makes of a budget. */
export const answers = (laws, flops) =>
  Object.entries(laws).map(([name, law]) => {
    const { N, D, loss } = optimum(law, flops);
    return [name, count(N), count(D), String(+(D / N).toPrecision(2)), loss.toFixed(3)];
  });

export default widget(["run", "law", "laws", "budget"], ({ model, write }) => {
  const runs = model.get("runs");
  const spent = (run) => Math.round(100 * Math.log10(6 * runs[run][0] * runs[run][1])) / 100;
  const start = presets("Published runs", Object.keys(runs), (run) => write({ run, budget: spent(run) }));
  const law = choice("law", (law) => write({ law }));
  const spend = slider("budget (flop)", BUDGET, (hundredths) => write({ budget: hundredths / 100 }));
  const said = spoken("acw-said");
  const compared = make("table");
  const curve = picture(`0 0 ${PLOT.wide} ${PLOT.high}`);
  const goal = task(`find a run whose size a law calls nearly best: at most ${NEAR} above the lowest loss.`);
  const root = shell("budget", "Budget explorer",
    start.field,
    div("acw-controls acw-rows acw-stay", law.field, spend.field),
    said,
    make("figure", {}, curve),
    scroll("The laws' answers", compared),
    goal.line,
  );

  function update() {
    const [run, name, laws] = ["run", "law", "laws"].map((one) => model.get(one));
    const [own, constants, flops] = [runs[run][0], laws[name], 10 ** model.get("budget")];
    start.show(run);
    offer(law, Object.keys(laws));
    law.select.value = name;
    spend.show(Math.round(100 * model.get("budget")), power(flops));
    said.textContent = advice(name, constants, flops, run, own);
    depict(curve, `Loss against parameters along 6ND = C. ${said.textContent}`, drawCurve(constants, flops, run, own));
    fill(compared, "the same budget under each law", ["law", "N", "tokens D", "D / N", "loss"], answers(laws, flops));
    goal.met(lossAt(constants, own, flops / 6 / own) - optimum(constants, flops).loss <= NEAR);
  }

  return { root, update };
});
