"use strict";
(() => {
  const root = document.documentElement;
  const pages = [...document.querySelectorAll("main > .page")];
  const links = [...document.querySelectorAll(".top nav a")];
  const title = document.title;
  root.classList.add("script");

  // Pages: the one with the target of the URL is shown. Browsers can still search in the others.
  function named() {
    const id = decodeURIComponent(location.hash.slice(1));
    return id ? document.getElementById(id) : null;
  }
  function show() {
    const target = named();
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
    // A search within the document has found something, or the URL has a target here.
    page.addEventListener("beforematch", () => {
      if (named()?.closest(".page") === page) return;
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
  // The papers' words for what readers search for.
  const same = { optimum: ["opt"], optimal: ["opt"], fpr: ["false-positive"], topk: ["top-k"], "group-by": ["group by"] };
  const begins = (text, word) => {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp("(^|[^\\p{L}\\p{N}])" + escaped, "u").test(text);
  };
  const has = (text, word) => [word, ...(same[word] ?? [])].some((it) => begins(text, it));
  function filter() {
    const { text, paper, verdict, class: kind } = form.elements;
    const phrase = text.value.toLowerCase().trim().replace(/\s+/g, " ");
    // Claims with the whole phrase are shown alone; if there are none, those with all of its words.
    const isPhrase = phrase.includes(" ") && texts.some((it) => begins(it, phrase));
    const words = isPhrase ? [] : phrase.split(" ").filter(Boolean);
    let count = 0;
    claims.forEach((claim, at) => {
      const { dataset } = claim;
      const matches = words.every((word) => has(texts[at], word))
        && (!isPhrase || begins(texts[at], phrase))
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
    opened = [...document.querySelectorAll("article details:not([open])")];
    for (const it of opened) it.open = true;
  });
  addEventListener("afterprint", () => {
    for (const it of opened) it.open = false;
  });

  filter();
  if (location.hash) go();
  else show();
})();
