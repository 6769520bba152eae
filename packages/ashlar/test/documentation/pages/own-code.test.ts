import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { captureEvents, createTestClient, factory, type TestClient } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { COMMAND, checkTypes, edit, execute, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

// What the pages about an application's own code show, together in one application.
const PAGES = [
  "docs/guides/middleware.md",
  "docs/guides/errors.md",
  "docs/guides/languages.md",
  "docs/guides/features.md",
];

let root: string;
let application: Application;
let client: TestClient;
const ended: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const generated = await generateApplication();
  ({ root } = generated);
  ended.push(generated.remove);
  for (const page of PAGES) await followPage(root, page);
  await edit(
    root,
    "app/kernel.ts",
    [
      "export class Kernel",
      'import { MaintenanceMiddleware } from "./middleware/maintenance-middleware.ts";\nimport { RoleMiddleware } from "./middleware/role-middleware.ts";\nimport { TimingMiddleware } from "./middleware/timing-middleware.ts";\n\nexport class Kernel',
    ],
    ["httpMiddleware = [IpMiddleware]", "httpMiddleware = [MaintenanceMiddleware, IpMiddleware]"],
    [
      "override routeMiddleware = {",
      "override routeMiddleware = {\n    role: [RoleMiddleware],\n    timing: [TimingMiddleware],",
    ],
  );
  await edit(
    root,
    "config/providers.ts",
    [
      "// The active",
      'import { InvitationsProvider } from "../app/invitations/invitations-provider.ts";\n\n// The active',
    ],
    ["  AuthProvider,", "  AuthProvider,\n  InvitationsProvider,"],
  );
  await edit(
    root,
    "routes/web.ts",
    [
      "export const ROUTES",
      'import { INVITATION_ROUTES } from "../app/invitations/routes.ts";\nimport { LANGUAGES } from "./languages.ts";\nimport { ORDERS } from "./orders.ts";\n\nexport const ROUTES',
    ],
    [
      "  ...Auth.routes(AuthControllers),",
      '  Route.get("/staff", () => "staff").middleware("auth", "role:admin", "timing"),\n  ...INVITATION_ROUTES,\n  ...LANGUAGES,\n  ...ORDERS,\n  ...Auth.routes(AuthControllers),',
    ],
  );
  await checkTypes(root);
  const booted = await bootApplication(root);
  ended.push(booted.end);
  ({ application } = booted);
  client = createTestClient(application);
});
afterAll(async () => {
  for (const end of ended.toReversed()) await end();
});

describe("middleware", () => {
  test("a role is asked for after the user, and the handler's time is told", async () => {
    (await client.get("/staff")).assertRedirect("/login");
    const User = await userClass(root);
    const users = factory(
      User as never,
      (n: number) => ({ name: "Ada", email: `ada-${n}@example.com`, password: "a password of hers" }) as never,
    );
    const [author, admin] = [createTestClient(application), createTestClient(application)];
    await author.actingAs((await users.create()) as never);
    (await author.get("/staff")).assertStatus(403).assertSee("not for you");
    await admin.actingAs((await users.create({ email: "grace@shop.example" } as never)) as never);
    (await admin.get("/staff"))
      .assertStatus(200)
      .assertSee("staff")
      .assertHeader("server-timing", /^app;dur=\d+\.\d$/);
  });

  test("a misspelled role ends the boot, with the place of the route", async () => {
    await edit(root, "routes/languages.ts", [
      "({ language }) => language)",
      '({ language }) => language).middleware("role:amdin" as "role:admin")',
    ]);
    // In a process of its own, which has not loaded the file before.
    const { code, output } = await execute(root, process.execPath, [COMMAND, "routes"]);
    await edit(root, "routes/languages.ts", ['.middleware("role:amdin" as "role:admin")', ""]);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/languages\.ts:\d+[\s\S]*role:amdin: is not a role\. Use: author, editor, admin\./),
    ]);
  });

  test("while the variable is set, only those who know the word get through", async () => {
    const { application: down, end } = await bootApplication(root, { environment: { MAINTENANCE: "stone" } });
    const visitor = createTestClient(down);
    (await visitor.get("/count/1"))
      .assertStatus(503)
      .assertHeader("retry-after", "300")
      .assertSee("Back in a few minutes.");
    (await visitor.get("/count/1", { headers: { "x-maintenance": "stone" } })).assertStatus(200);
    await end();
  });
});

describe("errors", () => {
  test("a program gets the problem document of the page", async () => {
    const response = (await client.getJson("/orders/closed"))
      .assertStatus(409)
      .assertHeader("content-type", /problem\+json/);
    expect(response.json).toEqual({
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "Order 7 was closed yesterday.",
      code: "E_ORDER_CLOSED",
    });
  });

  test("a browser gets the page of the status, with the site's layout", async () => {
    const page = (await client.get("/orders/closed"))
      .assertStatus(409)
      .assertSee("Too late", "Order 7 was closed yesterday.");
    expect(page.text).toContain('href="/style.css');
  });

  test("headers of an error are sent, and its cause is not", async () => {
    const response = (await client.getJson("/orders/stock")).assertStatus(503).assertHeader("retry-after", "60");
    expect(response.text).not.toContain("ECONNREFUSED");
  });

  test("any other error tells nothing to a visitor", async () => {
    const headers = { accept: "application/json" };
    const response = await application.fetch(new Request("http://shop.example/orders/broken", { headers }));
    const text = await response.text();
    expect([response.status, JSON.parse(text).code]).toEqual([500, "E_INTERNAL"]);
    expect(text).not.toContain("hunter2");
  });
});

describe("languages", () => {
  test("a sentence has the visitor's language and its plural form", async () => {
    const german = createTestClient(application).withLanguage("de-AT,en;q=0.5");
    const texts = [];
    for (const one of [client, german]) {
      for (const path of ["/count/1", "/count/2000", "/since", "/language"]) texts.push((await one.get(path)).text);
    }
    expect(texts).toEqual([
      "You have 1 order.",
      "You have 2,000 orders.",
      expect.stringMatching(
        /^A customer since .*January.*2026|^A customer since .*Jan.*2026|^A customer since 1\/31\/26/,
      ),
      "en",
      "Sie haben 1 Bestellung.",
      "Sie haben 2.000 Bestellungen.",
      expect.stringMatching(/^Kunde seit .*31/),
      "de",
    ]);
  });

  test("lang:keys prints lines for lang/en.ts", async () => {
    const { code, output } = await ashlar(root, "lang:keys", "auth.login");
    expect([code, output]).toEqual([
      0,
      expect.stringContaining('"auth.login.failed": "Incorrect email address or password.",'),
    ]);
  });
});

describe("features", () => {
  test("an invitation's link works, emits its event, and any other code is gone", async () => {
    const events = captureEvents(application);
    const invitations = application.container.make("invitations" as never) as { link(email: string): string };
    const link = new URL(invitations.link("grace@example.com"));
    expect((await client.getJson(link.pathname)).assertStatus(200).json).toEqual({ invited: "grace@example.com" });
    events.assertEmitted("invitation.accepted" as never, { email: "grace@example.com" } as never);
    const refused = (await client.getJson(`${link.pathname}x`)).assertStatus(410);
    expect(refused.json).toMatchObject({ code: "E_INVITATION" });
  });

  test("its command is listed, prints a link, and says what it needs", async () => {
    await ashlar(root, "migrate");
    expect((await ashlar(root, "--help")).output).toContain("invitations:link");
    expect((await ashlar(root, "invitations:link")).errors).toContain("Name the address");
    expect((await ashlar(root, "invitations:link", "ada@example.com")).output).toMatch(/\/invitations\/\S+$/);
  });

  test("its settings are checked at boot", async () => {
    const config = { invitations: { INVITATIONS: { expiresInMinutes: "an hour" } } };
    await expect(bootApplication(root, { config } as never)).rejects.toThrow(
      /config\/invitations\.ts: INVITATIONS\.expiresInMinutes: is "an hour"/,
    );
  });
});
