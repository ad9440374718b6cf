// A picture opens over the page. What is shown is the content of its own page, which also works without this script.
"use strict";

let viewer = null; // the dialog, made when it is needed first
let wanted = ""; // the page that was asked for last; an answer that comes late is dropped

function viewerDialog() {
  if (viewer) return viewer;
  viewer = document.createElement("dialog");
  viewer.className = "viewer-dialog";
  viewer.setAttribute("aria-label", "Viewer");
  viewer.addEventListener("close", () => {
    wanted = "";
    viewer.replaceChildren(); // a film stops
  });
  viewer.addEventListener("click", (event) => {
    if (event.target === viewer) viewer.close();
  });
  document.body.append(viewer);
  return viewer;
}

function closeButton() {
  const button = document.createElement("button");
  button.className = "close";
  button.type = "button";
  button.textContent = "Close";
  button.addEventListener("click", () => viewer.close());
  return button;
}

async function openViewer(address) {
  const dialog = viewerDialog();
  wanted = address;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("viewer");
    if (wanted !== address) return;
    if (!found) throw new Error("no file");
    showTimes(found);
    found.removeAttribute("id");
    dialog.setAttribute("aria-label", found.querySelector(".caption .text")?.textContent || found.getAttribute("aria-label"));
    dialog.replaceChildren(closeButton(), found);
    if (!dialog.open) dialog.showModal();
    dialog.querySelector(".close").focus();
  } catch {
    if (wanted === address) location.href = address; // the browser says what is wrong
  }
}

function step(rel) {
  const place = viewer?.open ? viewer : document.getElementById("viewer");
  const link = place?.querySelector(`a[rel="${rel}"]`);
  if (!link) return;
  if (viewer?.open) openViewer(link.href);
  else location.href = link.href;
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("a[data-view], dialog.viewer-dialog a[rel=prev], dialog.viewer-dialog a[rel=next]");
  if (link) {
    event.preventDefault();
    openViewer(link.href);
    return;
  }
  const away = event.target.closest("dialog.viewer-dialog a:not([download])");
  if (away && away.href.split("#")[0] === location.href.split("#")[0]) viewer.close(); // its message is on this page
});

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select, video, audio") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") step("prev");
  if (event.key === "ArrowRight") step("next");
});
