import { expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { freeze, thaw } from "../support/frozen-process.ts";
import { COMMAND, freePort } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { folderWith } from "../support/temporary-folder.ts";

const APP = `
import { createApplication, createLogger, Route } from ${JSON.stringify(builtModule("index"))};

export default await createApplication({
  environment: { APP_ENV: "test", LOG_LEVEL: "info" },
  config: { app: { APP: { name: "Shop", server: { hostname: "127.0.0.1", maxQueueMs: 200 } } } },
  logger: createLogger({ name: "Shop", environment: "test", log: { level: "info", requests: false } }),
  root: import.meta.dirname,
  routes: [
    Route.get("/", () => ({ pid: process.pid })),
    Route.get("/busy", () => {
      const end = performance.now() + 10;
      while (performance.now() < end);
      return "done";
    }),
    Route.post("/form", ({ request }) => request.all()),
  ],
});
`;

const GERMAN = `export const MESSAGES = { "errors.busy": "Zu viele auf einmal." };\n`;

/** As a browser sends it when a page is opened. */
const HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const CLOSE = "Host: a\r\nConnection: close\r\n\r\n";
const FORM = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n";

async function serving(workers: number) {
  const port = await freePort();
  const args = [COMMAND, "serve", "--workers", String(workers), "--port", String(port)];
  const instance = startProcess(folderWith({ "app.ts": APP, "lang/de.ts": GERMAN }), process.execPath, args);
  await instance.printed(/Shop is listening on (http:\S+)/);
  const { pid } = (await (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).json()) as {
    pid: number;
  };
  const lines = () =>
    instance
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const stop = async () => {
    instance.child.kill("SIGTERM");
    await instance.ended;
  };
  return { port, pid, lines, stop };
}

const statusOf = (response: string): string => response.slice(9, 12);

test("S150 connections that have waited too long for a worker are refused by the primary process, and health checks continue", async () => {
  const { port, pid, lines, stop } = await serving(1);
  // On a busy machine, the first request may have been slow. After these, nothing waits.
  for (let count = 0; count < 5; count++) await rawSocket(port, `GET / HTTP/1.1\r\n${CLOSE}`).closed;
  freeze(pid);
  // A frozen worker's channel has room for some, which the primary can't take back.
  const sent = Array.from({ length: 3 }, () => rawSocket(port, `GET / HTTP/1.1\r\n${CLOSE}`));
  for (const { socket } of sent) await expect.poll(() => socket.readyState).toBe("open");
  const waiting = Array.from({ length: 50 }, () => rawSocket(port, `GET / HTTP/1.1\r\n${CLOSE}`));
  const health = rawSocket(port, "GET /up HTTP/1.1\r\nHos");
  const form = rawSocket(port, FORM);
  form.socket.write("x".repeat(3_000_000));
  const silent = rawSocket(port);
  const answers = await Promise.all([...waiting, form].map(({ closed }) => closed));
  const refused = answers.filter((answer) => statusOf(answer) === "503");
  expect(refused).toHaveLength(51);
  for (const answer of refused)
    expect(answer).toMatch(/^retry-after: 1\r$[\s\S]*^connection: close\r$[\s\S]*try again in a moment\.$/im);
  expect([health.received(), silent.received(), silent.socket.closed]).toEqual(["", "", false]);
  health.socket.write("t: a\r\nConnection: close\r\n\r\n");
  thaw(pid);
  expect(statusOf(await health.closed)).toBe("200");
  const late = (await Promise.all(sent.map(({ closed }) => closed))).map(statusOf);
  expect(late).toContain("200");
  expect(late.filter((status) => status !== "200" && status !== "503")).toEqual([]);
  // Once nothing waits anymore, a request is handled with its complete body.
  silent.socket.write(
    `POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"a":`,
  );
  await new Promise((sent) => silent.socket.write('"letters"}', sent));
  expect(await silent.closed).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"a":"letters"\}$/);
  await stop();
  const all = refused.length + late.filter((status) => status === "503").length;
  const counted = lines().filter(({ msg }) => /^Requests were refused with 503/.test(String(msg)));
  // On a busy machine, the worker may have refused requests that were on their way to it.
  expect(counted.reduce((sum, line) => sum + Number(line.refused), 0)).toBe(all);
  expect(counted.find(({ worker }) => worker === undefined)!.refused).toBeGreaterThanOrEqual(refused.length);
});

test("S150 browsers get a page in their language from each process that refuses, others a line of text", async () => {
  const { port, pid, stop } = await serving(1);
  for (let count = 0; count < 5; count++) await rawSocket(port, `GET / HTTP/1.1\r\n${CLOSE}`).closed;
  freeze(pid);
  const asked = (method: string, accept: string, language: string) =>
    rawSocket(
      port,
      `${method} / HTTP/1.1\r\nAccept: ${accept}\r\nAccept-Language: ${language}\r\nContent-Length: 0\r\n${CLOSE}`,
    );
  // Fills the worker's channel; the worker itself refuses these.
  const first = Array.from({ length: 40 }, () => asked("GET", HTML, "de-AT,de;q=0.9"));
  for (const { socket } of first) await expect.poll(() => socket.readyState).toBe("open");
  const read = asked("GET", HTML, "de-AT,de;q=0.9");
  const sent = asked("POST", HTML, "en");
  const api = asked("GET", "*/*", "de");
  expect(await read.closed).toMatch(
    /^HTTP\/1\.1 503 [\s\S]*^content-type: text\/html; charset=utf-8\r$[\s\S]*<html lang="de" dir="ltr">[\s\S]*Zu viele auf einmal\./m,
  );
  expect(await sent.closed).toMatch(
    /^HTTP\/1\.1 503 [\s\S]*<html lang="en"[\s\S]*reload this page: that sends it again/m,
  );
  expect(await api.closed).toMatch(/^HTTP\/1\.1 503 [\s\S]*^content-type: text\/plain[\s\S]*try again in a moment\.$/m);
  thaw(pid);
  const late = (await Promise.all(first.map(({ closed }) => closed))).filter((answer) => statusOf(answer) === "503");
  for (const answer of late) {
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(body).toContain("Zu viele auf einmal.");
    expect(head).toMatch(new RegExp(`^content-length: ${Buffer.byteLength(body)}\\r$`, "im"));
  }
  expect(late.length).toBeGreaterThan(0);
  await stop();
});

test("S150 an excessive burst is refused in part, and every request gets a response", async () => {
  const { port, lines, stop } = await serving(2);
  const clients = Array.from({ length: 400 }, () => rawSocket(port, `GET /busy HTTP/1.1\r\n${CLOSE}`));
  const health = rawSocket(port, `GET /up HTTP/1.1\r\n${CLOSE}`);
  const statuses = (await Promise.all(clients.map(({ closed }) => closed))).map(statusOf);
  expect(statusOf(await health.closed)).toBe("200");
  const refused = statuses.filter((status) => status === "503").length;
  expect([refused > 0, statuses.filter((status) => status === "200").length]).toEqual([true, 400 - refused]);
  await stop();
  // Each process that has refused requests logs that once or twice, and the counts add up.
  const totals = lines().filter(({ msg }) => /^Requests were refused/.test(String(msg)));
  expect(totals.reduce((sum, line) => sum + Number(line.refused), 0)).toBe(refused);
  expect(lines().filter(({ msg }) => /refused/.test(String(msg))).length).toBeLessThanOrEqual(6);
});
