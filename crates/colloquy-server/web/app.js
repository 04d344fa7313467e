// The page. What the server stores is the truth: after each turn the messages are loaded again,
// and text is only ever set as text.

import * as api from "/api.js";

const $ = (id) => document.getElementById(id);
const log = $("log");
const question = $("question");

const OUTCOMES = {
  truncated: "Cut off at the limit",
  no_answer: "No answer",
  stopped: "Stopped",
  interrupted: "Interrupted",
  failed: "Failed",
};
const SENTINEL = "[ERROR_MESSAGE_SYSTEM] ";
const POLL_MS = 500;

let llms = [];
let shown = null; // the conversation on the page, as the server gave it
let running = false; // whether a turn runs on it
let visit = 0; // counts what is shown, so that a late answer cannot overwrite a newer page

// ---- What is on the page ----------------------------------------------------------------------

function showProblem(error) {
  if (error.status === 401) return signIn();
  $("problem").hidden = false;
  $("problem").firstElementChild.textContent = error.message;
}

function hideProblem() {
  $("problem").hidden = true;
}

function setStatus(text) {
  // Only a change is written, since a screen reader says each one.
  if ($("status").textContent !== text) $("status").textContent = text;
}

function setRunning(now) {
  running = now;
  $("send").hidden = now;
  $("stop").hidden = !now;
  $("stop").disabled = false;
  if (!now) $("reading").hidden = true;
}

function messageView(sender) {
  const article = $("message").content.firstElementChild.cloneNode(true);
  const find = (selector) => article.querySelector(selector);
  article.classList.add(sender);
  find("h2").textContent = sender === "user" ? "You" : "Answer";
  log.append(article);
  const text = find(".text").appendChild(new Text());
  const thinking = find(".thinking").appendChild(new Text());
  const view = { article, find };
  view.addText = (piece) => text.appendData(piece);
  /** Takes the answer so far back: it was said on the way to a tool, or is answered anew. */
  view.withdraw = (to) => {
    if (to === "thinking") view.addThinking(`${text.data}\n`);
    text.data = "";
  };
  view.addThinking = (piece) => {
    find(".reasoning").hidden = false;
    thinking.appendData(piece);
  };
  view.fail = (reason, raw) => {
    find(".error").hidden = false;
    find(".error").textContent = reason.replace(SENTINEL, "");
    // What the text ends with need not be told again.
    const words = raw && !reason.endsWith(raw.trim()) ? raw : "";
    find(".words").hidden = !words;
    find(".raw").textContent = words;
  };
  return view;
}

function renderMessage(message) {
  const view = messageView(message.sender);
  const failed = message.content.startsWith(SENTINEL);
  if (!failed) view.addText(message.content);
  if (message.error) view.fail(message.error.text, message.error.raw);
  else if (failed) view.fail(message.content);
  for (const event of message.trace ?? []) {
    if (event.t === "thinking") view.addThinking(event.text);
    if (event.t === "truncated") view.addThinking("[earlier reasoning was not kept]\n");
  }
  const outcome = OUTCOMES[message.outcome];
  view.find(".outcome").hidden = !outcome;
  view.find(".outcome").textContent = outcome ?? "";
  const star = view.find(".star");
  star.hidden = false;
  star.setAttribute("aria-pressed", message.starred);
  star.addEventListener("click", () => toggleStar(star, message).catch(showProblem));
}

async function toggleStar(button, message) {
  await api.star(message.id, !message.starred);
  message.starred = !message.starred;
  button.setAttribute("aria-pressed", message.starred);
}

function renderConversation() {
  log.replaceChildren();
  $("name").disabled = $("delete").disabled = !shown;
  $("name").value = shown?.name ?? "New conversation";
  document.title = shown ? `${shown.name} – Colloquy` : "Colloquy";
  for (const message of shown?.messages ?? []) renderMessage(message);
  log.scrollTop = log.scrollHeight;
  renderModels();
}

function renderModels() {
  const options = llms.map((llm) => new Option(llm.name, llm.id));
  const bound = shown ? shown.llm_id : llms.find((llm) => llm.is_default)?.id;
  if (bound == null) options.unshift(new Option(llms.length ? "Choose a model" : "No model installed", ""));
  $("model").replaceChildren(...options);
  $("model").value = bound ?? "";
  renderNotice(llms.find((llm) => llm.id === bound));
}

/** What the server wants people to know of the model, for instance that it is a toy. */
function renderNotice(llm) {
  const text = llm
    ? llm.description
    : "This conversation has no model. Choose one above, or add one: colloquy setup, or colloquy models add.";
  $("notice").hidden = !text;
  // The same line is shown in terminals, where backticks mark a command.
  $("notice").textContent = text.replaceAll("`", "");
}

function renderList(conversations) {
  $("no-conversations").hidden = conversations.length > 0;
  $("conversations").replaceChildren(
    ...conversations.map(({ id, name }) => {
      const link = document.createElement("a");
      link.href = `#${id}`;
      link.textContent = name;
      if (id === shown?.id) link.setAttribute("aria-current", "page");
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
  );
}

async function refreshList() {
  renderList(await api.conversations());
}

// ---- Opening a conversation ---------------------------------------------------------------------

async function open(id) {
  const mine = ++visit;
  setRunning(false);
  setStatus("");
  hideProblem();
  $("sidebar").classList.remove("open");
  $("menu").setAttribute("aria-expanded", "false");
  try {
    const found = id ? await api.conversation(id) : null;
    if (mine !== visit) return;
    shown = found;
  } catch (error) {
    if (error.status !== 404) throw error;
    shown = null;
    history.replaceState(null, "", "/");
    showProblem(error);
  }
  renderConversation();
  await refreshList();
  const last = shown?.messages.at(-1);
  if (last?.sender === "user") await follow(last.turn_id, mine);
}

/** A turn that another page started, or this one before a reload: waits for its end. */
async function follow(turnId, mine) {
  setRunning(true);
  setStatus("An answer is being written…");
  while (mine === visit) {
    const { state } = await api.turn(shown.id, turnId);
    if (mine !== visit) return;
    if (state === "over") {
      const { messages } = await api.conversation(shown.id);
      if (mine !== visit) return;
      // Ended without an answer only if closing it failed; waiting would not help then.
      if (messages.at(-1)?.sender !== "user") return open(shown.id);
      setRunning(false);
      return setStatus("");
    }
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
}

// ---- Asking -------------------------------------------------------------------------------------

async function ask() {
  const text = question.value;
  if (running || !text.trim()) return;
  hideProblem();
  setRunning(true);
  setStatus("Asking…");
  const mine = visit;
  try {
    if (!shown) {
      const llmId = Number($("model").value) || undefined;
      const created = await api.create({ llm_id: llmId });
      if (mine !== visit) return;
      shown = { ...created, messages: [] };
      history.replaceState(null, "", `#${created.id}`);
      renderConversation();
    }
    const query = { question: text, parent_id: shown.messages.at(-1)?.id };
    await stream(api.ask(shown.id, query), text, mine);
  } catch (error) {
    if (mine !== visit) return;
    await open(shown?.id);
    // Nothing was stored, or the stored part is on the page now; the words are not lost either way.
    if (!shown?.messages.some((message) => message.content === text)) question.value = text;
    showProblem(error);
  }
}

/** Shows the events of a turn as they come, then what was stored. */
async function stream(events, text, mine) {
  let view = null;
  const pending = { answer: "", thinking: "" };
  let frame = 0;
  const flush = () => {
    frame = 0;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    if (mine !== visit) return;
    if (pending.thinking) view.addThinking(pending.thinking);
    if (pending.answer) view.addText(pending.answer);
    pending.answer = pending.thinking = "";
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  let ended = false;
  for await (const event of events) {
    // Closing the stream would stop the answer, and looking at another conversation must not.
    if (mine !== visit) continue;
    if (!view) {
      question.value = "";
      messageView("user").addText(text);
      view = messageView("llm");
      log.scrollTop = log.scrollHeight;
    }
    if (event.t === "answer" || event.t === "thinking") {
      pending[event.t] += event.text;
      frame ||= requestAnimationFrame(flush);
      setStatus(event.t === "answer" ? "Answering…" : "Thinking…");
    }
    if (event.t === "withdraw") {
      cancelAnimationFrame(frame);
      flush();
      view.withdraw(event.to);
    }
    if (event.t === "tool_call") setStatus(`Using ${event.name}…`);
    if (event.t === "error") view.fail(event.text, event.raw);
    if (event.t === "progress" || event.t === "memory_reload") showProgress(event);
    if (event.t === "done") ended = true;
    if (event.t !== "progress") $("reading").hidden = true;
  }
  cancelAnimationFrame(frame);
  if (mine !== visit) return;
  if (!ended) throw new api.Problem(0, "CUT", "The connection was lost. What had arrived is kept.");
  await open(shown.id);
  setStatus("Done.");
  question.focus();
}

function showProgress(event) {
  const phases = {
    waiting: "Waiting for other answers to finish…",
    loading: "Loading the model…",
    reading: "Reading…",
  };
  setStatus(event.t === "memory_reload" ? "Loading the model again…" : (phases[event.phase] ?? "Working…"));
  const reading = event.phase === "reading";
  $("reading").hidden = !reading;
  if (reading) {
    $("reading").max = event.total;
    $("reading").value = event.done;
  }
}

async function stop() {
  if (!running || !shown) return;
  $("stop").disabled = true;
  setStatus("Stopping…");
  await api.stop(shown.id);
}

// ---- The rest -----------------------------------------------------------------------------------

function signIn() {
  if (!$("sign-in").open) $("sign-in").showModal();
}

/** Asks before something is lost. */
function confirmed(text) {
  const dialog = $("confirm");
  $("confirm-text").textContent = text;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

async function rename() {
  const name = $("name").value.trim();
  if (!shown || !name || name === shown.name) {
    $("name").value = shown?.name ?? "New conversation";
    return;
  }
  const { name: stored } = await api.change(shown.id, { name });
  shown.name = stored;
  document.title = `${stored} – Colloquy`;
  await refreshList();
}

async function remove() {
  if (!(await confirmed(`Delete “${shown.name}” with all its messages? This cannot be undone.`))) return;
  await api.remove(shown.id);
  history.replaceState(null, "", "/");
  await open(null);
  question.focus();
}

async function chooseModel() {
  const llmId = Number($("model").value);
  if (!llmId) return;
  if (shown) shown.llm_id = (await api.change(shown.id, { llm_id: llmId })).llm_id;
  $("model").querySelector('option[value=""]')?.remove();
  renderNotice(llms.find((llm) => llm.id === llmId));
}

const hashId = () => (/^#\d+$/.test(location.hash) ? Number(location.hash.slice(1)) : null);

async function start() {
  llms = await api.llms();
  await open(hashId());
}

function on(target, type, act) {
  target.addEventListener(type, (event) => {
    if (type === "submit") event.preventDefault();
    Promise.resolve(act(event)).catch(showProblem);
  });
}

on($("ask"), "submit", ask);
on($("stop"), "click", stop);
on($("rename"), "submit", () => $("name").blur());
on($("name"), "blur", rename);
on($("delete"), "click", remove);
on($("model"), "change", chooseModel);
on($("problem").lastElementChild, "click", hideProblem);
on(window, "hashchange", () => open(hashId()));
on($("new"), "click", async () => {
  history.pushState(null, "", "/");
  await open(null);
  question.focus();
});
on($("menu"), "click", () => {
  const isOpen = $("sidebar").classList.toggle("open");
  $("menu").setAttribute("aria-expanded", isOpen);
});
on($("confirm"), "click", ({ target }) => target.value && $("confirm").close(target.value));
on($("login"), "submit", async () => {
  try {
    await api.login($("token").value);
  } catch (error) {
    $("login-problem").textContent = error.message;
    return;
  }
  $("token").value = $("login-problem").textContent = "";
  $("sign-in").close();
  await start();
});
on(question, "keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    return ask();
  }
});
on(document, "keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) return stop();
});

start().catch(showProblem);
