// What the pages need beyond htmx: times in the reader's zone, live news, notifications, and sentences that are said.
"use strict";

const shown = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.textContent = shown.format(moment);
    time.title = `${exact.format(moment)} · ${time.dateTime.replace("T", " ").replace("+00:00", "")} UTC`;
  }
}

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

function reason(answer) {
  try {
    return JSON.parse(answer.responseText).detail;
  } catch {
    return `The page answered with ${answer.status}. Load it again.`;
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

function hear(address) {
  const place = new URL(address, location.href);
  stream = new EventSource(place);
  stream.addEventListener("open", () => showLive(true, "Live"));
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return showLive(false, "Reconnecting …");
    // Refused, for example while the database is away: a browser does not ask again by itself then.
    showLive(false, "Not live. Load the page again if this stays.");
    setTimeout(() => hear(place), 5000);
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
  const typed = element.form && new URLSearchParams(new FormData(element.form));
  return [element.tagName, element.textContent, element.href, element.form?.action, typed].join("\n");
}

let focused = null;
let unfolded = [];
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const part = event.detail.target;
  focused = part.contains(document.activeElement) && !document.activeElement.id && sameAs(document.activeElement);
  unfolded = [...part.querySelectorAll("details[open] > summary")].map(sameAs);
});
document.body.addEventListener("htmx:afterSwap", (event) => {
  for (const one of event.detail.target.querySelectorAll("a, button, summary")) {
    if (focused && sameAs(one) === focused) one.focus({ preventScroll: true });
    if (one.matches("summary") && unfolded.includes(sameAs(one))) one.parentElement.open = true;
  }
});

// Notifications, where the reader allowed them

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
      say(answer === "granted" ? "You will be told when a run ends." : "Your browser will not tell you.");
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
  showTimes(root);
  offerNotifications(root);
  offerCopies(root);
});
// Heard at the request itself: events of an element are lost when its part of the page was loaded anew meanwhile.
document.body.addEventListener("htmx:beforeRequest", (event) => {
  const request = event.detail.xhr;
  request.addEventListener("load", () => {
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
  form.submit();
});
document.addEventListener("visibilitychange", spread);
if (document.body.dataset.events) hear(document.body.dataset.events);

// The form of a reminder: messages added and removed, files sent ahead, groups found by a word, the reader's own zone

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
  message.querySelector("[data-file]").textContent = name || "no file";
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
}

document.addEventListener("change", (event) => {
  if (event.target.matches("input[data-upload]")) sendFile(event.target);
});
document.addEventListener("submit", (event) => {
  if (!underWay || !event.target.matches(".wizard")) return;
  event.preventDefault();
  tellTrouble("A file is still on its way. Go on when it is there.");
});
document.addEventListener("input", (event) => {
  if (event.target.matches("input[data-filter]")) filterBy(event.target);
});
document.body.addEventListener("htmx:afterSwap", () => {  // what has just come is filtered as well
  document.querySelectorAll("input[data-filter]").forEach(filterBy);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const message = button.closest(".message");
  if (button.name === "theme") showTheme(button);
  if (button.matches("[data-add-message]")) addMessage(button.form);
  if (button.matches("[data-drop-file]")) setFile(message, "", "");
  if (button.matches("[data-drop-message]")) message.remove();
});
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const input of document.querySelectorAll("input[data-own-zone]")) input.value ||= ownZone;
for (const word of document.querySelectorAll("span[data-own-zone]")) word.textContent = ownZone;
