// The page of `capfst serve`. Top to bottom: elements and options; asking the service; the recased text, line by line;
// why a word is cased as it is; files. Lines that were recased before with the same options are not asked for again.

const $ = (id) => document.getElementById(id);
const text = $("text"), recased = $("recased"), why = $("why");

const EXAMPLE = "mr. brown told us that he wore a brown coat for the us navy\nmark will meet rose at the apple store in reading\nthey sold their apple shares and ate an apple";
const AFTER_TYPING = 100, BEFORE_WHY = 150, AGAIN = 1500; // milliseconds
const LINES = 100; // in a request: those on top come first
const SURE = 5, LIKELY = 2; // log-odds: 99 %, 88 %
const FORMS = 4, REASONS = 4; // shown
const KEPT = 1000; // answers for lines that are not shown

// Options

let models = [];
const known = new Map(); // the answer to each line, with the present options

async function start() {
  const answer = await ask("models").catch(() => null);
  if (!answer) return setTimeout(start, AGAIN);
  models = answer.models;
  $("model").replaceChildren(...models.map((model) => new Option(model.name, model.name)));
  changeModel();
  if (!text.value) text.value = EXAMPLE;
  resize();
  recase();
  if (matchMedia("(hover: hover)").matches) text.focus(); // elsewhere, this would open a keyboard
}

function changeModel() {
  const model = models[$("model").selectedIndex];
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  const options = model.languages.map((code) => new Option(names.of(code), code));
  $("language").replaceChildren(new Option("detected", ""), ...options);
  $("language").parentElement.hidden = options.length < 2;
  $("input_case").parentElement.hidden = model.input_case !== "evidence";
  if (model.input_case !== "evidence") $("input_case").value = ""; // which nobody would see
}

function options() {
  const chosen = { model: $("model").value };
  for (const id of ["language", "input_case"]) if ($(id).value) chosen[id] = $(id).value;
  if ($("sentence_case").checked) chosen.sentence_case = true;
  const words = $("words").value.split("\n").map((word) => word.trim()).filter(Boolean);
  $("n_words").textContent = words.length ? `(${words.length})` : "";
  if (words.length) chosen.words = words;
  return chosen;
}

// Asking the service

class Refused extends Error {} // by the service, with its reason

async function ask(route, body, signal) {
  const request = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await answered(await fetch(route, { ...request, signal }))).json();
}

async function answered(response) {
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: { message: `the answer has status ${response.status}.` } }));
  throw Object.assign(new Refused(error.message), { isBusy: [429, 503].includes(response.status) });
}

let asking = new AbortController(), timer;

// Recase the lines that are not known, and show all of them; what was asked for before is dropped.
async function recase() {
  clearTimeout(timer);
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const lines = text.value.split("\n");
  if (known.size > KEPT + lines.length) known.clear();
  const missing = [...new Set(lines)].filter((line) => line.trim() && !known.has(line));
  show(lines);
  recased.classList.toggle("waiting", missing.length > 0);
  try {
    for (let k = 0; k < missing.length; k += LINES) {
      const some = missing.slice(k, k + LINES);
      const answer = await ask("recase", { lines: some, confidence: true, ...options() }, signal);
      some.forEach((line, i) => known.set(line, answer.lines[i]));
      show(lines);
    }
    recased.classList.remove("waiting");
    problem("");
    const changed = recased.querySelectorAll(".sure, .likely, .doubt").length;
    $("status").textContent = `${changed} ${changed === 1 ? "word" : "words"} changed`;
  } catch (error) {
    if (signal.aborted) return;
    const isRefused = error instanceof Refused;
    problem(isRefused ? sentence(error.message) : "The service does not answer. Trying again …");
    if (!isRefused || error.isBusy) timer = setTimeout(recase, AGAIN);
  }
}

function problem(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
}

const sentence = (message) => message[0].toUpperCase() + message.slice(1);

// The recased text: an element for each line, whose words are buttons of which the tab key reaches one

function show(lines) {
  while (recased.children.length > lines.length) recased.lastChild.remove();
  lines.forEach((line, k) => {
    const element = recased.children[k] ?? recased.appendChild(Object.assign(document.createElement("div"), { className: "line" }));
    let result = known.get(line);
    if (!result && line.trim() && element.result) return; // until its answer comes, what was there stays
    result ??= { text: line, words: [] };
    if (element.result === result) return;
    Object.assign(element, { result, given: line });
    element.replaceChildren(...parts(result));
  });
  if (!recased.querySelector(".word[tabindex='0']")) recased.querySelector(".word")?.setAttribute("tabindex", "0");
  if (!word?.isConnected) close();
}

// Positions of the service count characters; those of JavaScript count some of them, such as 𝔄, twice. This returns the
// latter for each of the former.
function units(string) {
  const at = [0];
  for (const character of string) at.push(at.at(-1) + character.length);
  return at;
}

function* parts({ text: line, words }) {
  const at = units(line);
  let end = 0, next = 0;
  for (const { 0: found, index } of line.matchAll(/[\p{L}\p{M}\p{N}]+(?:[.'’-][\p{L}\p{M}\p{N}]+)*/gu)) {
    if (index > end) yield line.slice(end, index);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: found, tabIndex: -1, start: index });
    let least;
    for (; next < words.length && at[words[next].start] < index + found.length; next++) {
      if (at[words[next].start] >= index) least = Math.min(least ?? Infinity, words[next].log_odds ?? Infinity);
    }
    button.className = least === undefined ? "word" : `word ${least >= SURE ? "sure" : least >= LIKELY ? "likely" : "doubt"}`;
    button.setAttribute("aria-expanded", "false");
    yield button;
    end = index + found.length;
  }
  if (end < line.length) yield line.slice(end);
}

// Why: a card next to a word

let word = null, waiting;
const explanations = new Map();

async function explain(button) {
  close();
  word = button;
  button.setAttribute("aria-expanded", "true");
  const { given, result } = button.closest(".line");
  try {
    const asked = { text: given, ...options() };
    const key = JSON.stringify(asked);
    if (explanations.size > KEPT) explanations.clear();
    if (!explanations.has(key)) explanations.set(key, ask("explain", asked));
    const explanation = await explanations.get(key);
    if (word !== button) return;
    const found = explained(button, explanation);
    const other = "It stays as it is, like code, links and numbers.";
    const isSame = explanation.text === result.text; // nearly always: see capfst/explain/explanation.py
    why.replaceChildren(...(isSame && found ? card(found) : [note(isSame ? other : "The explanation is of another casing.")]));
  } catch (error) {
    explanations.clear();
    if (word !== button) return;
    why.replaceChildren(note(error instanceof Refused ? sentence(error.message) : "The service does not answer."));
  }
  why.hidden = false;
  place(button);
}

// The explained word that is least sure among those of a button: U.S.-based has several.
function explained({ start, textContent }, { text: line, words }) {
  const end = start + textContent.length, at = units(line);
  const inside = words.filter((each) => at[each.end] > start && at[each.start] < end);
  return inside.sort((one, other) => (one.log_odds ?? Infinity) - (other.log_odds ?? Infinity))[0];
}

function element(tag, content = "", properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...[content].flat());
  return made;
}

const note = (content) => element("p", content);

function card({ given, log_odds, forms }) {
  const [best, next] = forms;
  const sure = log_odds === null ? "" : ` ${percent(log_odds)} sure`;
  const made = [element("h2", [best.text, element("small", best.text === given ? sure : ` from “${given}”,${sure}`)])];
  if (!next) return [...made, note("It has no other casing.")];
  const shown = forms.slice(0, FORMS);
  const most = Math.max(...shown.map((form) => form.margin));
  const rows = shown.slice(1).map((form) => {
    const use = element("button", form.text, { type: "button", className: "form" });
    use.onclick = () => add(form.text);
    const bar = element("meter", "", { max: most, value: form.margin });
    bar.setAttribute("aria-hidden", "true");
    return element("tr", [element("td", use), element("td", bar), element("td", `+${form.margin.toFixed(1)}`)]);
  });
  made.push(note("Other casings, and how much more they cost:"), element("table", rows));
  const reasons = next.reasons.filter((reason) => reason.cost >= 0.5).slice(0, REASONS);
  const lines = reasons.map((reason) => element("li", reason.text));
  if (lines.length) made.push(note(`Against “${next.text}”:`), element("ul", lines));
  made.push(note(`The language model reads “${best.ngram.words.join(" ")}”. Choose a casing to keep it as one of your words.`));
  return made;
}

function percent(log_odds) {
  const p = 100 / (1 + Math.exp(-log_odds));
  return p > 99.9 ? "over 99.9 %" : `${p.toFixed(p > 99 ? 1 : 0)} %`;
}

function add(form) {
  $("words").value = [...$("words").value.split("\n").filter((each) => each.trim() && each.toLowerCase() !== form.toLowerCase()), form].join("\n");
  $("own").open = true;
  close();
  changeOptions();
}

function place(button) {
  if (getComputedStyle(why).position === "fixed") return button.scrollIntoView({ block: "start" }); // on a phone
  const box = button.getBoundingClientRect(), width = document.documentElement.clientWidth;
  const left = Math.max(16, Math.min(box.left, width - why.offsetWidth - 16));
  const isBelow = box.bottom + why.offsetHeight + 8 < innerHeight || box.top < why.offsetHeight + 8;
  const top = isBelow ? box.bottom + 6 : box.top - why.offsetHeight - 6;
  why.style.left = `${left + scrollX}px`;
  why.style.top = `${top + scrollY}px`;
}

function close() {
  clearTimeout(waiting);
  word?.setAttribute("aria-expanded", "false");
  word = null;
  why.hidden = true;
}

recased.addEventListener("pointerover", ({ target, pointerType }) => {
  clearTimeout(waiting);
  if (pointerType === "mouse" && target.matches(".word") && target !== word) waiting = setTimeout(explain, BEFORE_WHY, target);
});
for (const part of [recased, why]) {
  part.addEventListener("pointerleave", ({ pointerType }) => {
    clearTimeout(waiting);
    if (pointerType === "mouse" && !why.contains(document.activeElement)) waiting = setTimeout(close, 2 * BEFORE_WHY);
  });
}
why.addEventListener("pointerenter", () => clearTimeout(waiting));
recased.addEventListener("click", ({ target }) => target.matches(".word") && explain(target));
recased.addEventListener("focusin", ({ target }) => {
  recased.querySelector(".word[tabindex='0']")?.setAttribute("tabindex", "-1");
  target.setAttribute("tabindex", "0");
});
recased.addEventListener("keydown", (event) => {
  const words = [...recased.querySelectorAll(".word")], at = words.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
  if (to === undefined || !words[to]) return;
  event.preventDefault();
  words[to].focus();
  explain(words[to]);
});
recased.addEventListener("keyup", (event) => {
  if (event.key === "Enter" && event.target === word) why.querySelector("button")?.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || why.hidden) return;
  const back = word;
  close();
  back?.focus();
});
document.addEventListener("pointerdown", ({ target }) => {
  if (!why.contains(target) && !recased.contains(target)) close();
});

// Typing and options

function resize() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`;
}

let typing;
text.addEventListener("input", () => {
  resize();
  clearTimeout(typing);
  typing = setTimeout(recase, AFTER_TYPING);
});

function changeOptions() {
  asking.abort(); // or its answer would be known with the new options
  known.clear();
  explanations.clear();
  clearTimeout(typing);
  typing = setTimeout(recase, AFTER_TYPING);
}
$("model").addEventListener("change", changeModel);
for (const name of ["input", "change"]) document.querySelector(".options").addEventListener(name, changeOptions);
document.querySelector(".options").addEventListener("submit", (event) => event.preventDefault());
addEventListener("resize", () => { resize(); close(); });

$("copy").hidden = !navigator.clipboard; // as on pages that are neither local nor https
$("copy").addEventListener("click", async () => {
  const lines = [...recased.children].map((line) => line.result.text);
  await navigator.clipboard.writeText(lines.join("\n"));
  $("copy").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy"), AGAIN);
});

// Files: sent as they are, and taken back recased

async function recaseFile(file) {
  if (!file) return;
  $("download").textContent = `Recasing ${file.name} …`;
  const query = new URLSearchParams({ name: file.name });
  for (const [name, value] of Object.entries(options())) for (const each of [value].flat()) query.append(name, each);
  try {
    const answer = await answered(await fetch(`files?${query}`, { method: "POST", body: file }));
    const link = element("a", file.name.replace(/(\.[^.]*)?$/, ".cased$1"), { href: URL.createObjectURL(await answer.blob()) });
    link.download = link.textContent;
    $("download").replaceChildren("Take the recased file: ", link);
    problem("");
  } catch (error) {
    $("download").textContent = "";
    problem(error instanceof Refused ? sentence(error.message) : "The service does not answer. Send the file again later.");
  }
}

$("file").addEventListener("change", () => {
  recaseFile($("file").files[0]);
  $("file").value = "";
});
for (const name of ["dragover", "dragleave", "drop"]) {
  addEventListener(name, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", name === "dragover");
    if (name === "drop") recaseFile(event.dataTransfer.files[0]);
  });
}

start();
