// @ts-check
// What scripts add to a run in one file: buttons that unfold everything, and a filter. The file is whole without them.

(() => {
  const main = document.getElementById("rows");
  if (main === null) return;
  const folds = [...main.querySelectorAll("details")];
  const nodes = [...main.querySelectorAll(".node")];

  /** Show the rows with the words, and those above them. Inner rows come first, so each text is read once. */
  const filter = () => {
    const words = field.value.toLowerCase();
    /** @type {Set<Element | null | undefined>} */
    const above = new Set();
    for (const node of nodes.toReversed()) {
      const own = node.querySelector("details")?.textContent ?? "";
      const isShown = words === "" || above.has(node) || own.toLowerCase().includes(words);
      node.toggleAttribute("hidden", !isShown);
      if (isShown) above.add(node.parentElement?.closest(".node"));
    }
  };

  /** @param {string} words @param {() => void} act */
  const addButton = (words, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(words);
    button.addEventListener("click", act);
    bar.append(button);
  };

  /** @param {boolean} open */
  const setAll = (open) => {
    for (const fold of folds) fold.open = open;
  };

  const bar = document.createElement("p");
  bar.className = "comforts";
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Find in this run";
  field.setAttribute("aria-label", "Find in this run");
  field.addEventListener("input", () => filter());
  bar.append(field);
  addButton("Expand all", () => setAll(true));
  addButton("Collapse all", () => setAll(false));
  main.before(bar);

  const openTarget = () => {
    const fact = location.hash.match(/^#fact-\d+$/) ? document.getElementById(location.hash.slice(1)) : null;
    const fold = fact?.querySelector("details");
    if (fold) fold.open = true;
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();
})();
