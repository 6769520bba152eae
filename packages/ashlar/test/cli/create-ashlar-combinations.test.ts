import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProjectOptions } from "../../src/scaffold/index.ts";
import { createTestClient } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { ashlar } from "../support/command-line.ts";
import { edit, generatedApplication, passesItsOwnChecks } from "../support/generated-application.ts";

type Choices = Pick<
  ProjectOptions,
  "pages" | "json" | "api" | "registration" | "verification" | "language" | "manager"
>;

/** All files of an application without its secrets and packages; migrations by their names without the date. */
async function filesOf(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts: Record<string, string> = {};
  for (const path of files) {
    const name = path.slice(root.length + 1).replace(/\d{4}(?:_\d+){3}_/, "");
    if (name !== ".env") texts[name] = await readFile(path, "utf8");
  }
  return texts;
}

// The other commands generate registration, verification and English pages.
describe.for([
  { pages: true, api: true, registration: false, verification: true, language: "de" },
  { pages: true, api: false, registration: true, verification: false, language: "de" },
  { pages: true, api: true, registration: false, verification: false, language: "en", manager: "pnpm" },
] as const satisfies readonly Choices[])("an application of %j", (choices) => {
  test("passes its own type check and tests unchanged", async () => {
    await passesItsOwnChecks(await generatedApplication(choices), choices);
  });

  test("is still as generated in the commands' view, and stays unchanged", async () => {
    const root = await generatedApplication(choices);
    const before = await filesOf(root);
    for (const command of ["auth", ...(choices.api ? ["api:install"] : [])]) {
      expect(await ashlar(root, command)).toMatchObject({
        code: 0,
        output: "Everything is already in place; nothing was changed.",
      });
    }
    expect(await filesOf(root)).toEqual(before);
  });

  test("uses its language, and shows and links only its features", async () => {
    const { application, end } = await bootApplication(await generatedApplication(choices));
    try {
      const client = createTestClient(application);
      const front = await client.get("/");
      front
        .assertStatus(200)
        .assertSee(choices.language === "de" ? "Die Anwendung läuft." : "The application is running.");
      expect(front.text).toContain(`<html lang="${choices.language}" dir="ltr">`);
      expect(front.text.includes('href="/register"')).toBe(choices.registration);
      const parts = { en: ["registration", "verified addresses"], de: ["Registrierung", "bestätigte Adressen"] };
      const named = parts[choices.language].map((part) => front.text.includes(part));
      expect(named).toEqual([choices.registration, choices.verification]);
      (await client.get("/register")).assertStatus(choices.registration ? 200 : 404);
      (await client.get("/login")).assertStatus(200);
    } finally {
      await end();
    }
  });
});

test("api:install turns an application without registration into one as generated with the API", async () => {
  const choices = { pages: true, registration: false, verification: false, language: "de", manager: "yarn" } as const;
  const root = await generatedApplication({ ...choices, api: false });
  expect(await ashlar(root, "api:install")).toMatchObject({ code: 0 });
  const [files, made] = [await filesOf(root), await filesOf(await generatedApplication({ ...choices, api: true }))];
  for (const all of [files, made]) {
    // A new table has the column from the start.
    delete all["database/migrations/add_api_token_to_users.ts"];
    delete all["database/migrations/create_users.ts"];
  }
  expect(files).toEqual(made);
});

describe.for([
  { json: true, api: true, registration: true, verification: true, language: "en" },
  { json: true, api: false, registration: false, verification: true, language: "de" },
  { json: true, api: true, registration: true, verification: false, language: "en", manager: "pnpm" },
] as const)("an application of %j", (options) => {
  const choices = { ...options, pages: false };

  test("passes its own type check and tests unchanged", async () => {
    await passesItsOwnChecks(await generatedApplication(choices), choices);
  });

  test("has no views, and is still as generated in the commands' view", async () => {
    const root = await generatedApplication(choices);
    const before = await filesOf(root);
    const paths = Object.keys(before);
    expect(paths.filter((path) => /^(?:views|public)\//.test(path))).toEqual([]);
    expect(paths.includes("app/controllers/auth/register-controller.ts")).toBe(choices.registration);
    expect(paths.includes("add-user.ts")).toBe(!choices.registration);
    expect(Object.values(before).join("\n")).not.toMatch(/ViewProvider|\bview\b.*HttpContext|\.edge/);
    for (const command of [["auth"], ["auth", "--json"], ...(choices.api ? [["api:install"]] : [])]) {
      expect(await ashlar(root, ...command)).toMatchObject({
        code: 0,
        output: "Everything is already in place; nothing was changed.",
      });
    }
    expect(await filesOf(root)).toEqual(before);
  });

  test("mails links to its front end", async () => {
    const { application, end } = await bootApplication(await generatedApplication(choices), {
      environment: { TRUSTED_ORIGINS: "https://app.shop.example", FRONTEND_URL: "https://app.shop.example/" },
    });
    try {
      const { pages } = application.container.make("accounts");
      const token = { token: "a/b" };
      expect([
        pages.url("web", "email.verify", token),
        pages.url("web", "email.undo", token),
        pages.url("web", "password_reset", {}, token),
        pages.urlIfAny("web", "change_password"),
        pages.urlIfAny("web", "login"),
        pages.urlIfAny("web", "register"),
        pages.urlIfAny("web", "nowhere"),
      ]).toEqual([
        "https://app.shop.example/email/verify/a%2Fb",
        "https://app.shop.example/email/undo/a%2Fb",
        "https://app.shop.example/password_reset?token=a%2Fb",
        "https://app.shop.example/change_password",
        "https://app.shop.example/login",
        choices.registration ? "https://app.shop.example/register" : null,
        null,
      ]);
    } finally {
      await end();
    }
  });
});

test("auth --json turns an application without accounts into one as generated with them", async () => {
  const choices = { pages: false, api: true, language: "de", database: "postgres" } as const;
  const root = await generatedApplication(choices);
  expect(await ashlar(root, "auth", "--json")).toMatchObject({ code: 0 });
  const made = await filesOf(await generatedApplication({ ...choices, json: true }));
  const files = await filesOf(root);
  // It keeps its front page.
  const own = ["config/providers.ts", "routes/web.ts", "README.md"];
  for (const path of Object.keys(made).filter((path) => !own.includes(path) && !path.startsWith("database/"))) {
    expect([path, files[path]]).toEqual([path, made[path]]);
  }
  expect(files["routes/web.ts"]).toContain('Route.view("/", "welcome")');
  expect(files["routes/web.ts"]).toContain("...Auth.routes(AuthControllers, { json: true }),");
  expect(files["config/providers.ts"]).toContain("ViewProvider");
  expect(await ashlar(root, "auth")).toMatchObject({ output: "Everything is already in place; nothing was changed." });
});

test("auth --json adds accounts to files that their author has changed", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  for (const path of ["app/kernel.ts", "config/providers.ts", "routes/web.ts", "app/models/user.ts", ".env"]) {
    const sign = path === ".env" ? "# mine\n" : "// mine\n";
    await writeFile(join(root, path), sign + (await readFile(join(root, path), "utf8")));
  }
  const { code, output } = await ashlar(root, "auth", "--json");
  expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
  expect(await readFile(join(root, "app/kernel.ts"), "utf8")).toContain(
    "httpMiddleware = [CorsMiddleware, IpMiddleware]",
  );
  expect(await readFile(join(root, "routes/web.ts"), "utf8")).toMatch(
    /\.\.\.Auth\.routes\(AuthControllers, \{ json: true \}\),\s+\.\.\.Csrf\.routes\(\),/,
  );
  expect(await readFile(join(root, ".env"), "utf8")).toMatch(/^FRONTEND_URL=$/m);
  await passesItsOwnChecks(root, { pages: false, json: true, api: false });
});

test("auth --json is refused where there are pages, and nothing is written", async () => {
  const root = await generatedApplication();
  const before = await filesOf(root);
  expect(await ashlar(root, "auth", "--json")).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^This application has the account pages/),
  });
  expect(await filesOf(root)).toEqual(before);
});

test("auth adds registration and verification to an application without pages, in its language", async () => {
  const root = await generatedApplication({ pages: false, api: true, language: "de", manager: "bun" });
  expect(await ashlar(root, "auth")).toMatchObject({ code: 0 });
  const made = await filesOf(await generatedApplication({ pages: true, api: true, language: "de", manager: "bun" }));
  const files = await filesOf(root);
  for (const path of ["README.md", "tests/auth.test.ts", "app/models/user.ts", "routes/web.ts", "views/welcome.edge"]) {
    expect([path, files[path]]).toEqual([path, made[path]]);
  }
});

test("auth does not bring back a feature that the author has removed", async () => {
  const root = await generatedApplication();
  await edit(root, "app/models/user.ts", [", MustVerifyEmail }", " }"], [", MustVerifyEmail)", ")"]);
  await edit(root, "routes/web.ts", [
    "Auth.routes(AuthControllers)",
    "Auth.routes(AuthControllers, { register: false })",
  ]);
  await ashlar(root, "auth", "--force");
  expect(await readFile(join(root, "app/models/user.ts"), "utf8")).not.toContain("MustVerifyEmail");
  expect(await readFile(join(root, "routes/web.ts"), "utf8")).toContain("{ register: false }");
});
