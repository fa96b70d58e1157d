// Clicks through every page of the console: node walk.mjs CHROMIUM ADDRESS PASSWORD ADDRESS-OF-A-CLUSTER [FOLDER-FOR-PICTURES]

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./browser.mjs";

const [program, address, password, cluster, folder] = process.argv.slice(2);
const browser = await Browser.start(program);
const text = (selector) => browser.value(`document.querySelector(${JSON.stringify(selector)}).innerText`);
const has = (selector, words) => browser.until(`document.querySelector(${JSON.stringify(selector)})?.innerText.includes(${JSON.stringify(words)})`);

/** Pictures for the documentation, and whether the page fits the width. */
async function pictures(name) {
  for (const [width, height, scheme, mobile, suffix] of [[1180, 760, "light", false, "light"], [1180, 760, "dark", false, "dark"], [390, 780, "light", true, "phone"], [390, 780, "dark", true, "phone-dark"]]) {
    await browser.look(width, height, scheme, mobile);
    await browser.value("scrollTo(0, 0)");
    const wide = await browser.value("document.documentElement.scrollWidth");
    assert.ok(wide <= width, `${name} is ${wide} wide on ${width}`);
    if (folder) writeFileSync(join(folder, `console-${name}-${suffix}.png`), await browser.picture());
  }
  await browser.look(1180, 760, "light");
}

async function go(name) {
  await browser.click(`nav a[href="#${name}"]`);
  await browser.until(`document.querySelector("#page").dataset.ready === ${JSON.stringify(name)}`);
}

async function search(pattern) {
  await browser.value(`document.querySelector("#pattern").value = ${JSON.stringify(pattern)}`);
  await browser.click("form.row button.main");
}

async function command(line) {
  await browser.click("#command");
  await browser.type(line);
  await browser.press("Enter", 13);
}

try {
  if (folder) mkdirSync(folder, { recursive: true });
  await browser.look(1180, 760, "light");
  await browser.send("Page.navigate", { url: address });

  // A login that is wrong, and one that is right.
  await browser.until(`document.querySelector("#page").dataset.page === "login"`);
  assert.equal(await browser.value("document.querySelector('#top').hidden"), true);
  await browser.click("input[name=password]");
  await browser.type("wrong");
  await browser.press("Enter", 13);
  await has(".login .bad", "WRONGPASS");
  await pictures("login");
  await browser.value("document.querySelector('input[name=password]').value = ''");
  await browser.click("input[name=password]");
  await browser.type(password);
  await browser.press("Enter", 13);
  await browser.until(`document.querySelector("#page").dataset.page === "overview"`);

  // Overview: the charts move.
  const points = (chart) => `document.querySelectorAll("svg.chart")[${chart}].querySelector("polyline").getAttribute("points").split(" ").length`;
  await browser.until(`${points(0)} >= 4`);
  for (const words of ["Commands per second", "Memory", "Disk", "Expiry of fields", "Write-back", "Latency"]) await has("#page", words);
  await pictures("overview");

  // Keys: search, look at each type, page by page, edit, delete.
  await go("keys");
  await has("#keys", "user:1");
  await search("user:*");
  await browser.until(`document.querySelectorAll("#keys li").length === 3`);
  await browser.click("#keys li button");
  await has("#key", "hash");
  await has("#value", "session");
  assert.match(await text("#value"), /\d+ s/);
  await pictures("keys");
  await search("big:hash");
  await browser.click("#keys li button");
  await has("#value", "1000 fields");
  const first = await text("#value tbody");
  await browser.click("#value .row button:nth-of-type(2)");
  await browser.until(`document.querySelector("#value tbody").innerText !== ${JSON.stringify(first)}`);
  for (const [name, words] of [["a:list", "item-7"], ["a:set", "member-7"], ["a:zset", "7.5"], ["a:stream", "temperature: 21"], ["binary", "\\x00\\xff"]]) {
    await search(name);
    await browser.until(`document.querySelectorAll("#keys li").length === 1`);
    await browser.click("#keys li button");
    if (name === "binary") await browser.until(`document.querySelector("#string")?.value === ${JSON.stringify(words)} && document.querySelector("#string").readOnly`);
    else await has("#value", words);
  }
  await search("long:string");
  await browser.click("#keys li button");
  await has("#value", "bytes 0 to 16383 of 40000");
  await search("greeting");
  await browser.until(`document.querySelectorAll("#keys li").length === 1`);
  await browser.click("#keys li button");
  await browser.until(`document.querySelector("#string")?.value === "hello"`);
  await browser.value(`document.querySelector("#string").value = "hello, <b>world</b>"`);
  await browser.click("#value button.main");
  await has("#notice", "Saved");
  await browser.until(`document.querySelector("#string")?.value === "hello, <b>world</b>"`);
  await browser.click("#delete", "yes");
  await has("#key", "It is gone.");
  await browser.click("#new-key", "made-here", "from a prompt");
  await search("made-here");
  await has("#keys", "made-here");

  // Another database.
  await browser.value(`(() => { const choice = document.querySelector("#db"); choice.value = "1"; choice.dispatchEvent(new Event("change")); })()`);
  await has("#keys", "in-one");
  await browser.value(`(() => { const choice = document.querySelector("#db"); choice.value = "0"; choice.dispatchEvent(new Event("change")); })()`);
  await has("#keys", "user:1");

  await go("slow");
  await has("#slow", "hgetall user:1");
  await pictures("slow");
  await go("clients");
  await has("#clients", "walker");
  await pictures("clients");
  await go("big");
  await has("#big", "big:hash");
  await pictures("big");

  // Hot keys: nobody watches, somebody does, and stops.
  await go("hot");
  await has("#hot-state", "Nobody has watched yet");
  assert.equal(await browser.value("document.querySelector('#hot-end').disabled"), true);
  await browser.click("#hot-begin");
  await has("#hot-state", "Watching");
  // The other client reads it all the time.
  await has("#hot", "user");
  assert.match(await text("#hot"), /By time[^]*µs[^]*%[^]*By bytes of the network[^]*%/);
  await browser.click("#hot-end");
  await has("#hot-state", "Watched for");
  assert.equal(await browser.value("document.querySelector('#hot-begin').disabled"), false);
  await pictures("hot");
  await go("slots");
  await has("#slots", "cluster support disabled");

  await go("configuration");
  await has("#options", "appendfsync");
  await browser.click("#filter");
  await browser.type("slowlog-max-len");
  await browser.until(`document.querySelectorAll("#options tbody tr").length === 1`);
  await browser.click("#options tbody button", "99");
  await has("#options", "99");
  assert.ok(!(await text("#page")).includes(password), "the password is on the page");
  await pictures("configuration");

  await go("commands");
  await browser.click("#command");
  await browser.type("expiret");
  await has("#hints", "EXPIRETIME");
  await browser.press("Tab", 9);
  await browser.until(`document.querySelector("#command").value === "EXPIRETIME "`);
  await browser.value(`document.querySelector("#command").value = ""`);
  await command('SET "with space" "a\\x00b"');
  await has("#lines", "OK");
  await command('GET "with space"');
  await has("#lines", '"a\\x00b"');
  await command("HGETALL user:1");
  await has("#lines", '"session"');
  await command("NOSUCH");
  await has("#lines .bad", "unknown command 'NOSUCH'");
  await command("SUBSCRIBE x");
  await has("#lines", "needs a connection of its own");
  await command("CONFIG GET slowlog-max-len");
  await has("#lines", '"99"');
  await pictures("commands");

  // A page that is loaded again still knows who it is; who has left does not come back.
  await browser.send("Page.reload");
  await browser.until(`document.querySelector("#page").dataset.ready === "commands"`);
  await browser.click("#leave");
  await browser.until(`document.querySelector("#page").dataset.page === "login"`);
  await browser.send("Page.reload");
  await browser.until(`document.querySelector("#page").dataset.page === "login" && document.querySelector("#top").hidden`);

  // Slots, and a server without a password: nobody has to log in.
  await browser.send("Page.navigate", { url: `${cluster}#slots` });
  await has("#slots", "3 keys of database 0 in 3 of 16384 slots");
  await pictures("slots");

  const foreign = browser.requests.filter((url) => !url.startsWith(address) && !url.startsWith(cluster) && !url.startsWith("data:") && url !== "about:blank");
  assert.deepEqual(foreign, [], "requests to elsewhere");
  assert.deepEqual(browser.faults, [], "errors in the page");
  console.log(`console-test: every page works (${browser.requests.length} requests)`);
} catch (error) {
  console.error(error.message, browser.faults);
  process.exitCode = 1;
} finally {
  await browser.stop();
}
