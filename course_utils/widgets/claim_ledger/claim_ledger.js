// The ledger of claims: filters, a table whose rows open, and a timeline of what it is about.
import { button, choice, div, make, scroll, shell, spoken, uniqueId, widget } from "../shared.js";
import { task } from "../task.js";
import { VERDICTS, details, kinds, lit, passes, sentence, told, ways } from "./claim_ledger_rows.js";

const FILTERS = ["chapter", "verdict", "how", "text"];

export default widget([...FILTERS, "opened"], ({ model, write }) => {
  const id = uniqueId();
  const claims = model.get("claims");
  const timeline = model.get("timeline");

  const choose = (name, label, all, options) =>
    choice(label, (value) => write({ [name]: value }), [["", all], ...options]);
  const dated = timeline.flatMap((entry) => entry.chapters.map((chapter) => ({ chapter })));
  const choices = {
    chapter: choose("chapter", "chapter", "all chapters", kinds([...claims, ...dated], "chapter")),
    verdict: choose("verdict", "verdict", "all verdicts", Object.entries(VERDICTS)),
    how: choose("how", "checked by", "all ways", kinds(claims, "how")),
  };
  const search = make("input", { id: `${id}-text`, type: "search", oninput: () => write({ text: search.value }) });
  const clear = button("Show all", () => write({ chapter: "", verdict: "", how: "", text: "" }));
  const said = spoken("acw-said");
  const how = make("p", { className: "acw-note" });

  const rows = claims.map((claim) => {
    const open = make("button", {
      type: "button",
      textContent: claim.id,
      "aria-expanded": "false",
      onclick: () => write({ opened: model.get("opened") === claim.id ? "" : claim.id }),
    });
    const row = make("tr", {},
      make("th", { scope: "row" }, open),
      make("td", {}, claim.claim),
      make("td", { className: `acw-verdict ${claim.verdict}` }, VERDICTS[claim.verdict]),
    );
    return { claim, open, row };
  });
  const listed = detailRow();
  const goal = task("open a claim that was run here and is wrong.");
  const body = make("tbody", {}, ...rows.map(({ row }) => row));
  const head = make("tr", {}, ...["Claim", "A published text says", "Verdict"].map((textContent) => make("th", { scope: "col", textContent })));
  const table = make("table", {}, make("thead", {}, head), body);

  const cited = spoken("acw-cited");
  const entries = timeline.map((entry) => {
    const show = () => (cited.textContent = told(entry));
    const button = make("button", { type: "button", onfocus: show, onmouseenter: show, onclick: show }, make("time", { dateTime: entry.date }, entry.date.slice(0, 4)), ` ${entry.event}`);
    return { entry, button };
  });
  const years = make("ol", {}, ...entries.map(({ button }) => make("li", {}, button)));

  const root = shell("ledger", "Ledger of claims",
    div("acw-controls",
      ...Object.values(choices).map(({ field }) => field),
      div("acw-field", make("label", { for: search.id }, "words"), search),
      clear,
    ),
    said,
    how,
    goal.line,
    div("acw-both",
      scroll("Claims", table),
      make("div", { className: "acw-time", hidden: !timeline.length },
        make("p", { className: "acw-title", textContent: "Timeline" }),
        cited,
        scroll("Timeline", years),
      ),
    ),
  );

  function update() {
    const wanted = Object.fromEntries(FILTERS.map((name) => [name, model.get(name)]));
    for (const [name, { select }] of Object.entries(choices)) select.value = wanted[name];
    if (search.value !== wanted.text) search.value = wanted.text;
    const opened = model.get("opened");
    listed.row.remove();
    for (const { claim, open, row } of rows) {
      row.hidden = !passes(claim, wanted);
      const isOpen = claim.id === opened && !row.hidden;
      open.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) {
        listed.show(claim);
        row.after(listed.row);
      }
    }
    goal.met(rows.some(({ claim, row }) => claim.id === opened && !row.hidden && claim.verdict === "wrong" && claim.how === "run"));
    const shown = rows.filter(({ row }) => !row.hidden).map(({ claim }) => claim);
    said.textContent = sentence(shown, claims.length);
    how.textContent = ways(shown);
    for (const { entry, button } of entries) {
      const on = lit(entry, wanted.chapter);
      button.classList.toggle("lit", on);
      button.setAttribute("aria-pressed", String(on));
    }
    const on = entries.filter(({ entry }) => lit(entry, wanted.chapter));
    years.parentElement.scrollTop = on.length ? on[0].button.offsetTop - years.offsetTop : 0;
    cited.textContent = wanted.chapter ? `${on.length} of ${entries.length} entries belong to chapter ${wanted.chapter}.` : "Point at an entry for its citation; choose a chapter to highlight its works.";
  }

  return { root, update };
});

/** One row for the details of the claim that is open. */
function detailRow() {
  const list = make("dl");
  const row = make("tr", { className: "acw-open" }, make("td", { colSpan: 3 }, list));
  const show = (claim) =>
    list.replaceChildren(...details(claim).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  return { row, show };
}
