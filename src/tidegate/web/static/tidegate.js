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
    time.title = exact.format(moment);
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

const waiting = new Set(); // families of events that came while nobody looked

function spread(families) {
  for (const family of families) document.body.dispatchEvent(new CustomEvent(`news-${family}`));
}

function showLive(on, words) {
  const place = document.getElementById("live");
  if (!place) return;
  place.classList.toggle("on", on);
  if (place.textContent !== words) place.textContent = words;
}

function hear(address) {
  const stream = new EventSource(address);
  stream.addEventListener("open", () => showLive(true, "Live"));
  stream.addEventListener("error", () => {
    const ended = stream.readyState === EventSource.CLOSED;
    showLive(false, ended ? "Not live: load the page again" : "Reconnecting …");
  });
  stream.addEventListener("news", (message) => {
    const news = JSON.parse(message.data);
    news.told.forEach(notify);
    if (document.hidden) news.families.forEach((family) => waiting.add(family));
    else spread(news.families);
  });
  addEventListener("pagehide", () => stream.close());
}

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
document.body.addEventListener("said", (event) => {
  tellTrouble("");
  say(event.detail.sentence);
});
document.body.addEventListener("htmx:responseError", (event) => tellTrouble(reason(event.detail.xhr)));
document.body.addEventListener("htmx:sendError", () => tellTrouble("Tidegate does not answer. Is it running?"));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  spread(waiting);
  waiting.clear();
});
if (document.body.dataset.events) hear(document.body.dataset.events);
