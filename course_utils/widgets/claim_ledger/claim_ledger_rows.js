// Which claims are shown, and what is said of them.

export const VERDICTS = {
  wrong: "wrong",
  corrected: "holds with a correction",
  "hardware-dependent": "depends on the machine",
  unverifiable: "no evidence",
  confirmed: "holds",
};
const MANY = {
  wrong: "wrong",
  corrected: "hold with a correction",
  "hardware-dependent": "depend on the machine",
  unverifiable: "without evidence",
  confirmed: "hold",
};
const NOT_RUN = {
  "looked up": "Looked up in the work cited: nothing was run.",
  read: "Read: the claim alone decides; nothing was run.",
  remembered: "Remembered from the literature, not looked up again: nothing was run.",
};

/** Whether a claim passes every filter; of a text, each word must occur somewhere in it. */
export function passes(claim, { chapter, verdict, how, text }) {
  if (chapter && claim.chapter !== chapter) return false;
  if (verdict && claim.verdict !== verdict) return false;
  if (how && claim.how !== how) return false;
  const written = [claim.id, claim.claim, claim.correct, claim.found, claim.check].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => written.includes(word));
}

/** How many claims there are of each kind, in the order of the kinds. */
export const tally = (claims, name, kinds) =>
  kinds.map((kind) => [kind, claims.filter((claim) => claim[name] === kind).length]);

/** The kinds that occur, each once, in order. */
export const kinds = (claims, name) => [...new Set(claims.map((claim) => claim[name]))].sort();

/** What is shown, in words. */
export function sentence(shown, total) {
  const parts = tally(shown, "verdict", Object.keys(VERDICTS)).filter(([, count]) => count);
  const told = parts.map(([verdict, count]) => `${count} ${MANY[verdict]}`).join(", ");
  return `${shown.length} of ${total} claims${told ? `: ${told}` : ""}.`;
}

/** How claims were checked, in words. */
export function ways(shown) {
  const told = tally(shown, "how", kinds(shown, "how")).map(([how, count]) => `${count} ${how}`);
  return told.length ? `Checked: ${told.join(", ")}.` : "No claim passes these filters.";
}

/** What opens below a claim: a name and a text each. */
export function details(claim) {
  const run = claim.how === "run" || claim.how === "computed";
  const works = claim.cite?.length ? [["Works", claim.cite.join("; ")]] : [];
  return run
    ? [
        ["What holds", claim.correct],
        ["Found now", claim.found || "Not recomputed here."],
        ["By", claim.check ? `${claim.check}(), course_utils.claims` : "a check of the course"],
      ]
    : [["What holds", claim.correct], ["How", NOT_RUN[claim.how] ?? claim.how], ...works];
}

/** Whether an entry of the timeline belongs to the chapter that was chosen. */
export const lit = (entry, chapter) => chapter !== "" && entry.chapters.includes(chapter);

/** An entry of the timeline and its citation, in words. */
export function told(entry) {
  const many = entry.chapters.length > 1 ? "Chapters" : "Chapter";
  return `${entry.date}: ${entry.event}. ${entry.citation}. ${many} ${entry.chapters.join(", ")}.`;
}
