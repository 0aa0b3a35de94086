"use strict";
const rows = [...document.querySelectorAll("#tests .row:not(.head)")];
const text = document.getElementById("filter-text");
const result = document.getElementById("filter-result");
const target = document.getElementById("filter-target");
const shown = document.getElementById("filter-count");
function apply() {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let number = 0;
  for (const row of rows) {
    const name = row.firstElementChild.textContent.toLowerCase();
    const fits = (!result.value || row.dataset.result === result.value) &&
      (!target.value || row.dataset.target === target.value) && words.every((word) => name.includes(word));
    row.hidden = !fits;
    number += fits;
  }
  shown.textContent = `${number} of ${rows.length}`;
}
for (const control of [text, result, target]) control.addEventListener("input", apply);
apply();
// Milliseconds since the file was opened until the table can be used; and until the page was laid out.
document.documentElement.dataset.ready = Math.round(performance.now());
addEventListener("load", () => {
  document.body.getBoundingClientRect();
  document.documentElement.dataset.loaded = Math.round(performance.now());
});
