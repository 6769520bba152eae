// The headers that keep caches from mixing up visitors: what the page's table says, with and without a Cache-Control.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/public/index.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { edit, generateApplication } from "../../support/generated-application.ts";
import { type PageTable, pageTables } from "../../support/page-tables.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/responses.md";
const HAPPENED = "In the request";
const CACHEABLE = "public, max-age=60";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

/** By the first column of the table: how it happens, and for whom. */
const CASES: Readonly<Record<string, readonly [act: string, by: "user" | "guest" | "token"][]>> = {
  "A user was found, by a login or a token, or the visitor's session holds something and was used.": [
    ["login looked for", "user"],
    ["session used", "user"],
    ["token looked for", "token"],
  ],
  "A login was looked for, and there isn't one.": [["login looked for", "guest"]],
  "A token was looked for, even if there isn't one.": [["token looked for", "guest"]],
  "The cookie of a session or a login is set or removed.": [
    ["session begun", "guest"],
    ["logged out", "user"],
  ],
};

let application: Application;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const { root, remove } = await generateApplication();
  ends.push(remove);
  const { code } = (await markdownSamples(PAGE)).find((sample) => sample.code.includes('Route.get("/prices"'))!;
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `const ACTS: Record<string, (context: HttpContext) => unknown> = {
  "login looked for": ({ auth }) => auth.check(),
  "token looked for": ({ auth }) => auth.guard("jwt").check(),
  "session used": ({ session }) => session.all(),
  "session begun": ({ session }) => session.put("value", 1),
  "logged out": ({ auth }) => auth.logout(),
};

export const ROUTES: RouteEntry[] = [
  Route.get("/acts/@act", async (context) => {
    const { request, response } = context;
    if (request.boolean("cached")) response.header("Cache-Control", "${CACHEABLE}");
    await ACTS[request.param("act")!]!(context);
    return "done";
  }),
  ${code.trim().replace(/;$/, ",")}`,
  ]);
  await edit(root, "routes/web.ts", ["import { ", "import { type HttpContext, "]);
  const booted = await bootApplication(root);
  application = booted.application;
  ends.push(booted.end);
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function visitor(by: "user" | "guest" | "token"): Promise<TestClient> {
  const client = createTestClient(application);
  if (by === "user") await client.submit(await client.get("/login"), { email: EMAIL, password: PASSWORD });
  if (by !== "token") return client;
  const { json } = await client.post("/api/auth", { username: EMAIL, password: PASSWORD });
  return createTestClient(application).withToken((json as { data: string }).data);
}

test("this test covers each row of the table", async () => {
  const { rows } = await table();
  expect(rows.map((row) => row[HAPPENED])).toEqual(Object.keys(CASES));
});

test.each(Object.entries(CASES))("S63 S123 %s", async (happened, cases) => {
  const { columns, rows } = await table();
  const row = rows.find((one) => one[HAPPENED] === happened)!;
  const [byItself, withOwn] = columns.slice(1).map((column) => row[column]!);
  for (const [act, by] of cases) {
    const plain = await (await visitor(by)).get(`/acts/${act}`);
    expect([act, plain.headers.get("cache-control")]).toEqual([act, headerIn(byItself!, "Cache-Control")]);
    const kept = await (await visitor(by)).get(`/acts/${act}?cached=1`);
    const isReplaced = withOwn === "the same, instead of yours";
    const own = isReplaced ? headerIn(byItself!, "Cache-Control") : CACHEABLE;
    expect([act, kept.headers.get("cache-control")]).toEqual([act, own]);
    const fields = (kept.headers.get("vary") ?? "").toLowerCase().split(/, */);
    if (!isReplaced)
      expect([act, fields]).toEqual([act, expect.arrayContaining([headerIn(withOwn!, "Vary")!.toLowerCase()])]);
  }
});

test("a response that depends on the application's own cookie varies by it once the handler says so", async () => {
  const client = createTestClient(application);
  const answer = await client.get("/prices");
  expect([answer.json, answer.headers.get("cache-control")]).toEqual([{ region: "eu" }, CACHEABLE]);
  expect(answer.headers.get("vary")).toMatch(/^cookie$/i);
});

async function table(): Promise<PageTable> {
  return (await pageTables(PAGE)).find(({ columns }) => columns[0] === HAPPENED)!;
}

/** The value of a header that a cell names: `Vary: Cookie`; `null` if it names none. */
function headerIn(cell: string, name: string): string | null {
  return new RegExp(`\\x60${name}: (.+?)\\x60`).exec(cell)?.[1] ?? null;
}
