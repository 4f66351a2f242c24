// Moving over a row of buttons with the keyboard.

/** Move the focus over a row of elements: these two keys to the one before and behind, Home and End to the ends. */
export function rove(row, [before, behind], elements, arrived = () => {}) {
  row.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const all = elements();
    const now = all.indexOf(event.target.closest("button"));
    const to = { [before]: now - 1, [behind]: now + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (!all[to]) return;
    all[to].focus();
    arrived(to);
  });
}
