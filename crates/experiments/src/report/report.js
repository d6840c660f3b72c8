"use strict";
(() => {
  const root = document.documentElement;
  const pages = [...document.querySelectorAll("main > .page")];
  const links = [...document.querySelectorAll(".top nav a")];
  const title = document.title;
  root.classList.add("script");

  // Pages: the one with the target of the URL is shown. Browsers can still search in the others.
  function show() {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id ? document.getElementById(id) : null;
    const page = target?.closest(".page") ?? pages[0];
    for (const it of pages) {
      if (it === page) it.removeAttribute("hidden");
      else it.setAttribute("hidden", "until-found");
    }
    for (const it of links) {
      if (it.hash === "#" + page.id) it.setAttribute("aria-current", "page");
      else it.removeAttribute("aria-current");
    }
    document.title = page === pages[0] ? title : page.querySelector("h1").textContent + " – " + title;
    if (target?.closest(".claims") && target.hidden) reset();
    return target;
  }
  function go() {
    const target = show();
    const place = target && target.id !== "main" ? target : pages[0];
    const heading = place.querySelector("h1, h2, p") ?? place;
    heading.setAttribute("tabindex", "-1");
    heading.focus({ preventScroll: true });
    if (place.classList.contains("page")) scrollTo(0, 0);
    else place.scrollIntoView();
  }
  addEventListener("hashchange", go);
  for (const page of pages) {
    page.addEventListener("beforematch", () => {
      history.replaceState(null, "", "#" + page.id);
      show();
    });
  }

  // The theme: that of the system, until the button is pressed.
  const button = document.querySelector(".theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  try { root.dataset.theme = localStorage.getItem("theme") ?? ""; } catch { /* not allowed for files */ }
  if (!root.dataset.theme) delete root.dataset.theme;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not allowed for files */ }
    name();
  });
  system.addEventListener("change", name);
  name();

  // Filters of the index.
  const form = document.querySelector(".filters");
  const claims = [...document.querySelectorAll(".claims > li")];
  const status = form.querySelector("[role=status]");
  const nothing = document.querySelector(".nothing");
  const texts = claims.map((it) => it.textContent.toLowerCase().replace(/\s+/g, " "));
  form.hidden = false;
  function filter() {
    const { text, paper, verdict, class: kind } = form.elements;
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    claims.forEach((claim, at) => {
      const { dataset } = claim;
      const matches = words.every((word) => texts[at].includes(word))
        && (!paper.value || dataset.paper === paper.value)
        && (!verdict.value || dataset.verdict === verdict.value)
        && (!kind.value || dataset.class === kind.value);
      claim.hidden = !matches;
      count += matches ? 1 : 0;
    });
    status.textContent = count + " of " + claims.length + " claims";
    nothing.hidden = count > 0;
  }
  function reset() {
    form.reset();
    filter();
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  for (const link of document.querySelectorAll("a[data-verdict]")) {
    link.addEventListener("click", () => {
      form.reset();
      form.elements.paper.value = link.dataset.paper;
      form.elements.verdict.value = link.dataset.verdict;
      filter();
    });
  }

  // Paper has no details to open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("article > details:not([open])")];
    for (const it of opened) it.open = true;
  });
  addEventListener("afterprint", () => {
    for (const it of opened) it.open = false;
  });

  filter();
  if (location.hash) go();
  else show();
})();
