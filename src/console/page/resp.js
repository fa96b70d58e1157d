// Commands and replies as bytes: RESP3, and the way to the server.

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** A string of any bytes. */
export class Bytes {
  constructor(raw) { this.raw = raw; }
  get text() {
    try { return strict.decode(this.raw); } catch { return null; }
  }
  get isText() {
    const text = this.text;
    return text !== null && !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
  }
  /** As text where it is, escaped where it is not. */
  toString() {
    if (this.isText) return this.text;
    return Array.from(this.raw, (byte) =>
      byte === 92 ? "\\\\" : byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
}

/** An error that the server answered. */
export class Refusal extends Error {}

function bytesOf(word) {
  if (word instanceof Bytes) return word.raw;
  if (word instanceof Uint8Array) return word;
  return encoder.encode(String(word));
}

export function encode(commands) {
  const pieces = [];
  for (const words of commands) {
    pieces.push(encoder.encode(`*${words.length}\r\n`));
    for (const word of words) {
      const bytes = bytesOf(word);
      pieces.push(encoder.encode(`$${bytes.length}\r\n`), bytes, encoder.encode("\r\n"));
    }
  }
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) { all.set(piece, at); at += piece.length; }
  return all;
}

/** Every reply in the bytes. A map is an array of pairs. */
export function decode(bytes) {
  let at = 0;
  const line = () => {
    const end = bytes.indexOf(13, at);
    const text = new TextDecoder("latin1").decode(bytes.subarray(at, end));
    at = end + 2;
    return text;
  };
  const many = (count) => Array.from({ length: Number(count) }, value);
  const raw = (length) => {
    const piece = bytes.slice(at, at + Number(length));
    at += Number(length) + 2;
    return new Bytes(piece);
  };
  function value() {
    const kind = String.fromCharCode(bytes[at++]);
    const rest = line();
    switch (kind) {
      case "+": return rest;
      case "-": return new Refusal(rest);
      case "!": return new Refusal(String(raw(rest)));
      case ":": return Number.isSafeInteger(Number(rest)) ? Number(rest) : BigInt(rest);
      case ",": return rest === "inf" ? Infinity : rest === "-inf" ? -Infinity : Number(rest);
      case "(": return BigInt(rest);
      case "#": return rest === "t";
      case "_": return null;
      case "$": return rest === "-1" ? null : raw(rest);
      case "=": return new Bytes(raw(rest).raw.slice(4));
      case "*": return rest === "-1" ? null : many(rest);
      case "~": case ">": return many(rest);
      case "%": return Array.from({ length: Number(rest) }, () => [value(), value()]);
      case "|": many(Number(rest) * 2); return value();
      default: throw new Error(`a reply begins with ${kind}`);
    }
  }
  const replies = [];
  while (at < bytes.length) replies.push(value());
  return replies;
}

const KEPT = "tarn-console-token";
let token = sessionStorage.getItem(KEPT);
let whenOut = () => {};

async function post(path, body) {
  const response = await fetch(path, { method: "POST", body, headers: { "X-Tarn-Console": token || "-" } });
  if (response.status === 401) {
    forget();
    whenOut();
    throw new Refusal("Please log in again");
  }
  if (!response.ok) throw new Refusal(`${response.status} ${response.statusText}`);
  return decode(new Uint8Array(await response.arrayBuffer()));
}

function forget() {
  token = null;
  sessionStorage.removeItem(KEPT);
}

export const server = {
  db: 0,
  onLeave(then) { whenOut = then; },
  isOpen() { return token !== null; },
  /** With a user and a password, or with neither. */
  async open(user, password) {
    const body = password === undefined ? new Uint8Array() : encode([["AUTH", user || "default", password]]);
    const [reply] = await post("api/open", body);
    if (reply instanceof Refusal) throw reply;
    token = String(reply);
    sessionStorage.setItem(KEPT, token);
  },
  async close() {
    await post("api/close", new Uint8Array());
    forget();
  },
  /** Replies of commands, errors among them. */
  async all(commands, db = this.db) {
    return commands.length ? post(`api/run?db=${db}`, encode(commands)) : [];
  },
  /** The reply of one command; an error is thrown. */
  async run(...words) {
    const [reply] = await this.all([words]);
    if (reply instanceof Refusal) throw reply;
    return reply;
  },
  async options() {
    const [list] = await post("api/options", new Uint8Array());
    return list.map(([name, section, values, fallback, change, help, idle]) => ({
      name: String(name), section: String(section), values: String(values), fallback: String(fallback),
      change: String(change), help: String(help), idle,
    }));
  },
};
