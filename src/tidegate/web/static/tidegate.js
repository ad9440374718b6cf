// What the pages need beyond htmx: times in the browser's zone, live updates, notifications, and status messages.
"use strict";

const shown = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const thisYear = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
const ways = { clock, day, exact: shown };
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
const NEARBY = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [7 * 86400, 86400, "day"]];

// Up to a week away as a distance, then as a date; the exact time is in its title.
function distance(moment) {
  const seconds = (moment - Date.now()) / 1000;
  if (Math.abs(seconds) < 60) return seconds > 0 ? "in a moment" : "just now";
  const [, length, unit] = NEARBY.find(([most]) => Math.abs(seconds) < most) ?? [];
  if (unit) return relative.format(Math.trunc(seconds / length), unit);
  return (moment.getFullYear() === new Date().getFullYear() ? thisYear : shown).format(moment);
}

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const way = ways[time.dataset.show];
    const words = way ? way.format(moment) : distance(moment);
    if (time.textContent !== words) time.textContent = words;
    time.title ||= `${exact.format(moment)} · ${time.dateTime.replace("T", " ").replace("+00:00", "")} UTC`;
  }
}
setInterval(() => document.hidden || showTimes(document), 30000);

// Sentences

function say(sentence) {
  const line = document.createElement("p");
  line.textContent = sentence;
  document.getElementById("said").append(line);
  setTimeout(() => line.remove(), 8000);
}

function tellTrouble(sentence) {
  const place = document.getElementById("trouble");
  place.textContent = sentence;
  place.hidden = !sentence;
  if (sentence) place.scrollIntoView({ block: "nearest" });
}

// A refused value is marked, and the sentence about it belongs to it: the server names the field.
function showFault(form, answer) {
  for (const one of document.querySelectorAll("[aria-invalid][aria-describedby~=trouble]")) {
    one.removeAttribute("aria-invalid");
    one.setAttribute("aria-describedby", one.getAttribute("aria-describedby").replace(/^trouble ?/, ""));
  }
  const named = answer.status >= 400 && answer.getResponseHeader("Tidegate-Field");
  const field = named && form.elements?.[named];
  const input = field instanceof RadioNodeList ? field[0] : field;
  if (!input) return;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", `trouble ${input.getAttribute("aria-describedby") ?? ""}`.trim());
  input.focus({ preventScroll: true });
}

function reason(answer) {
  try {
    return JSON.parse(answer.responseText).detail;
  } catch {
    return `That did not work (${answer.status}). Reload the page.`;
  }
}

// News: one stream a page; what it brings becomes events that parts of the page wait for

const waiting = new Set(); // families of events that parts have not been told of yet
let resting = false;

// Parts are told at once, and then once a second at most; what comes meanwhile is told at its end, never dropped.
function spread() {
  if (resting || document.hidden || !waiting.size) return;
  const families = [...waiting];
  waiting.clear();
  resting = true;
  setTimeout(() => {
    resting = false;
    spread();
  }, 1000);
  for (const family of families) document.body.dispatchEvent(new CustomEvent(`news-${family}`));
}

function showLive(on, words) {
  const place = document.getElementById("live");
  if (!place) return;
  place.classList.toggle("on", on);
  if (place.textContent !== words) place.textContent = words;
}

let stream;

function hear(address, again = false) {
  const place = new URL(address, location.href);
  const open = document.getElementById("chat-frame")?.dataset.chat;
  if (open) place.searchParams.set("chat", open);
  if (!again) showLive(false, "Connecting …");
  stream = new EventSource(place);
  stream.addEventListener("open", () => {
    showLive(true, "Live");
    if (again) document.body.dispatchEvent(new CustomEvent("messages", { detail: { ids: [], all: true } }));
    again = true; // what changed while there was no connection is not known
  });
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return showLive(false, "Reconnecting …");
    // Refused, for example while the database is away: a browser does not ask again by itself then.
    showLive(false, "Not live. Reload the page if this stays.");
    setTimeout(() => hear(place, true), 5000);
  });
  stream.addEventListener("messages", (message) => {
    document.body.dispatchEvent(new CustomEvent("messages", { detail: JSON.parse(message.data) }));
  });
  stream.addEventListener("news", (message) => {
    const news = JSON.parse(message.data);
    place.searchParams.set("after", message.lastEventId);
    news.told.forEach(notify);
    news.families.forEach((family) => waiting.add(family));
    spread();
    if (news.all) document.body.dispatchEvent(new CustomEvent("changed"));
  });
}
addEventListener("pagehide", () => stream?.close());

// What had the focus or was unfolded stays so when its part of the page is loaded anew: a keyboard never starts over.
function sameAs(element) {
  if (element.id) return element.id;
  const typed = element.form && new URLSearchParams(new FormData(element.form));
  const own = element.form || element.href ? "" : element.textContent; // a button may change its word
  return [element.tagName, own, element.href, element.form?.action, element.name, typed].join("\n");
}

let focused = null;
let unfolded = [];
document.body.addEventListener("htmx:beforeSwap", (event) => {
  // Times are set before they are seen: none flashes in UTC.
  const box = document.createElement("template");
  box.innerHTML = event.detail.serverResponse;
  showTimes(box.content);
  event.detail.serverResponse = box.innerHTML;
  const part = event.detail.target;
  focused = part.contains(document.activeElement) && sameAs(document.activeElement);
  unfolded = [...part.querySelectorAll("details[open] > summary")].map(sameAs);
});
document.body.addEventListener("htmx:afterSwap", (event) => {
  for (const one of event.detail.target.querySelectorAll("a, button, summary, input, select")) {
    if (focused && sameAs(one) === focused) one.focus({ preventScroll: true });
    if (one.matches("summary") && unfolded.includes(sameAs(one))) one.parentElement.open = true;
  }
});

// Notifications, where the browser allows them

function notify(event) {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  new Notification(event.title, { body: event.body, tag: event.cursor });
}

function offerNotifications(root) {
  for (const button of root.querySelectorAll("button[data-notify]")) {
    const may = "Notification" in window && Notification.permission === "default";
    button.hidden = !may;
    button.onclick = async () => {
      const answer = await Notification.requestPermission();
      say(answer === "granted" ? "You will be notified when a send is done." : "Notifications are blocked in your browser.");
      button.hidden = true;
    };
  }
}

function offerCopies(root) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.onclick = async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      say("Copied.");
    };
  }
}

htmx.onLoad((root) => {
  for (const one of root.querySelectorAll("input.finder")) one.hidden = false;
  showTimes(root);
  offerNotifications(root);
  offerCopies(root);
});
// Heard at the request itself: events of an element are lost when its part of the page was loaded anew meanwhile.
document.body.addEventListener("htmx:beforeRequest", (event) => {
  const { xhr: request, elt: form } = event.detail;
  request.addEventListener("load", () => {
    showFault(form, request);
    if (request.status >= 400) return tellTrouble(reason(request));
    const said = request.getResponseHeader("Tidegate-Said");
    if (!said) return;
    tellTrouble("");
    say(JSON.parse(said));
    document.body.dispatchEvent(new CustomEvent("changed"));
  });
  request.addEventListener("error", () => tellTrouble("Tidegate does not answer. Is it running?"));
});
// A form whose sign-in has ended goes again as it would without script: then what was typed is kept until it can be sent.
document.body.addEventListener("htmx:beforeOnLoad", (event) => {
  const form = event.detail.elt;
  if (!event.detail.xhr.getResponseHeader("Tidegate-Send") || !form.querySelector("input:not([type=hidden])")) return;
  event.preventDefault();
  isSent(form);
  form.submit();
});
document.addEventListener("visibilitychange", spread);
if (document.body.dataset.events) hear(document.body.dataset.events);

// The form of a reminder: messages added and removed, files sent ahead, groups found by a word, the browser's time zone

function changeToken() {
  return JSON.parse(document.body.getAttribute("hx-headers"))["X-Change-Token"];
}

let underWay = 0; // files that have not arrived yet: their messages cannot be sent without them

async function upload(address, file) {
  try {
    const answer = await fetch(address + encodeURIComponent(file.name), {
      method: "PUT", body: file, headers: { "X-Change-Token": changeToken(), "HX-Request": "true" },
    });
    return await answer.json();
  } catch {
    return { detail: `${file.name} did not arrive. Choose it again.` };
  }
}

async function sendFile(input) {
  const message = input.closest(".message");
  const [file] = input.files;
  if (!file) return;
  message.querySelector("[data-file]").textContent = `sending ${file.name} …`;
  underWay += 1;
  const told = await upload(input.dataset.upload, file);
  underWay -= 1;
  input.value = "";
  setFile(message, told.sha256 ? told.name : "", told.sha256 ?? "");
  tellTrouble(told.detail ?? "");
}

function setFile(message, name, sha256) {
  message.querySelector("[name=file]").value = name;
  message.querySelector("[name=sha256]").value = sha256;
  message.querySelector("[data-file]").textContent = name || "none";
  message.querySelector("[data-drop-file]").hidden = !name;
}

function addMessage(form) {
  const empty = form.querySelector("template[data-message]").content.cloneNode(true);
  const place = form.querySelector("[data-messages]");
  place.append(empty);
  place.lastElementChild.querySelector("textarea").focus();
}

function showTheme(button) {
  document.documentElement.dataset.theme = button.value;
  for (const one of button.form.elements.theme) one.setAttribute("aria-pressed", String(one === button));
}

function filterBy(input) {
  const wanted = input.value.trim().toLowerCase();
  for (const one of document.querySelectorAll(`${input.dataset.filter} label`)) {
    one.hidden = !one.textContent.toLowerCase().includes(wanted);
  }
  const options = [...document.querySelectorAll(`${input.dataset.filter} option:not([value=""])`)];
  for (const one of options) {
    const fits = one.textContent.toLowerCase().includes(wanted);
    one.hidden = one.disabled = !fits && !one.selected; // what is chosen stays
  }
  const found = document.querySelector(`[data-found-of="${input.dataset.filter}"]`);
  const count = options.filter((one) => one.textContent.toLowerCase().includes(wanted)).length;
  if (found) found.textContent = wanted ? `${count.toLocaleString()} found` : "";
}

// What belongs to a choice that is not taken can be neither changed nor sent. Without scripts the server refuses it.
function followChoices(form) {
  for (const part of form.querySelectorAll("fieldset[data-for]")) {
    const [name, value] = part.dataset.for.split("=");
    part.disabled = form.elements[name].value !== value;
  }
}
window.addEventListener("pageshow", () => document.querySelectorAll("form.wizard").forEach(followChoices));

document.addEventListener("change", (event) => {
  if (event.target.form?.matches(".wizard")) followChoices(event.target.form);
  if (event.target.matches("input[data-upload]")) sendFile(event.target);
});
document.addEventListener("submit", (event) => {
  if (!underWay || !event.target.matches(".wizard")) return;
  event.preventDefault();
  tellTrouble("A file is still being uploaded. Continue when it has arrived.");
});
document.addEventListener("input", (event) => {
  if (event.target.matches("input[data-filter]")) filterBy(event.target);
});
document.addEventListener("keydown", (event) => { // a filter sends no form
  if (event.key === "Enter" && event.target.matches("input[data-filter]")) event.preventDefault();
});
document.body.addEventListener("htmx:afterSwap", () => {  // what has just come is filtered as well
  document.querySelectorAll("input[data-filter]").forEach(filterBy);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const message = button.closest(".message");
  if (button.dataset.ask && !confirm(button.dataset.ask)) event.preventDefault();
  if (button.name === "theme") showTheme(button);
  if (button.matches("[data-add-message]")) addMessage(button.form);
  if (button.matches("[data-drop-file]")) setFile(message, "", "");
  if (button.matches("[data-drop-message]")) message.remove();
});
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const input of document.querySelectorAll("input[data-own-zone]")) input.value ||= ownZone;
for (const word of document.querySelectorAll("span[data-own-zone]")) word.textContent = ownZone;

// A channel's messages: older and newer ones are loaded while one scrolls, new ones come in at the bottom, and what is
// shown follows edits, deletions, reactions and votes

const frame = document.getElementById("chat-frame");
const chat = frame?.querySelector("#chat");
const NEAR = 1500; // pixels before the end of what is loaded at which more is loaded
const TAIL = 30; // messages that are looked at again from time to time, in case news of them were lost
const AT_ONCE = 50; // messages that are looked at again in one request; an album may be more
const TOGETHER = 10 * 60 * 1000;

function arrange() {
  let before = null;
  for (const one of chat.children) {
    const at = new Date(one.dataset.at);
    const last = before && new Date(before.dataset.at);
    const sameDay = before && day.format(at) === day.format(last);
    const sameTopic = before && one.dataset.topic === before.dataset.topic;
    const sameAuthor = before && one.dataset.author === before.dataset.author && at - last <= TOGETHER;
    one.classList.toggle("new-day", !sameDay);
    one.classList.toggle("same-topic", Boolean(sameTopic));
    one.classList.toggle("same", Boolean(sameDay && sameTopic && sameAuthor));
    before = one;
  }
}

// What one reads stays where it is while something is put above or below it, or in its place.
function holding(change) {
  const kept = [...chat.children].find((one) => one.getBoundingClientRect().bottom > 80);
  const before = kept?.getBoundingClientRect().top;
  change();
  arrange();
  const after = document.getElementById(kept?.id)?.getBoundingClientRect().top ?? before;
  if (after !== before) scrollBy({ top: after - before, behavior: "instant" });
}

async function chatAt(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!found.getElementById("chat")) throw new Error("no messages");
  showTimes(found);
  return found;
}

function replaceLink(id, found) {
  const there = found.getElementById(id)?.parentElement;
  const here = document.getElementById(id)?.parentElement;
  if (there && here) here.replaceWith(there);
  else if (there) document.getElementById("end").before(there);
  else here?.remove();
  watchLinks();
}

let loading = false;

async function loadMore(link) {
  if (loading) return;
  loading = true;
  try {
    const found = await chatAt(link.href);
    const messages = [...found.getElementById("chat").children];
    holding(() => {
      if (link.id === "older") chat.prepend(...messages);
      else chat.append(...messages);
      replaceLink(link.id, found);
    });
    if (!document.getElementById("newer")) document.getElementById("end").textContent = "These are the newest messages.";
  } catch {
    watcher.disconnect(); // tried again in a while, or when somebody follows the link
    setTimeout(watchLinks, 10000);
    say("The messages could not be loaded.");
  } finally {
    loading = false;
    catchUp();
  }
}

let watcher;

function watchLinks() {
  watcher ??= new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => loadMore(one.target)),
    { rootMargin: `${NEAR}px 0px` },
  );
  watcher.disconnect();
  for (const id of ["older", "newer"]) {
    const link = document.getElementById(id);
    if (link) watcher.observe(link);
  }
}

function atBottom() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
}

function toBottom() {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  document.getElementById("to-newest").hidden = true;
}

const changed = new Set(); // numbers of messages that are shown, or belong between those, and may have changed
let fresh = false; // whether there may be messages after the last one
let between = false; // whether there may be some between the last ones, too: what changed is not known
let pausing = false;

// An album is shown as one message and has the numbers of all its parts.
function numbersOf(one) {
  return [one, ...one.querySelectorAll(":scope > .bubble > span[id]")].map((part) => part.id.slice(1));
}

function shownAs(number) {
  return document.getElementById(`m${number}`)?.closest("#chat > li");
}

function isAfter(one, number) {
  return BigInt(one.id.slice(1)) > BigInt(number);
}

function hearChanges({ ids, all }) {
  fresh ||= all;
  between ||= all;
  if (all) for (const one of chat.children) changed.add(one.id.slice(1));
  for (const number of ids) {
    const isShown = shownAs(number);
    if (!isShown && !(chat.lastElementChild && isAfter(chat.lastElementChild, number))) fresh = true;
    else if (isShown || !isAfter(chat.firstElementChild, number)) changed.add(number);
    for (const answer of chat.querySelectorAll(`:scope > [data-reply="${number}"]`)) changed.add(answer.id.slice(1));
  }
  catchUp();
}

// One request at a time, and then a pause that grows with the time it took: many open pages never overload the server.
async function catchUp() {
  if (loading || pausing || document.hidden) return;
  const seeksNew = fresh && !document.getElementById("newer");
  fresh = false;
  if (!seeksNew && !changed.size) return;
  loading = pausing = true;
  const begun = performance.now();
  try {
    await (seeksNew ? readNew() : readChanged());
  } catch {
    // The page stays as it is: what is missing comes later, and "live" says when there is no connection.
  } finally {
    loading = false;
    setTimeout(() => {
      pausing = false;
      catchUp();
    }, Math.max(1000, 10 * (performance.now() - begun)));
  }
}

async function readNew() {
  const last = between ? [...chat.children].at(-TAIL) ?? chat.firstElementChild : chat.lastElementChild;
  const found = await chatAt(`${frame.dataset.source}/part?since=${last ? last.id.slice(1) : 1}`);
  between = false;
  const follows = atBottom();
  const came = putIn(found, () => replaceLink("newer", found));
  if (!came) return;
  frame.querySelector(".empty")?.remove();
  document.getElementById("chat-said").textContent = came === 1 ? "1 new message" : `${came} new messages`;
  if (follows) toBottom();
  else document.getElementById("to-newest").hidden = false;
}

async function readChanged() {
  const numbers = new Set();
  for (const number of changed) {
    if (numbers.size >= AT_ONCE) break;
    changed.delete(number);
    const one = shownAs(number);
    for (const part of one ? numbersOf(one) : [number]) numbers.add(part);
  }
  const found = await chatAt(`${frame.dataset.source}/part?ids=${[...numbers].join(",")}`);
  const follows = atBottom();
  putIn(found);
  if (follows) toBottom();
}

// Puts messages where they belong; one that has not changed is left alone. Returns how many were not there before.
function putIn(found, then = () => {}) {
  let came = 0;
  holding(() => {
    for (const one of [...found.getElementById("chat").children]) {
      const old = shownAs(one.id.slice(1));
      if (old?.dataset.version === one.dataset.version) continue;
      for (const part of numbersOf(one)) if (shownAs(part) !== old) shownAs(part)?.remove();
      if (old) replaceMessage(old, one);
      else {
        const next = [...chat.children].find((other) => isAfter(other, one.id.slice(1)));
        came += 1;
        chat.insertBefore(one, next ?? null);
      }
    }
    then();
  });
  return came;
}

// What was unfolded, shown or had the focus stays so.
function replaceMessage(old, one) {
  one.classList.toggle("mark", old.classList.contains("mark"));
  for (const [part, state] of [["details.long", "open"], ["details.earlier", "open"], [".spoiler input", "checked"]]) {
    const before = [...old.querySelectorAll(part)];
    [...one.querySelectorAll(part)].forEach((same, place) => (same[state] = Boolean(before[place]?.[state])));
  }
  const focused = old.contains(document.activeElement) && sameAs(document.activeElement);
  old.replaceWith(one);
  if (focused) [...one.querySelectorAll("a, summary, input")].find((same) => sameAs(same) === focused)?.focus({ preventScroll: true });
}

function lookAgain() {
  fresh = true;
  for (const one of [...chat.children].slice(-TAIL)) changed.add(one.id.slice(1));
  catchUp();
}

if (chat) {
  arrange();
  if (!frame.dataset.place && !location.hash) toBottom();
  watchLinks();
  document.body.addEventListener("messages", (event) => hearChanges(event.detail));
  document.addEventListener("visibilitychange", catchUp);
  setInterval(lookAgain, 30000);
  document.getElementById("to-newest").addEventListener("click", toBottom);
  addEventListener("scroll", () => {
    if (atBottom()) document.getElementById("to-newest").hidden = true;
  }, { passive: true });
}

// The open one of many tabs is in sight, also on a narrow screen.
for (const open of document.querySelectorAll(".tab-row [aria-current]")) {
  open.closest(".tab-row").scrollLeft = open.parentElement.offsetLeft - 60;
}

// What was typed is not left by mistake: fields that were changed since their form was sent, and forms that came back.

const unsaved = new Set(document.querySelectorAll("form[data-typed]"));
const CHOICES = "[type=checkbox], [type=radio], [type=file], [type=search], select";

document.addEventListener("input", ({ target }) => {
  if (target.form?.method !== "post" || target.matches("[type=search]")) return;
  if (target.form.matches(".wizard") || !target.matches(CHOICES)) unsaved.add(target);
});
function isSent(form) {
  for (const one of unsaved) if (one === form || one.form === form) unsaved.delete(one);
}
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) isSent(event.target); // else the script sends it, and hears whether it was taken
});
document.body.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.status < 400) isSent(event.detail.elt);
});
addEventListener("beforeunload", (event) => {
  if ([...unsaved].some((one) => one.isConnected)) event.preventDefault();
});

// Shortcuts: "/" searches, "j" and "k" go through what is listed, "?" shows them all

const help = document.getElementById("shortcuts");
const ITEMS = "main tbody tr, main .finds > li, main #chat > li, main ul.lines > li, main ul.feed > li, main .problems > li";
let before = "";

function goThrough(by) {
  const items = [...document.querySelectorAll(ITEMS)].filter((one) => one.offsetParent);
  if (!items.length) return;
  const now = items.findIndex((one) => one.classList.contains("chosen"));
  const next = items[Math.min(items.length - 1, Math.max(0, now + by))];
  items[now]?.classList.remove("chosen");
  next.classList.add("chosen");
  const link = next.querySelector("a[href], button");
  if (link) link.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function search() {
  const box = document.querySelector("main input[type=search], main input[name=q], main input[name=like]");
  if (box) box.focus();
  else location.href = document.body.dataset.search;
}

const keys = { "/": search, "?": () => help.showModal(), j: () => goThrough(1), k: () => goThrough(-1) };
document.addEventListener("keydown", (event) => {
  if (!help || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog, [contenteditable]")) return;
  const goesHome = before === "g" && event.key === "h";
  before = event.key;
  if (goesHome) location.href = document.body.dataset.home;
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
for (const button of document.querySelectorAll("[data-shortcuts]")) {
  button.hidden = false;
  button.onclick = () => help.showModal();
}
document.addEventListener("click", (event) => { // the sheet "More" closes when something else is chosen
  for (const sheet of document.querySelectorAll("details.sheet[open]")) if (!sheet.contains(event.target)) sheet.open = false;
});
