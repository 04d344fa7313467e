// Speaks to the server. Everything it answers is data: nothing here touches the page.

/** A refusal, with what the server says about it. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

async function send(method, path, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Problem(0, "UNREACHABLE", "The server does not answer. Is colloquy still running?");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem.error?.type, problem.detail ?? response.statusText);
}

const json = async (method, path, body) => (await send(method, path, body)).json();

const ROOT = "/erudi/conversations";

export const login = (token) => json("POST", "/erudi/login", { token });
export const llms = () => json("GET", "/erudi/llms");
export const conversations = () => json("GET", ROOT);
export const conversation = (id) => json("GET", `${ROOT}/${id}`);
export const create = (settings) => json("POST", ROOT, settings);
export const change = (id, fields) => json("PATCH", `${ROOT}/${id}`, fields);
export const remove = (id) => json("DELETE", `${ROOT}/${id}`);
export const stop = (id) => json("POST", `${ROOT}/${id}/stop`);
export const turn = (id, turnId) => json("GET", `${ROOT}/${id}/turns/${turnId}`);
export const star = (messageId, starred) =>
  json("POST", `${ROOT}/${starred ? "star" : "unstar"}_message`, { message_id: messageId });

/** Asks and yields the events of the turn until the stream ends. */
export async function* ask(id, query) {
  const response = await send("POST", `${ROOT}/${id}/query`, query);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      // A character may arrive in two chunks, and so may a line.
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line.trim()) yield JSON.parse(line);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
