// Renews the page every two seconds while somebody looks at it. The server
// renders; what it sends is parsed without running anything in it.
"use strict";

const period = 2000;

async function renew() {
  if (!document.hidden) {
    try {
      const answer = await fetch("/", { cache: "no-store", signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const scrolled = [...document.querySelectorAll(".scroll")].map((e) => e.scrollLeft);
      document.getElementById("page").replaceWith(document.adoptNode(fresh.getElementById("page")));
      document.querySelectorAll(".scroll").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
      document.title = fresh.title;
    } catch {
      document.getElementById("stale").hidden = false; // the service is gone: what is shown is old
    }
  }
  setTimeout(renew, period);
}

setTimeout(renew, period);
