// Ticks in lists: how many there are, all at once, and kept while the list is loaded anew.
"use strict";

const ticksOf = (name) => [...document.querySelectorAll(`input[data-tick][name="${name}"]`)];

function showTicked() {
  for (const place of document.querySelectorAll("[data-ticked]")) {
    const name = place.dataset.ticked;
    const all = ticksOf(name);
    const ticked = all.filter((one) => one.checked).length;
    place.textContent = ticked ? `${ticked} selected` : "";
    const form = place.closest("form");
    for (const count of form.querySelectorAll("[data-count-of]")) count.textContent = ticked ? ` (${ticked})` : "";
    form.hidden = !all.length;
    for (const button of form.querySelectorAll("button")) button.disabled = !ticked;
    const every = form.querySelector("[data-tick-all]");
    every.closest("label").hidden = !all.length;
    every.checked = all.length > 0 && ticked === all.length;
    every.indeterminate = ticked > 0 && ticked < all.length;
  }
}

document.addEventListener("change", (event) => {
  const name = event.target.dataset?.tickAll;
  if (name) for (const one of ticksOf(name)) one.checked = event.target.checked;
  if (name || event.target.matches?.("[data-tick]")) showTicked();
  const choice = event.target.dataset?.chooses; // ticking one of some means these, not all
  if (choice && event.target.checked) document.getElementById(choice).checked = true;
});

let ticked = [];
document.body.addEventListener("htmx:beforeSwap", (event) => {
  ticked = [...event.detail.target.querySelectorAll("[data-tick]:checked")].map((one) => `${one.name} ${one.value}`);
});
// "Show more" goes on where one was: the first of the new results gets the focus.
let shownBefore = 0;
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "finds") shownBefore = event.detail.target.children.length;
});
document.body.addEventListener("htmx:afterSettle", (event) => {
  const list = event.detail.target;
  if (list.id !== "finds" || !list.children[shownBefore]) return;
  list.children[shownBefore].querySelector("a").focus();
});
// One chip at a time is open, and none after a click elsewhere.
document.addEventListener("click", (event) => {
  for (const chip of document.querySelectorAll("details.chip[open]")) if (!chip.contains(event.target)) chip.open = false;
});

document.body.addEventListener("htmx:afterSwap", () => {
  for (const one of document.querySelectorAll("[data-tick]")) one.checked ||= ticked.includes(`${one.name} ${one.value}`);
  ticked = [];
  showTicked();
});
addEventListener("pageshow", showTicked);
showTicked();
