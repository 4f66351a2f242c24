// Small repairs to what the theme and Sphinx put on a page.

// Fixed labels hide from screen readers what a button or a folded cell itself says; the sidebar is no
// landmark; and the empty corner of a table is no heading of anything.
function repairMarkup() {
  const relabelled = "button.search-button-field[aria-label], details.hide > summary[aria-label]";
  for (const named of document.querySelectorAll(relabelled)) named.removeAttribute("aria-label");
  const sidebar = document.getElementById("pst-primary-sidebar");
  sidebar?.setAttribute("role", "region");
  sidebar?.setAttribute("aria-label", "Course");
  for (const corner of document.querySelectorAll("article th")) {
    if (!corner.textContent.trim()) corner.replaceWith(document.createElement("td"));
  }
  document.querySelector(".btn-next-page-button")?.removeAttribute("target"); // the theme opens a new tab
  // In the narrow list of contents a long name breaks behind an underscore, not inside a word.
  for (const name of document.querySelectorAll(".bd-sidebar-secondary code .pre")) {
    const parts = name.textContent.split(/(?<=_)(?=[^_])/);
    if (parts.length > 1 && !name.childElementCount) {
      name.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
    }
  }
}

// What is too wide for its column scrolls by itself, and is reachable by keyboard to be scrolled.
function fitWideParts() {
  for (const formula of document.querySelectorAll("mjx-container:not([display])")) {
    const room = formula.parentElement.closest("p, li, dd, div").clientWidth;
    formula.classList.toggle("wide", formula.firstElementChild.getBoundingClientRect().width > room);
  }
  const tables = ".pst-scrollable-table-container, .acw-scroll";
  const printed = "article pre:not([aria-label])";
  for (const box of document.querySelectorAll(`div.math, mjx-container.wide, ${printed}, ${tables}`)) {
    const isWide = box.scrollWidth > box.clientWidth;
    if (box.matches(tables)) box.classList.toggle("wide", isWide);
    if (box.matches(".acw-scroll")) continue; // always reachable
    if (isWide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// On paper nothing unfolds, and dark pages waste ink. Tables to look things up in stay folded.
function makeReadyForPaper() {
  const root = document.documentElement.dataset;
  const theme = root.theme;
  const folded = [...document.querySelectorAll("article details:not([open], .look-up)")];
  root.theme = "light";
  for (const details of folded) details.open = true;
  const undo = () => {
    root.theme = theme;
    for (const details of folded) details.open = false;
  };
  addEventListener("afterprint", undo, { once: true });
}

// Opened from a folder, a page may not read its neighbours: the search shows no excerpts there.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// The menu of colours loses the focus where it is opened by keyboard, and cannot be used any more.
addEventListener("shown.bs.dropdown", (event) => setTimeout(() => event.target.focus()));

addEventListener("DOMContentLoaded", repairMarkup);
addEventListener("load", () => {
  fitWideParts();
  globalThis.MathJax?.startup?.promise?.then(fitWideParts);
});
// What was folded had no width; unfolding it, like a new width of the window, gives the article another size.
addEventListener("DOMContentLoaded", () => {
  const sizes = new ResizeObserver(() => requestAnimationFrame(fitWideParts));
  for (const article of document.querySelectorAll("article")) sizes.observe(article);
});
addEventListener("beforeprint", makeReadyForPaper);
