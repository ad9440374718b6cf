// Pages of accounts, reminders and sends: counters, placeholders, pickers, previews of attachments, and countdowns.
"use strict";

// How many characters a message has, of those that the platform of the chosen account takes

function countLetters(area) {
  const chosen = area.form.querySelector("#account")?.selectedOptions[0];
  const message = area.closest(".message");
  const counter = message?.querySelector("[data-counter]");
  if (!chosen || !counter) return;
  const captioned = Boolean(message.querySelector("[name=file]").value);
  const most = Number(captioned ? chosen.dataset.caption : chosen.dataset.text);
  const length = [...area.value].length;
  counter.hidden = false;
  const words = most
    ? `${length.toLocaleString()} of ${most.toLocaleString()} characters (${chosen.dataset.brand}${captioned ? " caption" : ""})`
    : `${length.toLocaleString()} characters`;
  if (counter.textContent !== words) counter.textContent = words;
  counter.classList.toggle("over", Boolean(most) && length > most);
}

function showThumb(message) {
  const picture = message.querySelector("[data-thumb]");
  const sha256 = message.querySelector("[name=sha256]").value;
  const isPicture = /\.(jpe?g|png|webp)$/i.test(message.querySelector("[name=file]").value);
  picture.hidden = !(sha256 && isPicture);
  if (!picture.hidden) picture.src = picture.dataset.thumb + sha256;
}

function showMessage(message, _place, all) {
  message.querySelector("[data-drop-message]").hidden = all.length < 2; // one message there must be
  message.querySelector("[data-placeholders]").hidden = false;
  countLetters(message.querySelector("textarea"));
  showThumb(message);
}

// Groups: how many are ticked, and all that are shown at once

function countPicked(picker) {
  const boxes = [...document.querySelectorAll(`${picker.dataset.picker} input[type=checkbox]`)];
  const shown = boxes.filter((box) => !box.closest("label").hidden).length;
  picker.hidden = !boxes.length;
  const filtered = shown < boxes.length ? `, ${shown.toLocaleString()} shown` : "";
  const ticked = boxes.filter((box) => box.checked).length;
  for (const count of document.querySelectorAll(`[data-count-of="${picker.dataset.picker}"]`)) {
    count.textContent = ticked ? ` (${ticked.toLocaleString()})` : "";
  }
  const words = `${ticked.toLocaleString()} of ${boxes.length.toLocaleString()} selected${filtered}`;
  const place = picker.querySelector("[data-picked]");
  if (place.textContent !== words) place.textContent = words;
}

function countAll() {
  document.querySelectorAll("[data-picker]").forEach(countPicked);
}

function pick(picker, ticked) {
  for (const box of document.querySelectorAll(`${picker.dataset.picker} input[type=checkbox]`)) {
    if (!ticked || !box.closest("label").hidden) box.checked = ticked;
  }
  countAll();
}

const wizard = document.querySelector("form.wizard[data-guarded]");

if (wizard) {
  wizard.querySelectorAll("[data-messages] .message").forEach(showMessage);
  wizard.querySelectorAll("[data-quick]").forEach((chips) => (chips.hidden = false));
  new MutationObserver(() => wizard.querySelectorAll("[data-messages] .message").forEach(showMessage)).observe(
    wizard.querySelector("[data-messages]"), { childList: true, subtree: true, characterData: true },
  );
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-counted]")) countLetters(event.target);
  countAll();
});
document.addEventListener("change", (event) => {
  if (event.target.id === "account") document.querySelectorAll("[data-counted]").forEach(countLetters);
  countAll();
});
document.body.addEventListener("htmx:afterSwap", countAll);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const picker = button.closest("[data-picker]");
  if (picker && button.matches("[data-pick-shown]")) pick(picker, true);
  if (picker && button.matches("[data-pick-none]")) pick(picker, false);
  if (button.dataset.insert) {
    const area = button.closest(".message").querySelector("textarea");
    area.setRangeText(button.dataset.insert, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
    area.focus();
  }
  if (button.dataset.days) {
    const at = new Date(Date.now() + Number(button.dataset.days) * 86400000);
    const two = (number) => String(number).padStart(2, "0");
    const field = button.form.querySelector("#at");
    field.value = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(button.dataset.hour)}:00`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
});
addEventListener("pageshow", countAll);
countAll();

// A code to scan is valid for a while: the seconds that are left, from when the page was sent

const ends = new WeakMap();

function countDown() {
  for (const place of document.querySelectorAll("[data-valid-for]")) {
    if (!ends.has(place)) ends.set(place, Date.now() + 1000 * Number(place.dataset.validFor));
    const left = Math.round((ends.get(place) - Date.now()) / 1000);
    place.textContent = left > 0 ? `A new code appears in ${left} s.` : "Waiting for a new code …";
  }
}
setInterval(countDown, 1000);
countDown();
