// The files from `ashlar make:deploy` in use: two instances, run with the unit's commands, behind each proxy.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { type DeployedProxy, HOST, type ProxyName, startProxy } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { COMMAND, edit, execute, generateApplication } from "../support/generated-application.ts";
import { HttpsVisitor, plainly, type VisitorResponse } from "../support/https-visitor.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { withProgram } from "../support/system-programs.ts";
import { readUnit, type SystemdUnit } from "../support/systemd-unit.ts";

/** A different address than the proxies', which is trusted. */
const VISITOR = "127.0.0.2";
const VISITORS = 3;

let root: string;
let remove: () => Promise<void>;
let port: number;
let variables: Record<string, string>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  port = await freePort(1);
  await edit(root, ".env", ["PORT=3000", `PORT=${port}`], ["APP_URL=", `APP_URL=https://${HOST}`]);
  await edit(root, "config/app.ts", ["} satisfies", "  server: { drainSeconds: 2 },\n} satisfies"]);
  await edit(root, "routes/web.ts", [
    "...Auth.routes(AuthControllers),",
    `...Auth.routes(AuthControllers),
  Route.get("/seen", ({ request }) => ({ pid: process.pid, parent: process.ppid, ip: request.clientAddress, host: request.getHost(), scheme: new URL(request.raw.url).protocol, id: request.id, trace: [request.header("traceparent"), request.header("tracestate")] })),
  Route.post("/form", ({ request }) => ({ pid: process.pid, parent: process.ppid, received: request.input("number") })),`,
  ]);
  variables = {
    APP_KEY: generateSecret(),
    JWT_SECRET: generateSecret(),
    TRUSTED_PROXIES: "127.0.0.1",
    MAIL_FROM: "shop@shop.example",
    SMTP_HOST: "127.0.0.1",
  };
  expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
  expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
});
afterAll(() => remove());

interface Instance {
  readonly unit: SystemdUnit;
  process: LongProcess;
}

/** Starts an instance like systemd would, and waits until it counts as started. */
async function start(unit: SystemdUnit): Promise<LongProcess> {
  // The unit looks for Node.js in the machine's folders; here it uses the test's.
  const { PATH: _, ...environment } = unit.environment;
  const all = { ...variables, ...environment };
  const here = (command: string[]): string[] =>
    command
      .slice(2)
      .map((word) =>
        word === "node_modules/ashlar/bin/ashlar.js" ? COMMAND : word.replace("/srv/shop/current", root),
      );
  const process_ = startProcess(root, process.execPath, here(unit.command("ExecStart")), all);
  const { code, output } = await execute(root, process.execPath, here(unit.command("ExecStartPost")), all);
  expect([code, output]).toEqual([0, ""]);
  return process_;
}

async function startTwo(): Promise<Instance[]> {
  const units = await Promise.all(
    [port, port + 1].map((one) => readUnit(join(root, "deploy/shop@.service"), String(one))),
  );
  return Promise.all(units.map(async (unit) => ({ unit, process: await start(unit) })));
}

/** Restarts an instance like systemd would. */
async function restart(instance: Instance): Promise<void> {
  instance.process.child.kill("SIGTERM");
  expect(await instance.process.ended).toEqual({ code: 0, signal: null });
  instance.process = await start(instance.unit);
}

/** Reloads an instance like systemd would, and waits until its old workers are gone. */
async function reload({ unit, process: { child } }: Instance, answers: readonly Answer[]): Promise<void> {
  expect(unit.command("ExecReload")).toEqual(["/bin/kill", "-HUP", "$MAINPID"]);
  const workers = new Set(answers.filter(({ parent }) => parent === child.pid).map(({ pid }) => pid));
  child.kill("SIGHUP");
  await expect.poll(() => [...workers].filter(isRunning)).toEqual([]);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function visitor({ secure }: DeployedProxy): HttpsVisitor {
  const one = new HttpsVisitor(secure, HOST, VISITOR);
  onTestFinished(() => one.leave());
  return one;
}

/** Waits until the proxy forwards requests. */
async function passesOn(proxy: DeployedProxy): Promise<void> {
  await expect
    .poll(() =>
      visitor(proxy)
        .ask("/up")
        .then(({ status }) => status, String),
    )
    .toBe(200);
}

interface Answer {
  /** The worker that responded. */
  readonly pid: number;
  /** The process of its instance. */
  readonly parent: number;
  readonly [member: string]: unknown;
}

/** Requests pages and sends forms, one after the other, until the test ends. */
async function load(one: HttpsVisitor, isOver: () => boolean, answers: Answer[]): Promise<void> {
  const { text } = await one.ask("/login");
  const [, token = ""] = /name="__token" value="([^"]+)"/.exec(text) ?? [];
  for (let number = 0; !isOver(); number++) {
    answers.push(answerOf(await one.ask("/seen")));
    const answer = answerOf(await one.ask("/form", { __token: token, number: String(number) }));
    expect(answer.received).toBe(String(number));
    answers.push(answer);
  }
}

function answerOf({ status, text }: VisitorResponse): Answer {
  expect(status, text).toBe(200);
  return JSON.parse(text) as Answer;
}

async function configuration(name: ProxyName): Promise<string> {
  const file = { nginx: "nginx.conf", caddy: "Caddyfile", haproxy: "haproxy.cfg" }[name];
  return await readFile(join(root, "deploy", file), "utf8");
}

// nginx has no health checks, so as the manual says, only a reload loses no request.
const UPDATES = [
  ["nginx", "reloaded", reload],
  ["caddy", "restarted", restart],
  ["haproxy", "restarted", restart],
] as const;

describe.each(UPDATES)("behind %s", (name, done, update) => {
  withProgram(name, () => {
    test(`the application sees the visitor's address, and loses no request when both instances are ${done}`, async () => {
      const instances = await startTwo();
      const proxy = await startProxy(name, await configuration(name));
      await passesOn(proxy);

      const claimed = {
        "x-forwarded-for": "8.8.8.8",
        "x-forwarded-proto": "http",
        "x-forwarded-host": "evil.example",
        "x-request-id": "chosen",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        tracestate: "chosen=1",
      };
      const seen = answerOf(await visitor(proxy).ask("/seen", null, claimed));
      expect(seen).toMatchObject({
        ip: VISITOR,
        scheme: "https:",
        host: HOST,
        id: expect.stringMatching(/^[\da-f-]{32,36}$/),
        trace: [null, null],
      });
      const { status, cookies } = await visitor(proxy).ask("/login");
      expect(status).toBe(200);
      expect(cookies.join()).toMatch(/^__Host-session=.*; Secure/);

      const answers: Answer[] = [];
      let isOver = false;
      const loads = Promise.all(Array.from({ length: VISITORS }, () => load(visitor(proxy), () => isOver, answers)));
      // The first request that fails ends the test.
      const meanwhile = (work: Promise<unknown>): Promise<unknown> => Promise.race([work, loads]);
      const reached = ({ process: { child } }: Instance): Promise<unknown> =>
        meanwhile(expect.poll(() => answers.some(({ parent }) => parent === child.pid)).toBe(true));
      for (const instance of instances) await reached(instance);
      for (const instance of instances) {
        await meanwhile(update(instance, answers));
        await reached(instance);
      }
      isOver = true;
      await loads;
      expect(answers.length).toBeGreaterThan(100);
    });
  });
});

describe.each(["nginx", "haproxy"] as const)("before the application, %s", (name) => {
  withProgram(name, () => {
    test("redirects to https, and doesn't respond for other hosts", async () => {
      const proxy = await startProxy(name, await configuration(name));
      await expect.poll(() => plainly(proxy.plain, HOST).catch(String)).toEqual([301, `https://${HOST}/login?a=1`]);
      await expect(plainly(proxy.plain, "evil.example")).rejects.toThrow("socket hang up");
      await expect(visitor(proxy).ask("/up", null, { host: "evil.example" })).rejects.toThrow("socket hang up");
      for (const host of [
        `evil.example,${HOST}`,
        `${HOST},evil.example`,
        `${HOST}:@evil.example`,
        `${HOST}:x.evil.example`,
      ]) {
        const [status, location] = await plainly(proxy.plain, host).catch(() => [400, ""] as const);
        expect([host, status === 301 ? new URL(location).host : HOST]).toEqual([host, HOST]);
      }
    });
  });
});
