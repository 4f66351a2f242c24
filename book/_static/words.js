// Shows the entry of a word of the glossary at its link: under the pointer, and on focus. Escape hides it.
addEventListener("DOMContentLoaded", () => {
  const kept = document.getElementById("words");
  const entries = kept ? JSON.parse(kept.textContent) : {};
  const tip = document.createElement("div");
  Object.assign(tip, { className: "word-tip", id: "word-tip", role: "tooltip", hidden: true });
  let leaving;

  function show(link) {
    clearTimeout(leaving);
    tip.innerHTML = entries[link.hash.slice(1)];
    link.parentElement.closest("p, li, dd, td, section").after(tip);
    link.setAttribute("aria-describedby", tip.id);
    tip.hidden = false;
    globalThis.MathJax?.typesetPromise?.([tip]).then(() => place(link));
    place(link);
  }

  /** Put the tip below its link, inside the column of text. */
  function place(link) {
    const column = tip.parentElement.getBoundingClientRect();
    const word = link.getClientRects()[0]; // its first line, where it has two
    const origin = tip.offsetParent.getBoundingClientRect();
    const left = Math.min(word.left, column.right - tip.offsetWidth);
    tip.style.left = `${Math.max(left, column.left) - origin.left}px`;
    tip.style.top = `${link.getBoundingClientRect().bottom + 4 - origin.top}px`;
  }

  function hide() {
    tip.hidden = true;
    document.querySelector("[aria-describedby='word-tip']")?.removeAttribute("aria-describedby");
  }

  for (const link of document.querySelectorAll("a:has(> .std-term)")) {
    if (!(link.hash.slice(1) in entries)) continue;
    link.classList.add("word");
    link.addEventListener("mouseenter", () => show(link));
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("mouseleave", () => (leaving = setTimeout(hide, 200))); // time to enter the tip
  }
  tip.addEventListener("mouseenter", () => clearTimeout(leaving));
  tip.addEventListener("mouseleave", hide);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
});
