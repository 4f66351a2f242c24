// The front page's wrong answers as three buttons, of which the pressed one shows its verdict. Without JavaScript all are shown.
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".front-answers")) {
    const answers = [...box.querySelectorAll(".front-answer")];
    const cards = answers.map((answer) => answer.querySelector(".front-card"));
    const row = document.createElement("div");
    row.className = "front-choice";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Three wrong answers");
    const shown = document.createElement("div");
    shown.setAttribute("aria-live", "polite");
    const buttons = answers.map((answer, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = answer.querySelector("pre").textContent;
      button.addEventListener("click", () => show(i));
      return button;
    });
    function show(chosen) {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
      shown.replaceChildren(cards[chosen]);
    }
    row.append(...buttons);
    box.replaceChildren(row, shown);
    show(0);
  }
});
