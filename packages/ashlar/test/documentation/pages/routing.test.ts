import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/routing.md";

let root: string;
let application: Application;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const generated = await generateApplication();
  root = generated.root;
  ends.push(generated.remove);
  await followPage(root, PAGE);
  const booted = await bootApplication(root);
  application = booted.application;
  ends.push(booted.end);
});

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

test("the page's routes have correct types", () => checkTypes(root));

test("each of the page's routes responds", async () => {
  const client = createTestClient(application);
  expect((await client.get("/hello")).text).toBe("Hello, stranger!");
  expect((await client.get("/hello/Ada")).text).toBe("Hello, Ada!");
  (await client.get("/shop")).assertStatus(301).assertRedirect("/orders");
  (await client.get("/orders")).assertJson([{ id: 1 }, { id: 2 }]);
  (await client.get("/orders/7")).assertJson({ id: 7 });
  (await client.withCsrfToken().post("/orders", { note: "Ring" }))
    .assertStatus(201)
    .assertJson({ id: 3, note: "Ring" });
  (await client.get("/reports/2026")).assertRedirect("/login");
  expect((await client.get("/docs/a/b")).text).toBe("Page a/b");
});

test("other paths get 404, other methods 405, and OPTIONS lists the methods", async () => {
  const client = createTestClient(application);
  (await client.get("/nowhere")).assertStatus(404);
  (await client.get("/reports/soon")).assertStatus(404);
  (await client.withCsrfToken().delete("/orders/7")).assertStatus(405).assertHeader("allow", "GET, HEAD, OPTIONS");
  (await client.send("OPTIONS", "/orders")).assertStatus(204).assertHeader("allow", "GET, HEAD, POST, OPTIONS");
  expect((await client.get("/orders/")).status).toBe(200);
  expect((await client.get("/%6frders")).status).toBe(404);
});

test("a signed link works until it is changed", async () => {
  const client = createTestClient(application);
  const link = application.router.signed("invoices.show", { number: 7 }, { expiresInMinutes: 60 });
  expect((await client.get(link)).text).toBe("Invoice 7");
  (await client.get(link.replace("/7", "/8"))).assertStatus(403);
  (await client.get("/invoices/7")).assertStatus(403);
});

test("mistakes are reported all at once with their lines, as the page says", async () => {
  const generated = await generateApplication({ api: false });
  ends.push(generated.remove);
  const routes = [
    'import { Route, type RouteEntry } from "ashlar";',
    "",
    "export const ROUTES: RouteEntry[] = [",
    '  Route.get("/", () => "home").name("home"),',
    '  Route.get("/a", () => "a"),',
    '  Route.get("/b", () => "b"),',
    '  Route.get("/c", () => "c"),',
    '  Route.get("/orders/@id:int", () => "order"),',
    '  Route.get("/orders/@number:int", () => "order"),',
    '  Route.get("/start", () => "start").name("home"),',
    "];",
    "",
  ];
  await writeFile(join(generated.root, "routes/web.ts"), routes.join("\n"));
  const failure = await bootApplication(generated.root).then(
    () => "",
    (error: Error) => error.message,
  );
  const shown = (await markdownSamples(PAGE)).find(({ code }) => code.startsWith("There are 2 problems"))!.code;
  const lines = failure.replaceAll(/[^\s]*(?=routes\/web\.ts)/g, "").split("\n");
  expect(lines.toSorted()).toEqual(shown.split("\n").toSorted());
});
