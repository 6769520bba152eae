import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAccountsSettings } from "../../../src/auth/accounts/mails/settings.ts";
import type { Application } from "../../../src/boot/index.ts";
import { captureMail, createTestClient, linksIn } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { followSection } from "../../support/page-sections.ts";
import { REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/guides/accounts.md";
const PASSWORD = "a password of hers";

let root: string;
let application: Application;
let text: string;
let end: () => Promise<void>;

beforeAll(async () => {
  const made = await generateApplication({});
  root = made.root;
  // The other sections only show what is there.
  await followSection(root, PAGE, "Enumeration");
  const booted = await bootApplication(root);
  application = booted.application;
  text = await readFile(join(REPOSITORY, PAGE), "utf8");
  end = async () => {
    await booted.end();
    await made.remove();
  };
});
afterAll(() => end());

/** The cells of the rows of a section's first table, without the marks of code. */
function table(heading: string): string[][] {
  const section = text.slice(text.indexOf(`\n## ${heading}\n`) + 1);
  const [, rows = ""] = /^\|[-|]+\|\n((?:\|.*\n)+)/m.exec(section) ?? [];
  return rows
    .trim()
    .split("\n")
    .map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
}

test("the table of routes matches the application's, with their names, controllers, views and limits", async () => {
  await checkTypes(root);
  const rows = table("Routes");
  const listed = rows.map(([route = "", name = "", , , limit = ""]) => [route, name, limit.split(",")[0]]);
  const own = application.router.routes.filter(({ middleware }) =>
    middleware.some((entry) => entry.startsWith("auth.page")),
  );
  const limitOf = (middleware: readonly string[]) => {
    return (
      middleware
        .find((entry) => entry.startsWith("throttle:"))
        ?.slice("throttle:".length)
        .split(",")[0] ?? ""
    );
  };
  const actual = own.map(({ name, methods, middleware, pattern }) => {
    return [`${methods.find((method) => method !== "HEAD")} ${pattern}`, name ?? "", limitOf(middleware)];
  });
  const sorted = (list: unknown[][]) => list.map((row) => row.join(" · ")).toSorted();
  expect(sorted(listed)).toEqual(sorted(actual));
  for (const [, , controller = "", view = ""] of rows.filter(([, , cell = ""]) => cell.includes("Controller."))) {
    const [className = "", method = ""] = controller.split(".");
    const file = className.replaceAll(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
    const source = await readFile(join(root, `app/controllers/auth/${file}.ts`), "utf8");
    expect(source, controller).toMatch(new RegExp(` ${method}\\(`));
    if (view === "") continue;
    const [name = "", place = ""] = view.split(" ");
    expect(await readFile(join(root, `views/${place === "" ? "auth/" : ""}${name}.edge`), "utf8")).toContain(
      "@component",
    );
  }
});

test("the table of mails names the generated classes", async () => {
  const config = await readFile(join(root, "config/auth.ts"), "utf8");
  // Token mails come with separate commands.
  const generated = table("Mails").filter(([, className = ""]) => className !== "none" && !className.includes("from "));
  const named = generated.map(([name, className]) => `${name}: ${className},`);
  const section = config.slice(config.indexOf("mailables: {"));
  expect([...section.matchAll(/^ {4}(\w+: \w+,)$/gm)].map(([, entry]) => entry)).toEqual(named);
});

test("the table of settings has the defaults", () => {
  const settings = readAccountsSettings({}) as unknown as Record<string, Record<string, unknown>>;
  for (const [name = "", standard = ""] of table("Settings")) {
    if (standard === "") continue;
    const [first = "", second] = name.split(".");
    const value = second === undefined ? settings[first] : settings[first]![second];
    expect([name, JSON.stringify(value).replaceAll(",", ", ")]).toEqual([name, standard]);
  }
});

test("with preventEnumeration, a free and a taken address get the same response, and the owner logs in once verified", async () => {
  const mail = await captureMail(application);
  const form = { name: "Ada", email: "ada@example.com", password: PASSWORD, password_confirmation: PASSWORD };
  const register = async () => {
    const client = createTestClient(application);
    return (await client.follow(await client.submit(await client.get("/register"), form))).pageText;
  };
  const logIn = async () => {
    const client = createTestClient(application);
    return (await client.submit(await client.get("/login"), { email: form.email, password: PASSWORD })).redirectsTo;
  };
  const first = await register();
  const link = linksIn((await mail.all())[0]!)[0]!;
  expect(await logIn()).toBe("/login");
  const client = createTestClient(application);
  await client.submit(await client.get(link), '[action*="/email/verify/"]');
  expect(await logIn()).toBe("/home");
  await mail.clear();
  expect(await register()).toBe(first);
  expect((await mail.all()).map(({ subject }) => subject)).toEqual(["You already have an account"]);
});
