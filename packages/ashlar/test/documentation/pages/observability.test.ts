// The guide about what an application does, on a generated application.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { familiesOf, refusedConnections, waitingConnections } from "../../../src/metrics/families.ts";
import { createLogger } from "../../../src/public/index.ts";
import { createTestClient } from "../../../src/public/testing.ts";
import { generateSecret } from "../../../src/security/index.ts";
import { type BootedApplication, bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, edit, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { RedisServer } from "../../support/redis-server.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/guides/observability.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

const METRICS_TOKEN = generateSecret();

type Line = Readonly<Record<string, unknown>>;

const lines: Line[] = [];
let root: string;
let remove: () => Promise<void>;
let booted: BootedApplication;
let redis: RedisServer;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  await followPage(root, PAGE);
  // What only the tests of an application leave out.
  await edit(root, "config/app.ts", ["    audit: true,", '    audit: true,\n    requests: true,\n    level: "info",']);
  redis = await RedisServer.start();
  const store = `redisStore({ url: ${JSON.stringify(redis.url)} })`;
  await edit(root, "config/throttle.ts", [
    "import type { ThrottleSettings }",
    "import { redisStore, type ThrottleSettings }",
  ]);
  await edit(root, "config/throttle.ts", ["export const THROTTLE = {", `export const THROTTLE = { store: ${store},`]);
  const settings = { name: "Shop", environment: "test", log: { level: "info" } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  booted = await bootApplication(root, { logger, environment: { METRICS_TOKEN } });
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
});
afterAll(async () => {
  await booted.end();
  await redis.remove();
  await remove();
});

/** The line with a message that the page shows, and the last one that was written. */
async function lineOf(message: string): Promise<readonly [shown: Line, written: Line]> {
  const shown = (await markdownSamples(PAGE)).filter(({ language }) => language === "json");
  const one = shown.map(({ code }) => JSON.parse(code) as Line).find(({ msg }) => msg === message)!;
  return [one, lines.findLast(({ msg }) => msg === message)!];
}

test("the page's files pass the type check", () => checkTypes(root));

test("the log lines of a request and a login have the members that the page shows", async () => {
  const client = createTestClient(booted.application, { address: "203.0.113.77" }).withCsrfToken();
  await client.post("/login", { email: EMAIL, password: PASSWORD });
  await booted.application.container.make("events").settled();
  const isOfLogin = ({ event }: Line) => event !== "auth.new_device";
  lines.splice(0, lines.length, ...lines.filter(isOfLogin));
  const [login, writtenLogin] = await lineOf("audit");
  expect(Object.keys(writtenLogin)).toEqual(Object.keys(login));
  expect([writtenLogin.event, writtenLogin.address]).toEqual(["auth.login", "203.0.113.0"]);
  await client.get("/home");
  const [request, written] = await lineOf("request");
  // Without the framework's server, the length of the body isn't known.
  expect(Object.keys(written)).toEqual(Object.keys(request).filter((name) => name !== "bytes"));
});

test("the page's provider adds its event", async () => {
  const events = booted.application.container.make("events");
  const emit = events.emit as (name: string, payload: object) => Promise<void>;
  await emit.call(events, "order.refunded", { userId: "7", orderId: 9 });
  expect(lines.at(-1)).toMatchObject({ msg: "audit", event: "order.refunded", userId: "7", orderId: 9 });
});

test("the stats have the members that the page lists, and the provider's", async () => {
  const { application } = booted;
  const { carts, ...stats } = application.stats() as unknown as Readonly<Record<string, unknown>>;
  expect(carts).toEqual({ open: 0 });
  const listed = (await pageTables(PAGE)).flatMap(({ rows }) => rows.map(({ member = "" }) => codeOf(member)));
  expect(Object.keys(stats).filter((name) => !listed.includes(name))).toEqual([]);
});

/** What Prometheus would read, after someone has used the application. */
async function scraped(): Promise<string> {
  const client = createTestClient(booted.application).withCsrfToken();
  await client.get("/");
  await client.post("/login", { email: EMAIL, password: PASSWORD });
  await booted.application.container.make("events").settled();
  await booted.application.dailyPrune.look();
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const response = await booted.application.fetch(new Request("http://localhost/ops/metrics", { headers }));
  expect(response.status).toBe(200);
  return `${await response.text()}${ofReplicas()}`;
}

/** What an application with a replica shows, which this one, on SQLite, doesn't have. */
function ofReplicas(): string {
  const stats = { ...booted.application.stats(), replicas: { main: { used: 1, away: 0, behind: 0 } } };
  const { name, values } = familiesOf(stats).find((one) => one.name === "ashlar_database_replicas")!;
  const lines = values.map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    return `${name}{${pairs.join(",")}} ${value}`;
  });
  return `\n${lines.join("\n")}\n`;
}

/** The names of labels and their values, of every line of a metric. */
function labelsOf(text: string, metric: string): ReadonlyMap<string, ReadonlySet<string>>[] {
  const lines = text.split("\n").filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  return lines.map((line) => {
    const pairs = [...line.matchAll(/(\w+)="([^"]*)"/g)];
    return new Map(pairs.map(([, name, value]) => [name!, new Set([value!])]));
  });
}

test("the page lists every metric, with its labels", async () => {
  const text = await scraped();
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns.includes("metric"));
  const rows = tables.flatMap((table) => table.rows);
  const listed = rows.flatMap(({ metric = "", labels = "" }) => {
    const names = [...labels.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    return [...metric.matchAll(/`(\w+)`/g)].map(([, name]) => [name!, names] as const);
  });
  const shown = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].filter(([, name]) => name !== "shop_orders_total");
  expect(listed.map(([name]) => name).toSorted()).toEqual(shown.map(([, name]) => name).toSorted());
  const types = new Map(shown.map(([, name, type]) => [name, type]));
  for (const [name, labels] of listed) {
    if (name.startsWith("ashlar_event_loop")) continue; // Only while the application listens.
    const [first] = labelsOf(text, types.get(name) === "histogram" ? `${name}_bucket` : name);
    expect([name, [...first!.keys()].toSorted()]).toEqual([name, labels.toSorted()]);
  }
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
}

test("the dashboard uses only existing metrics, labels and events, in panels that don't overlap", async () => {
  await booted.application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const text = await scraped();
  const file = join(REPOSITORY, "packages/ashlar/data/grafana-dashboard.json");
  const dashboard = JSON.parse(await readFile(file, "utf8")) as Readonly<Record<string, unknown>> & {
    readonly panels: readonly Panel[];
  };
  expect(dashboard).toMatchObject({
    title: "Ashlar",
    uid: "ashlar",
    schemaVersion: expect.any(Number),
    time: { from: expect.any(String), to: "now" },
    templating: {
      list: [
        { name: "datasource", type: "datasource" },
        { name: "instance", type: "query" },
      ],
    },
  });
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const cells = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) =>
    Array.from({ length: h * w }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  requireSeries(text, expressions);
});

test("the page's rules use only existing metrics and labels", async () => {
  const rules = (await markdownSamples(PAGE)).filter(({ code }) => code.startsWith("# ashlar-alerts.yml"));
  const expressions = rules.flatMap(({ code }) => [...code.matchAll(/^ +expr: (.+)$/gm)].map(([, expr]) => expr!));
  expect(expressions.length).toBeGreaterThan(5);
  // A single process has no primary that accepts connections for it.
  const ofPrimary = [waitingConnections(0), refusedConnections(0)].map(({ name }) => `${name}{worker="1"} 0\n`);
  requireSeries(`${await scraped()}\n${ofPrimary.join("")}`, expressions);
});

/** Expects every metric and label in PromQL to be in what Prometheus reads. */
function requireSeries(text: string, expressions: readonly string[]): void {
  for (const expression of expressions) {
    for (const [, metric, selector = ""] of expression.matchAll(/\b((?:ashlar|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)) {
      const series = labelsOf(text, metric!);
      expect([metric, series.length > 0]).toEqual([metric, true]);
      // `instance` is added by Prometheus.
      for (const [, label, operator, value] of selector.matchAll(/(\w+)(=~?)"([^"]*)"/g)) {
        if (label === "instance") continue;
        const isMeant = (one: string) => (operator === "=" ? one === value : new RegExp(`^(?:${value})$`).test(one));
        expect([value, series.some((one) => [...(one.get(label!) ?? [])].some(isMeant))]).toEqual([value, true]);
      }
      for (const [, by = ""] of expression.matchAll(/by \(([^)]*)\)/g)) {
        const known = new Set(["instance", "worker", ...series.flatMap((one) => [...one.keys()])]);
        expect(by.split(", ").filter((label) => !known.has(label))).toEqual([]);
      }
    }
  }
}
