// Drives Chromium over its debugging pipe: no packages are needed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 60_000;

export class Browser {
  static async start(program) {
    const profile = mkdtempSync(join(tmpdir(), "tarn-console-"));
    const child = spawn(program, [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
      "--disable-background-networking", "--hide-scrollbars", `--user-data-dir=${profile}`,
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const browser = new Browser(child, profile);
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    browser.session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await browser.send(`${domain}.enable`);
    return browser;
  }

  constructor(child, profile) {
    Object.assign(this, { child, profile, next: 1, waiting: new Map(), faults: [], requests: [], dialogs: [] });
    let rest = "";
    child.stdio[4].setEncoding("utf8").on("data", (piece) => {
      const messages = (rest + piece).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.hear(JSON.parse(message)));
    });
    child.on("exit", () => this.waiting.forEach(({ fail }) => fail(new Error("the browser ended"))));
  }

  hear({ id, result, error, method, params }) {
    if (id !== undefined) {
      const { done, fail } = this.waiting.get(id) ?? {};
      this.waiting.delete(id);
      return error ? fail?.(new Error(error.message)) : done?.(result);
    }
    if (method === "Runtime.exceptionThrown") this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") this.faults.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    if (method === "Page.javascriptDialogOpening") {
      const answer = this.dialogs.shift();
      this.send("Page.handleJavaScriptDialog", { accept: answer !== null && answer !== undefined, promptText: String(answer ?? "") });
    }
  }

  send(method, params = {}) {
    const id = this.next++;
    const message = { id, method, params, ...(this.session ? { sessionId: this.session } : {}) };
    return new Promise((done, fail) => {
      const late = setTimeout(() => fail(new Error(`${method} is not answered`)), PATIENCE_MS);
      this.waiting.set(id, { done: (result) => { clearTimeout(late); done(result); }, fail: (error) => { clearTimeout(late); fail(error); } });
      this.child.stdio[3].write(`${JSON.stringify(message)}\0`);
    });
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Looks again and again until the expression is true. */
  async until(expression) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      if (await this.value(`Boolean(${expression})`).catch(() => false)) return;
      if (Date.now() > deadline) {
        const text = await this.value("document.body.innerText").catch(() => "");
        throw new Error(`still not true: ${expression}\nThe page says:\n${text.slice(0, 3000)}`);
      }
      await new Promise((then) => setTimeout(then, 20));
    }
  }

  /** Clicks an element as a person would; prompts and questions that follow get these answers. */
  async click(selector, ...answers) {
    this.dialogs.push(...answers);
    await this.until(`document.querySelector(${JSON.stringify(selector)})`);
    const place = await this.value(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center" });
      const { x, y, width, height } = element.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    })()`);
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
    }
  }

  async type(text) { await this.send("Input.insertText", { text }); }

  async press(key, code) {
    for (const type of ["keyDown", "keyUp"]) await this.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code, text: type === "keyDown" && key === "Enter" ? "\r" : undefined });
  }

  async look(width, height, scheme, mobile = false) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  }

  async picture() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  async stop() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((then) => (this.child.exitCode === null ? this.child.once("exit", then) : then()));
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
