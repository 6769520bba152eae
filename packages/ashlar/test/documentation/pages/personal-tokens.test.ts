// The guide about personal tokens, on a generated application.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeTokenText } from "../../../src/api/stores/token-text.ts";
import type { Application } from "../../../src/public/index.ts";
import { createTestClient } from "../../../src/public/testing.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { pageFiles, writePageFile } from "../../support/page-files.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/personal-tokens.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

let root: string;
let remove: () => Promise<void>;
let application: Application;
let end: () => Promise<void>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  expect(await ashlar(root, "tokens:install")).toMatchObject({ code: 0, errors: "" });
  for (const file of await pageFiles(PAGE)) await writePageFile(root, file);
  await checkTypes(root);
  ({ application, end } = await bootApplication(root));
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  await user.markEmailAsVerified();
});
afterAll(async () => {
  await end?.();
  await remove();
});

/** A sample of the page in a language. */
async function sample(language: string, index: number): Promise<string> {
  return (await markdownSamples(PAGE)).filter((one) => one.language === language)[index]!.code;
}

test("the page's configuration and routes are all that the command requires", async () => {
  const { output } = await ashlar(root, "tokens:install");
  expect(output).toBe("Everything is already in place; nothing was changed.");
  const routes = (await pageTables(PAGE)).find(({ columns }) => columns[0] === "Method and path")!;
  for (const row of routes.rows) {
    const [method, path] = codeOf(row["Method and path"]!)!.split(" ");
    const name = codeOf(row.Name!)!;
    const made = application.router.routes.find((route) => route.name === name);
    expect([made?.methods, application.router.to(name, path!.includes("@id") ? { id: "7" } : {})]).toEqual([
      expect.arrayContaining([method]),
      path!.replace("@id", "7"),
    ]);
  }
});

test("a token is created, used and revoked with the page's requests and responses", async () => {
  const client = createTestClient(application).withCsrfToken();
  (await client.postJson("/login", { email: EMAIL, password: PASSWORD })).assertStatus(200);
  const request = JSON.parse((await sample("text", 0)).split("\n\n")[1]!) as object;
  const { data } = JSON.parse((await sample("text", 1)).split("\n\n")[1]!) as { data: Record<string, unknown> };
  const made = (await client.postJson("/account/tokens", request)).assertStatus(201);
  made.assertHeader("cache-control", "private, no-store");
  const created = (made.json as { data: Record<string, string> }).data;
  expect(Object.keys(created).toSorted()).toEqual(Object.keys(data).toSorted());
  expect(created).toMatchObject({ id: data.id, name: data.name, abilities: data.abilities });
  const script = createTestClient(application).withToken(created.token!);
  (await script.getJson("/api/me")).assertStatus(200).assertHeader("content-type", "application/json; charset=utf-8");
  (await script.postJson("/api/logout")).assertStatus(204);
  (await script.getJson("/api/me")).assertStatus(401);
});

test("the page's function recognizes tokens, and nothing else", async () => {
  const code = (await markdownSamples(PAGE)).find((one) => one.code.includes("isPersonalToken"))!.code;
  await writePageFile(root, { path: "scanner.ts", text: code });
  const { isPersonalToken } = (await import(join(root, "scanner.ts"))) as { isPersonalToken(text: string): boolean };
  for (let round = 0; round < 50; round++) {
    const token = makeTokenText("ash_");
    expect(isPersonalToken(token)).toBe(true);
    expect(isPersonalToken(token.slice(0, -1) + (token.endsWith("0") ? "1" : "0"))).toBe(false);
  }
  const prose = await readFile(join(import.meta.dirname, "../../../../..", PAGE), "utf8");
  const [, pattern = ""] = /`(\\bash_[^`]+)`/.exec(prose)!;
  expect(`TOKEN=${makeTokenText("ash_")};`).toMatch(new RegExp(pattern));
});

test("the page's function replaces a token", async () => {
  const { importToken } = (await import(join(root, "app/import-token.ts"))) as {
    importToken(application: Application, user: object): Promise<string>;
  };
  const user = (await (await userClass(root)).findBy("email", EMAIL))!;
  const [first, second] = [await importToken(application, user), await importToken(application, user)];
  const status = async (token: string) =>
    (await createTestClient(application).withToken(token).getJson("/api/me")).status;
  expect([await status(first), await status(second)]).toEqual([401, 200]);
});
