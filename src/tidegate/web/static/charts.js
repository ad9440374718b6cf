// Charts are drawn by the server in the browser's time zone, which a cookie tells the server from now on.
"use strict";

{
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const path = document.body.dataset.home || "/";
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `tidegate_zone=${zone}; path=${path}; max-age=31536000; samesite=lax${secure}`;
  const drawn = document.querySelector("[data-zone]");
  if (drawn && drawn.dataset.zone !== zone) drawn.closest("[hx-get]")?.dispatchEvent(new Event("zone"));
}
