// Folds the sections that are not on a chapter's core path. Without JavaScript, and on paper, they are open. What a
// reader has opened or folded by hand stays so, in this browser.
(() => {
  const kept = courseKept("attention-course-further");
  const page = location.pathname.match(/(\d\d_\w+)\.html/)?.[1];

  const bodyOf = (section) => section.querySelector(":scope > .further-body");

  function turn(section, isOpen) {
    const body = bodyOf(section);
    if (isOpen) body.removeAttribute("hidden");
    else body.setAttribute("hidden", "until-found"); // the browser's own search opens it
    const button = section.querySelector(":scope > .further-time > button");
    const title = section.querySelector("h2").firstChild.textContent;
    button.textContent = isOpen ? "Fold" : "Open";
    button.setAttribute("aria-label", `${button.textContent} ${title}`);
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) dispatchEvent(new Event("resize")); // what was folded had no width
  }

  function fold(section, index) {
    const heading = section.querySelector(":scope > h2");
    let time = heading.nextElementSibling;
    if (!time?.matches("p:has(> em:only-child)")) time = heading.insertAdjacentElement("afterend", document.createElement("p"));
    const body = document.createElement("div");
    body.append(...[...section.childNodes].slice([...section.childNodes].indexOf(time) + 1));
    body.className = "further-body";
    body.id = `further-${index}`;
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-controls", body.id);
    time.classList.add("further-time");
    time.append(" ", button);
    section.append(body);
    const toggle = (event) => {
      if (event.target.closest("a")) return;
      const isOpen = body.hasAttribute("hidden");
      turn(section, isOpen);
      kept.put(`${page}#${section.id}`, isOpen);
    };
    button.addEventListener("click", toggle);
    heading.addEventListener("click", toggle);
    body.addEventListener("beforematch", () => turn(section, true));
    turn(section, kept.all()[`${page}#${section.id}`] === true);
  }

  /** Open what holds an element; return whether it was folded. */
  function open(element) {
    const section = element?.closest("section.further");
    const isFolded = Boolean(section && bodyOf(section)?.hasAttribute("hidden"));
    if (isFolded) turn(section, true);
    return isFolded;
  }

  /** Open what holds a word that was searched for on the search page, which leaves its words here. */
  function openFound() {
    const words = (localStorage.getItem("sphinx_highlight_terms") ?? "").split(" ").filter(Boolean);
    const sections = document.querySelectorAll("section.further");
    if (sections.length) localStorage.removeItem("sphinx_highlight_terms");
    for (const section of sections) {
      const text = section.textContent.toLowerCase();
      if (words.some((word) => text.includes(word))) open(section);
    }
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (open(target)) target.scrollIntoView();
  }

  addEventListener("DOMContentLoaded", () => document.querySelectorAll("section.further").forEach(fold));
  addEventListener("load", () => {
    openFound();
    follow();
  });
  addEventListener("hashchange", follow);
  addEventListener("click", (event) => event.target.closest?.("a[href*='#']") && setTimeout(follow));
})();
