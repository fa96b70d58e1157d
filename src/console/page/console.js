// The pages. Everything they show and do is a command of the user who is logged in.

import { Bytes, Refusal, server } from "./resp.js";
import { Chart, bars, h, human, short } from "./charts.js";

const page = document.getElementById("page");
const top_ = document.getElementById("top");
const nav = document.getElementById("nav");
const dbChoice = document.getElementById("db");

let timer = null;
/** Counts the pages that were opened, so that answers for an old one are dropped. */
let visit = 0;

function tell(words) {
  const notice = document.getElementById("notice");
  notice.textContent = words;
  notice.hidden = false;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { notice.hidden = true; }, 5000);
}

/** Runs what a click asks for and says what went wrong. */
function doing(work) {
  return async (event) => {
    event?.preventDefault();
    try { await work(event); } catch (error) { tell(error.message); }
  };
}

function every(milliseconds, work) {
  const mine = visit;
  const turn = async () => {
    if (mine !== visit) return;
    try { await work(); } catch (error) { tell(error.message); }
    if (mine === visit) timer = setTimeout(turn, milliseconds);
  };
  return turn();
}

function table(heads, rows) {
  const cell = (tag) => (value, i) => {
    const isNumber = heads[i].startsWith("#");
    const content = tag === "th" ? heads[i].replace("#", "") : value;
    return h(isNumber ? `${tag}.num` : tag, {}, content instanceof Node ? content : String(content ?? ""));
  };
  return h("div.scroll", {}, h("table", {},
    heads.some(Boolean) ? h("thead", {}, h("tr", {}, ...heads.map(cell("th")))) : null,
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell("td")))))));
}

function parseInfo(text) {
  const fields = {};
  for (const line of String(text).split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) fields[line.slice(0, colon)] = line.slice(colon + 1);
  }
  return fields;
}

/** `a=1,b=2` */
function parts(text) {
  return Object.fromEntries(text.split(",").map((part) => part.split("=")).map(([name, value]) => [name, Number(value)]));
}

function show(value, depth = 0) {
  if (value instanceof Refusal) return `(error) ${value.message}`;
  if (value === null) return "(nil)";
  if (value instanceof Bytes) return `"${value}"`;
  if (Array.isArray(value)) {
    if (!value.length) return "(empty)";
    const pad = "   ".repeat(depth);
    return value.map((item, i) => `${i ? pad : ""}${i + 1}) ${show(item, depth + 1)}`).join("\n");
  }
  return typeof value === "string" ? value : `(${typeof value === "boolean" ? "boolean" : "number"}) ${value}`;
}

function duration(ms) {
  if (ms < 0) return "none";
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

// Overview

async function overview() {
  const facts = h("div.cards.facts");
  const charts = {
    calls: new Chart("Commands per second", ["all"], short),
    latency: new Chart("Latency of commands, since the start", ["p50", "p99", "p99.9"], (micros) => `${short(micros)} µs`),
    memory: new Chart("Memory", ["process", "dirty rows", "row cache", "block cache", "other parts of the engine"], human),
    disk: new Chart("Disk", ["sorted, live", "sorted, dead", "log"], human),
    net: new Chart("Network per second", ["in", "out"], human),
    expiry: new Chart("Expiry of fields", ["backlog"], short),
    back: new Chart("Write-back", ["rows that wait", "compaction that waits, MB"], short),
  };
  page.replaceChildren(h("h1", {}, "Overview"), facts,
    h("p.faint", {}, "A point every two seconds, as long as this page is open."),
    h("div.cards", {}, ...Object.values(charts).map((chart) => chart.card)));
  let before = null;
  await every(2000, async () => {
    const info = parseInfo(await server.run("INFO", "everything"));
    const n = (name) => Number(info[name] ?? 0);
    const now = { at: performance.now(), calls: n("total_commands_processed"), in: n("total_net_input_bytes"), out: n("total_net_output_bytes") };
    const rate = (name) => (now[name] - before[name]) / ((now.at - before.at) / 1000);
    const keys = Object.entries(info).filter(([name]) => /^db\d+$/.test(name)).reduce((sum, [, text]) => sum + parts(text).keys, 0);
    facts.replaceChildren(...[
      ["Keys", short(keys)], ["Clients", info.connected_clients], ["Up", duration(n("uptime_in_seconds") * 1000)],
      ["Version", `${info.tarn_version}, ${info.engine}`], ["Memory", `${human(n("used_memory_rss"))} of ${human(n("maxmemory"))}`],
      ["Disk", `${human(n("disk_bytes"))}, ${human(n("disk_free_bytes"))} free`],
    ].map(([name, value]) => h("section.card", {}, h("div.faint", {}, name), h("div.big", {}, value))));
    if (info.write_error) facts.prepend(h("section.card", {}, h("div.bad", {}, `Writes are refused: ${info.write_error}`)));
    // A rate takes two looks.
    if (before) {
      charts.calls.add([rate("calls")]);
      charts.net.add([rate("in"), rate("out")]);
    }
    charts.latency.add(latencies(info));
    charts.memory.add([n("used_memory_rss"), n("dirty_bytes"), n("row_cache_bytes"), n("block_cache_bytes"), n("memtable_bytes") + n("table_reader_bytes")]);
    charts.disk.add([n("live_bytes_estimate"), n("dead_bytes_estimate"), n("log_bytes")]);
    charts.expiry.add([n("field_expiry_backlog")]);
    charts.back.add([n("dirty_rows"), n("compaction_pending_bytes") / 1048576]);
    before = now;
  });
}

/** The percentiles of all commands together, each weighing as much as it was called. */
function latencies(info) {
  const sums = [0, 0, 0];
  let calls = 0;
  for (const [name, text] of Object.entries(info)) {
    if (!name.startsWith("latency_percentiles_usec_")) continue;
    const count = parts(info[`cmdstat_${name.slice(25)}`] ?? "calls=0").calls;
    const values = Object.values(parts(text));
    calls += count;
    sums.forEach((_, i) => { sums[i] += (values[i] ?? 0) * count; });
  }
  return sums.map((sum) => sum / (calls || 1));
}

// Keys

const PAGE = 100;
/** Bytes of a string on one page. */
const PIECE = 16384;
const LENGTHS = { string: "STRLEN", hash: "HLEN", list: "LLEN", set: "SCARD", zset: "ZCARD", stream: "XLEN" };

async function keys() {
  const pattern = h("input", { value: "*", "aria-label": "pattern", id: "pattern" });
  const type = h("select", { id: "type" }, ...["any", ...Object.keys(LENGTHS)].map((name) => h("option", {}, name)));
  const list = h("ul.keys", { id: "keys" });
  const more = h("button", { type: "button" }, "More");
  const detail = h("div", { id: "key" }, h("p.faint", {}, "Choose a key."));
  const count = h("span.faint");
  let cursor = "0", found = 0;
  const scan = async () => {
    // A page without a match is no end.
    const until = found + PAGE;
    do {
      const words = ["SCAN", cursor, "MATCH", pattern.value || "*", "COUNT", 500, ...(type.value === "any" ? [] : ["TYPE", type.value])];
      const [next, names] = await server.run(...words);
      cursor = String(next);
      names.sort((a, b) => String(a) < String(b) ? -1 : 1);
      const types = await server.all(names.map((name) => ["TYPE", name]));
      names.forEach((name, i) => list.append(entry(name, String(types[i]))));
      found += names.length;
      count.textContent = `${found} keys${cursor === "0" ? "" : " so far"}`;
    } while (cursor !== "0" && found < until);
    more.hidden = cursor === "0";
  };
  const entry = (name, kind) => {
    const button = h("button", { type: "button" }, h("span.mono", {}, String(name)), h("span.tag", {}, kind));
    button.addEventListener("click", doing(async () => {
      list.querySelectorAll("[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
      button.setAttribute("aria-current", "true");
      await key(detail, name, () => button.parentElement.remove());
    }));
    return h("li", {}, button);
  };
  const begin = doing(async () => {
    cursor = "0"; found = 0;
    list.replaceChildren();
    await scan();
  });
  more.addEventListener("click", doing(scan));
  page.replaceChildren(h("h1", {}, "Keys"),
    h("form.row", { onsubmit: begin }, h("label", {}, "pattern", pattern), h("label", {}, "type", type),
      h("button.main", {}, "Search"), newKey(begin)),
    h("div.split", {}, h("section.card", {}, count, list, more), h("section.card", {}, detail)));
  await begin();
}

function newKey(then) {
  return h("button", { type: "button", id: "new-key", onclick: doing(async () => {
    const name = prompt("Name of the new key (a string; other types by the command line)");
    if (!name) return;
    const value = prompt("Its value") ?? "";
    if (await server.run("SET", name, value, "NX") === null) throw new Error("There is such a key already");
    await then();
  }) }, "New key");
}

async function key(into, name, gone) {
  const [kind, ttl, encoding, bytes] = await server.all([["TYPE", name], ["PTTL", name], ["OBJECT", "ENCODING", name], ["MEMORY", "USAGE", name]]);
  const type = String(kind);
  if (type === "none") {
    into.replaceChildren(h("p", {}, "It is gone."));
    gone();
    return;
  }
  const size = LENGTHS[type] ? await server.run(LENGTHS[type], name) : 0;
  const again = () => key(into, name, gone);
  const value = h("div", { id: "value" });
  const change = (...words) => doing(async () => { await server.run(...words()); await again(); });
  into.replaceChildren(
    h("h2.mono", {}, String(name)),
    table(["", ""], [["type", `${type}, ${encoding instanceof Refusal ? "" : encoding}`], ["size", size],
      ["bytes, about", bytes instanceof Refusal ? "" : human(Number(bytes ?? 0))], ["time to live", ttl === -1 ? "none" : `${duration(ttl)} (${ttl} ms)`]]),
    h("div.row", {},
      h("button", { type: "button", onclick: change(() => {
        const seconds = prompt("Seconds to live; empty for ever", ttl > 0 ? String(Math.ceil(ttl / 1000)) : "");
        return seconds === null ? ["PTTL", name] : seconds === "" ? ["PERSIST", name] : ["EXPIRE", name, seconds];
      }) }, "Time to live"),
      h("button", { type: "button", onclick: change(() => {
        const other = prompt("New name", String(name));
        if (!other || other === String(name)) return ["TYPE", name];
        return ["RENAMENX", name, other];
      }) }, "Rename"),
      h("button.danger", { type: "button", id: "delete", onclick: doing(async () => {
        if (!confirm(`Delete ${name}?`)) return;
        await server.run("UNLINK", name);
        await again();
      }) }, "Delete"),
      h("button", { type: "button", onclick: doing(again) }, "Read again")),
    value);
  await (VIEWS[type] ?? unknown)(value, name, size, again);
}

/** A pager: `load(from)` gives rows and the next place, or null at the end. */
async function paged(into, heads, load) {
  const body = h("div");
  const next = h("button", { type: "button" }, "Next page");
  const place = h("span.faint");
  const first = h("button", { type: "button" }, "First page");
  const turn = async (from) => {
    const [rows, following, words] = await load(from);
    body.replaceChildren(table(heads, rows));
    place.textContent = words;
    next.disabled = following === null;
    next.onclick = doing(() => turn(following));
  };
  first.onclick = doing(() => turn(null));
  into.append(body, h("div.row", {}, first, next, place));
  await turn(null);
}

const edit = (label, words, again) => h("button", { type: "button", onclick: doing(async () => {
  const command = words();
  if (!command) return;
  await server.run(...command);
  await again();
}) }, label);

/** Text can be typed in again; bytes cannot. */
const ask = (question, value) => value instanceof Bytes && !value.isText
  ? (tell("This value is not text: use the command line"), null) : prompt(question, String(value ?? ""));

function unknown(into) {
  into.append(h("p.faint", {}, "This type is shown by the command line only."));
}

const VIEWS = {
  async string(into, name, size, again) {
    const area = h("textarea", { id: "string", spellcheck: "false" });
    const place = h("span.faint");
    const save = h("button.main", { type: "button" }, "Save");
    let from = 0;
    const turn = async () => {
      const piece = await server.run("GETRANGE", name, from, from + PIECE - 1);
      area.value = String(piece);
      const whole = size <= PIECE;
      // What is shown escaped, or only in part, must not be saved as it is shown.
      area.readOnly = !whole || !piece.isText;
      save.hidden = area.readOnly;
      place.textContent = whole ? "" : `bytes ${from} to ${Math.min(from + PIECE, size) - 1} of ${size}`;
    };
    save.onclick = doing(async () => { await server.run("SET", name, area.value, "KEEPTTL"); await again(); tell("Saved"); });
    const step = (by) => doing(async () => { from = Math.max(0, Math.min(from + by, size - 1 - (size - 1) % PIECE)); await turn(); });
    into.append(area, h("div.row", {}, save,
      ...(size > PIECE ? [h("button", { type: "button", onclick: step(-PIECE) }, "Back"), h("button", { type: "button", onclick: step(PIECE) }, "On")] : []), place));
    await turn();
  },
  async hash(into, name, size, again) {
    into.append(h("div.row", {}, edit("Set a field", () => {
      const field = prompt("Field");
      return field ? ["HSET", name, field, prompt("Value") ?? ""] : null;
    }, again)));
    await paged(into, ["field", "value", "#time to live", "#version", ""], async (from) => {
      const [next, pairs] = await server.run("HSCAN", name, from ?? "0", "COUNT", PAGE);
      const fields = pairs.filter((_, i) => i % 2 === 0), values = pairs.filter((_, i) => i % 2 === 1);
      const [ttls, ...versions] = fields.length
        ? await server.all([["HPTTL", name, "FIELDS", fields.length, ...fields], ...fields.map((field) => ["EXHVER", name, field])]) : [[]];
      const rows = fields.map((field, i) => [String(field), String(values[i]),
        Array.isArray(ttls) ? duration(ttls[i]) : "", versions[i] instanceof Refusal ? "" : String(versions[i]),
        h("span", {}, edit("Edit", () => { const value = ask("Value", values[i]); return value === null ? null : ["HSET", name, field, value]; }, again),
          edit("Delete", () => confirm(`Delete ${field}?`) ? ["HDEL", name, field] : null, again))]);
      return [rows, String(next) === "0" ? null : next, `${size} fields`];
    });
  },
  async list(into, name, size, again) {
    into.append(h("div.row", {}, edit("Append", () => { const value = prompt("Value"); return value === null ? null : ["RPUSH", name, value]; }, again)));
    await paged(into, ["#index", "value", ""], async (from) => {
      const begin = from ?? 0;
      const items = await server.run("LRANGE", name, begin, begin + PAGE - 1);
      const rows = items.map((item, i) => [begin + i, String(item),
        edit("Edit", () => { const value = ask("Value", item); return value === null ? null : ["LSET", name, begin + i, value]; }, again)]);
      return [rows, begin + PAGE < size ? begin + PAGE : null, `${size} items`];
    });
  },
  async set(into, name, size, again) {
    into.append(h("div.row", {}, edit("Add", () => { const value = prompt("Member"); return value === null ? null : ["SADD", name, value]; }, again)));
    await paged(into, ["member", ""], async (from) => {
      const [next, members] = await server.run("SSCAN", name, from ?? "0", "COUNT", PAGE);
      const rows = members.map((member) => [String(member), edit("Remove", () => confirm(`Remove ${member}?`) ? ["SREM", name, member] : null, again)]);
      return [rows, String(next) === "0" ? null : next, `${size} members`];
    });
  },
  async zset(into, name, size, again) {
    into.append(h("div.row", {}, edit("Add", () => {
      const member = prompt("Member");
      return member === null ? null : ["ZADD", name, prompt("Score") ?? "0", member];
    }, again)));
    await paged(into, ["member", "#score", ""], async (from) => {
      const begin = from ?? 0;
      const pairs = await server.run("ZRANGE", name, begin, begin + PAGE - 1, "WITHSCORES");
      const rows = pairs.map(([member, score]) => [String(member), String(score),
        h("span", {}, edit("Score", () => { const value = prompt("Score", String(score)); return value === null ? null : ["ZADD", name, value, member]; }, again),
          edit("Remove", () => confirm(`Remove ${member}?`) ? ["ZREM", name, member] : null, again))]);
      return [rows, begin + PAGE < size ? begin + PAGE : null, `${size} members`];
    });
  },
  async stream(into, name, size, again) {
    await paged(into, ["id", "fields", ""], async (from) => {
      const entries = await server.run("XRANGE", name, from ? `(${from}` : "-", "+", "COUNT", PAGE);
      const rows = entries.map(([id, fields]) => [String(id), fields.map((word, i) => i % 2 ? `${word}\n` : `${word}: `).join(""),
        edit("Delete", () => confirm(`Delete ${id}?`) ? ["XDEL", name, id] : null, again)]);
      return [rows, entries.length === PAGE ? String(entries.at(-1)[0]) : null, `${size} entries`];
    });
  },
};

// Slow log, clients

async function slow() {
  const into = h("div", { id: "slow" });
  const load = async () => {
    const entries = await server.run("SLOWLOG", "GET", 128);
    into.replaceChildren(entries.length
      ? table(["when", "#µs", "command", "client"], entries.map(([, at, micros, words, address, name]) =>
        [new Date(at * 1000).toLocaleString(), micros, h("code", {}, words.join(" ")), `${address} ${name}`]))
      : h("p.faint", {}, "Nothing was slow: slowlog-log-slower-than says from when on a command is."));
  };
  page.replaceChildren(h("h1", {}, "Slow commands"),
    h("div.row", {}, h("button", { type: "button", onclick: doing(load) }, "Read again"),
      h("button", { type: "button", onclick: doing(async () => { await server.run("SLOWLOG", "RESET"); await load(); }) }, "Empty the log")),
    h("section.card", {}, into));
  await load();
}

async function clients() {
  const into = h("div", { id: "clients" });
  const load = async () => {
    const lines = String(await server.run("CLIENT", "LIST")).trim().split("\n").filter(Boolean);
    const rows = lines.map((line) => Object.fromEntries(line.split(" ").map((part) => part.split(/=(.*)/s).slice(0, 2)))).map((client) => [
      client.id, client.addr, client.name, client.db, duration(client.age * 1000), duration(client.idle * 1000), client.cmd,
      human(Number(client.qbuf) + Number(client.omem ?? 0)),
      h("button.danger", { type: "button", onclick: doing(async () => {
        if (!confirm(`Close the connection of ${client.addr}?`)) return;
        await server.run("CLIENT", "KILL", "ID", client.id);
        await load();
      }) }, "Close")]);
    into.replaceChildren(h("p.faint", {}, `${rows.length} connections; the console itself has none.`),
      table(["#id", "address", "name", "#db", "#age", "#idle", "command", "#buffers", ""], rows));
  };
  page.replaceChildren(h("h1", {}, "Clients"), h("section.card", {}, into));
  await every(3000, load);
}

// Big keys

async function big() {
  const into = h("div", { id: "big" });
  const state = h("p.faint");
  const stop = h("button", { type: "button" }, "Stop");
  const mine = visit;
  page.replaceChildren(h("h1", {}, "Big keys"),
    h("p.faint", {}, "Walks the keys of this database, and keeps the largest."),
    h("div.row", {}, stop), h("section.card", {}, state, into));
  let cursor = "0", seen = 0, going = true, largest = [];
  stop.onclick = () => { going = false; };
  do {
    const [next, names] = await server.run("SCAN", cursor, "COUNT", 500);
    const sizes = await server.all(names.map((name) => ["MEMORY", "USAGE", name]));
    const types = await server.all(names.map((name) => ["TYPE", name]));
    largest.push(...names.map((name, i) => ({ name, bytes: Number(sizes[i] ?? 0) || 0, type: String(types[i]) })));
    largest = largest.sort((a, b) => b.bytes - a.bytes).slice(0, 50);
    seen += names.length;
    cursor = String(next);
    if (mine !== visit) return;
    state.textContent = `${seen} keys seen${cursor === "0" ? "" : ", going on"}`;
    into.replaceChildren(table(["key", "type", "#bytes, about"], largest.map(({ name, type, bytes }) => [h("code", {}, String(name)), type, human(bytes)])));
  } while (going && cursor !== "0");
  stop.disabled = true;
}

// Hot keys

async function hot() {
  const seconds = h("select", { id: "hot-seconds" }, ...["10", "60", "600"].map((count) => h("option", {}, count)));
  const begin = h("button.main", { id: "hot-begin" }, "Watch");
  const end = h("button", { type: "button", id: "hot-end" }, "Stop");
  const into = h("div", { id: "hot" });
  const state = h("p.faint", { id: "hot-state" });
  const look = async () => {
    const found = await server.run("HOTKEYS", "GET");
    const fields = new Map((found?.[0] ?? []).map(([name, value]) => [String(name), value]));
    const number = (name) => Number(fields.get(name) ?? 0);
    const isWatching = number("tracking-active") === 1;
    begin.disabled = isWatching;
    end.disabled = !isWatching;
    if (!found) {
      state.textContent = "Nobody has watched yet.";
      into.replaceChildren();
      return;
    }
    state.textContent = `${isWatching ? "Watching, for" : "Watched for"} ${(number("collection-duration-ms") / 1000).toFixed(0)} s: `
      + `all commands took ${short(number("all-commands-all-slots-us"))} µs and ${human(number("net-bytes-all-commands-all-slots"))}.`;
    into.replaceChildren(h("div.cards", {},
      hottest("By time", fields.get("by-cpu-time-us"), number("all-commands-all-slots-us"), (micros) => `${short(micros)} µs`),
      hottest("By bytes of the network", fields.get("by-net-bytes"), number("net-bytes-all-commands-all-slots"), human)));
  };
  page.replaceChildren(h("h1", {}, "Hot keys"),
    h("p.faint", {}, "Sums up what the commands on each key cost, for a while. The server does so once at a time, for everybody (HOTKEYS)."),
    h("form.row", { onsubmit: doing(async () => {
      await server.run("HOTKEYS", "RESET");
      await server.run("HOTKEYS", "START", "METRICS", 2, "CPU", "NET", "COUNT", 20, "DURATION", seconds.value);
      await look();
    }) }, h("label", {}, "seconds", seconds), begin, end),
    h("section.card", {}, state, into));
  end.onclick = doing(async () => { await server.run("HOTKEYS", "STOP"); await look(); });
  await every(1000, look);
}

/** Keys and costs in turn, and the part of what all commands cost. */
function hottest(title, list, all, format) {
  const rows = [];
  for (let at = 0; at + 1 < (list?.length ?? 0); at += 2) {
    const cost = Number(list[at + 1]);
    rows.push([h("code", {}, String(list[at])), format(cost), `${(100 * cost / (all || 1)).toFixed(1)} %`]);
  }
  return h("div", {}, h("h2", {}, title), rows.length ? table(["key", "#cost", "#of all"], rows) : h("p.faint", {}, "None."));
}

// Slots

async function slots() {
  const SLOTS = 16384, BAR = 64;
  const into = h("div", { id: "slots" });
  page.replaceChildren(h("h1", {}, "Slots"), h("section.card", {}, into));
  const mine = visit;
  const counts = [];
  for (let from = 0; from < SLOTS; from += 2048) {
    const asked = Array.from({ length: 2048 }, (_, i) => ["CLUSTER", "COUNTKEYSINSLOT", from + i]);
    const replies = await server.all(asked, 0);
    if (mine !== visit) return;
    if (replies[0] instanceof Refusal) {
      into.replaceChildren(h("p", {}, replies[0].message));
      return;
    }
    counts.push(...replies.map(Number));
    into.replaceChildren(h("p.faint", {}, `${counts.length} of ${SLOTS} slots counted`));
  }
  const all = counts.reduce((sum, count) => sum + count, 0);
  const groups = Array.from({ length: SLOTS / BAR }, (_, i) => counts.slice(i * BAR, (i + 1) * BAR).reduce((sum, count) => sum + count, 0));
  const fullest = counts.map((count, slot) => ({ slot, count })).filter(({ count }) => count).sort((a, b) => b.count - a.count).slice(0, 20);
  into.replaceChildren(
    h("p", {}, `${all} keys of database 0 in ${counts.filter(Boolean).length} of ${SLOTS} slots`),
    bars("Keys by slot, 64 slots a bar", groups), h("p.faint", {}, "Keys by slot, 64 slots a bar."),
    table(["#slot", "#keys"], fullest.map(({ slot, count }) => [slot, count])));
}

// Configuration

async function configuration() {
  const [options, pairs] = await Promise.all([server.options(), server.run("CONFIG", "GET", "*")]);
  const values = new Map(pairs.map(([name, value]) => [String(name), value]));
  const filter = h("input", { type: "search", "aria-label": "filter", placeholder: "filter", id: "filter" });
  const idle = h("input", { type: "checkbox", id: "idle" });
  const into = h("div", { id: "options" });
  const draw = () => {
    const word = filter.value.toLowerCase();
    const shown = options.filter((option) => (idle.checked || !option.idle) && (option.name.includes(word) || option.help.toLowerCase().includes(word)));
    into.replaceChildren(...Object.entries(Object.groupBy ? Object.groupBy(shown, (option) => option.section) : group(shown)).map(([section, list]) =>
      h("section.card", {}, h("h2", {}, section), table(["option", "value", "meaning", ""], list.map(row)))));
  };
  const group = (list) => list.reduce((all, option) => { (all[option.section] ??= []).push(option); return all; }, {});
  const row = (option) => {
    const value = String(values.get(option.name) ?? "");
    const secret = /pass|auth/.test(option.name) && value ? "(set)" : value;
    return [h("code", {}, option.name), h("code", {}, secret || "(empty)"),
      h("span", {}, option.help, h("div.faint", {}, `${option.values}; default ${option.fallback || "empty"}${option.change === "start" ? "; set at the start only" : ""}`)),
      option.change === "start" ? "" : h("button", { type: "button", onclick: doing(async () => {
        const next = prompt(option.name, secret === "(set)" ? "" : value);
        if (next === null || next === value) return;
        await server.run("CONFIG", "SET", option.name, next);
        values.set(option.name, next);
        draw();
        tell(`${option.name} is ${next || "empty"} now, until the next start (CONFIG REWRITE keeps it)`);
      }) }, "Change")];
  };
  filter.oninput = draw;
  idle.onchange = draw;
  page.replaceChildren(h("h1", {}, "Configuration"),
    h("div.row", {}, filter, h("label.check", {}, idle, "with options that have no effect")), into);
  draw();
}

// Command line

const history = [];

/** Words as redis-cli takes them, quoted or not. */
function split(line) {
  const words = [];
  const pattern = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/gs;
  for (const [, double, single, bare] of line.matchAll(pattern)) {
    if (double === undefined) { words.push(single === undefined ? bare : single.replace(/\\'/g, "'")); continue; }
    const bytes = [];
    for (const [piece] of double.matchAll(/\\x[0-9a-fA-F]{2}|\\.|[^\\]/gsu)) {
      if (piece.startsWith("\\x") && piece.length === 4) bytes.push(parseInt(piece.slice(2), 16));
      else bytes.push(...new TextEncoder().encode(piece[0] === "\\" ? { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" }[piece[1]] ?? piece[1] : piece));
    }
    words.push(new Uint8Array(bytes));
  }
  return words;
}

let docs = null;

async function commandDocs() {
  if (docs) return docs;
  docs = new Map();
  const add = (name, fields) => {
    const field = new Map(fields.map(([key_, value]) => [String(key_), value]));
    docs.set(name.toUpperCase(), String(field.get("summary") ?? ""));
    for (const [sub, inner] of field.get("subcommands") ?? []) add(String(sub).replace("|", " "), inner);
  };
  for (const [name, fields] of await server.run("COMMAND", "DOCS")) add(String(name), fields);
  return docs;
}

async function commandLine() {
  const lines = h("div", { id: "lines" });
  const input = h("input", { id: "command", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": "command", placeholder: "GET key" });
  const hints = h("div", { id: "hints" });
  page.replaceChildren(h("h1", {}, "Command line"), h("section.card", {}, lines,
    h("form.prompt", { onsubmit: doing(send) }, input, h("button.main", {}, "Run")), hints));
  input.focus();
  let back = history.length;
  const known = await commandDocs();
  const matches = () => {
    const typed = input.value.trimStart().toUpperCase();
    return typed ? [...known.keys()].filter((name) => name.startsWith(typed)).sort().slice(0, 12) : [];
  };
  input.oninput = () => {
    const words = input.value.trim().toUpperCase().split(/\s+/);
    const exact = known.get(words.slice(0, 2).join(" ")) ?? known.get(words[0]);
    hints.replaceChildren(...matches().map((name) => h("button", { type: "button", title: known.get(name), onclick: () => {
      input.value = `${name} `;
      input.focus();
      input.oninput();
    } }, name)), ...(exact ? [h("span.faint", {}, exact)] : []));
  };
  input.onkeydown = (event) => {
    if (event.key === "Tab" && matches().length) {
      event.preventDefault();
      input.value = `${matches()[0]} `;
      input.oninput();
    } else if (event.key === "ArrowUp" && back > 0) {
      back -= 1;
      input.value = history[back];
    } else if (event.key === "ArrowDown" && back < history.length) {
      back += 1;
      input.value = history[back] ?? "";
    }
  };
  async function send() {
    const line = input.value.trim();
    if (!line) return;
    const words = split(line);
    history.push(line);
    back = history.length;
    input.value = "";
    hints.replaceChildren();
    const said = h("pre", {}, "…");
    lines.append(h("div.said", {}, h("div.mono.faint", {}, `> ${line}`), said));
    const begun = performance.now();
    const [reply] = await server.all([words]);
    const text = reply === undefined ? "(no reply)" : show(reply);
    said.textContent = text.length > 200000 ? `${text.slice(0, 200000)}\n... ${text.length} characters` : text;
    if (reply instanceof Refusal) said.className = "bad";
    said.after(h("span.faint", {}, `${(performance.now() - begun).toFixed(1)} ms`));
    lines.scrollTop = lines.scrollHeight;
    if (String(words[0]).toUpperCase() === "SELECT" && reply === "OK") { dbChoice.value = words[1]; server.db = Number(words[1]); }
  }
}

// Going from page to page

const PAGES = [
  ["overview", "Overview", overview], ["keys", "Keys", keys], ["slow", "Slow log", slow], ["clients", "Clients", clients],
  ["big", "Big keys", big], ["hot", "Hot keys", hot], ["slots", "Slots", slots], ["configuration", "Configuration", configuration], ["commands", "Command line", commandLine],
];

async function route() {
  clearTimeout(timer);
  visit += 1;
  if (!server.isOpen()) return login();
  const [name, title, open] = PAGES.find(([known]) => known === location.hash.slice(1)) ?? PAGES[0];
  document.title = `${title} – Tarn`;
  nav.replaceChildren(...PAGES.map(([known, words]) => h("a", { href: `#${known}`, "aria-current": known === name ? "page" : null }, words)));
  top_.hidden = false;
  page.dataset.page = name;
  page.replaceChildren(h("p.faint", {}, "…"));
  try {
    await open();
    page.dataset.ready = name;
  } catch (error) {
    page.append(h("p.bad", {}, error.message));
  }
}

/** With what is known of an earlier page; else with a user and a password, or with neither where nobody needs one. */
async function enter(user, password) {
  if (!server.isOpen() || password !== undefined) await server.open(user, password);
  let count = 16;
  try { count = Number((await server.run("CONFIG", "GET", "databases"))[0][1]); } catch { /* this user may not ask */ }
  if (!server.isOpen()) return;
  dbChoice.replaceChildren(...Array.from({ length: Math.min(count, 256) }, (_, i) => h("option", {}, String(i))));
  await route();
}

function begin() {
  return enter().catch((error) => login(error.message.startsWith("NOAUTH") ? "" : error.message));
}

function login(words) {
  top_.hidden = true;
  delete page.dataset.ready;
  page.dataset.page = "login";
  const user = h("input", { name: "user", value: "default", autocomplete: "username" });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
  const wrong = h("p.bad", { role: "alert" }, words ?? "");
  page.replaceChildren(h("form.login.card", { onsubmit: async (event) => {
    event.preventDefault();
    try { await enter(user.value, password.value); } catch (error) { wrong.textContent = error.message; }
  } }, h("h1", {}, "Tarn"), h("label", {}, "user", user), h("label", {}, "password", password), wrong, h("button.main", {}, "Log in")));
  password.focus();
}

// The server has forgotten who this is.
server.onLeave(begin);
document.getElementById("leave").addEventListener("click", doing(async () => { await server.close(); login(); }));
dbChoice.addEventListener("change", () => { server.db = Number(dbChoice.value); route(); });
addEventListener("hashchange", route);
begin();
