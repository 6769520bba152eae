// The guide about the client: its files, used with an application, and what its tables say.
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { ClientError, SessionClient, TokenClient } from "../../../src/public/client.ts";
import { userClass } from "../../support/booted-application.ts";
import { type ClientApi, startClientApi } from "../../support/client-api.ts";
import { cookieFetch } from "../../support/cookie-fetch.ts";
import { edit, generatedApplication } from "../../support/generated-application.ts";
import { compile } from "../../support/installed-application.ts";
import { followPage } from "../../support/page-files.ts";
import { pageTables } from "../../support/page-tables.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/guides/client.md";
const PASSWORD = "a password of hers";

let api: ClientApi;
beforeAll(async () => {
  const profile = (await markdownSamples(PAGE)).find(({ code }) => code.startsWith("Route.put("))!;
  api = await startClientApi({ tokens: "many", personal: true, routes: profile.code.replace(/;\s*$/, ",") });
  const User = await userClass(api.application.root!);
  for (const name of ["Ada", "Penny"]) {
    const user = new User().fill({ name, email: `${name.toLowerCase()}@example.com` });
    await user.setPassword(PASSWORD);
    await user.save();
  }
});
afterAll(() => api?.end());

/** The files of the page, in a folder, with the address of the application. */
async function frontEnd(): Promise<string> {
  const root = await generatedApplication({ pages: false, api: false });
  expect(await followPage(root, PAGE)).toEqual([
    "src/api.ts",
    "src/account.ts",
    "src/second-factor.ts",
    "src/shop-client.ts",
    "src/sentence.ts",
  ]);
  for (const file of ["src/api.ts", "src/shop-client.ts"]) await edit(root, file, ["http://localhost:3000", api.url]);
  return root;
}

test("the files have the stated types in a browser program", async () => {
  const root = await frontEnd();
  const compilerOptions = { lib: ["es2024", "dom"], types: ["node"], noEmit: true };
  const project = { extends: "./tsconfig.json", compilerOptions, include: ["src"] };
  await writeFile(join(root, "tsconfig.src.json"), JSON.stringify(project));
  expect(await compile(root, "TypeScript 7", "-p", "tsconfig.src.json")).toBe("");
});

test("the session client's files log in, name a step, and say who is logged in", async () => {
  const root = await frontEnd();
  vi.stubGlobal("fetch", cookieFetch().fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const account = (await import(join(root, "src/account.ts"))) as {
    currentUser(): Promise<{ email: string } | null>;
    logIn(email: string, password: string): Promise<string | null>;
    rename(name: string): Promise<unknown>;
    tokenNames(): Promise<string[]>;
  };
  const { sentenceFor, problemsOf } = (await import(join(root, "src/sentence.ts"))) as {
    sentenceFor(error: unknown): string;
    problemsOf(error: unknown, input: string): readonly string[];
  };
  expect(await account.currentUser()).toBeNull();
  const wrong: unknown = await account.logIn("ada@example.com", "no").catch((error: unknown) => error);
  expect(problemsOf(wrong, "email")).toEqual(["Incorrect email address or password."]);
  expect(problemsOf(wrong, "password")).toEqual([]);
  expect(problemsOf(new Error("a mistake"), "email")).toEqual([]);
  expect(await account.logIn("ada@example.com", PASSWORD)).toBeNull();
  expect(await account.currentUser()).toMatchObject({ email: "ada@example.com" });
  expect(await account.rename("Ada Lovelace")).toMatchObject({ name: "Ada Lovelace", email: "ada@example.com" });
  const unnamed: unknown = await account.rename(" ").catch((error: unknown) => error);
  expect(problemsOf(unnamed, "name")).toEqual(["Use 1 to 100 characters."]);
  const unverified: unknown = await account.tokenNames().catch((error: unknown) => error);
  expect([(unverified as ClientError).code, sentenceFor(unverified)]).toEqual(["E_FORBIDDEN", expect.any(String)]);
  const User = await userClass(api.application.root!);
  const ada = (await User.findBy("email", "ada@example.com"))!;
  await ada.markEmailAsVerified();
  await api.application.container
    .make("apiDrivers")
    .personal()
    .issue(ada, { name: "backup", abilities: null, days: 7 });
  expect(await account.tokenNames()).toEqual(["backup"]);
  expect(await account.logIn("penny@example.com", PASSWORD)).toBe("code");
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no network")));
  expect(sentenceFor(await account.currentUser().catch((error: unknown) => error))).toMatch(/can't be reached/);
  expect(() => sentenceFor(new RangeError("a mistake"))).toThrow(RangeError);
});

test("the command-line program keeps its tokens in a file that only its owner can read", async () => {
  const root = await frontEnd();
  const file = join(root, "tokens.json");
  await edit(root, "src/shop-client.ts", ['"tokens.json"', JSON.stringify(file)]);
  interface Shop {
    readonly shop: { isLoggedIn(): Promise<boolean>; logout(): Promise<void> };
    logIn(username: string, password: string): Promise<void>;
    myAddress(): Promise<string>;
  }
  const first = (await import(join(root, "src/shop-client.ts"))) as Shop;
  expect(await first.shop.isLoggedIn()).toBe(false);
  await first.logIn("ada@example.com", PASSWORD);
  expect(await readFile(file, "utf8")).toContain('"refresh"');
  const { mode } = await stat(file);
  expect(mode & 0o777).toBe(0o600);
  // The next start of the program.
  const second = (await import(`${join(root, "src/shop-client.ts")}?again`)) as Shop;
  expect(await second.myAddress()).toBe("ada@example.com");
  await second.shop.logout();
  expect(await first.shop.isLoggedIn()).toBe(false);
});

/** The methods of an object, those that it inherits included. */
function methodsOf(client: object): string[] {
  const found: string[] = [];
  for (let at = Object.getPrototypeOf(client); at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    found.push(...Object.getOwnPropertyNames(at).filter((name) => name !== "constructor"));
  }
  return found;
}

test("the tables list every method, every property and code of an error", async () => {
  const tables = await pageTables(PAGE);
  const cells = (column: string): string[] =>
    tables.flatMap(({ columns, rows }) => (columns.includes(column) ? rows.map((row) => row[column]!) : []));
  const methods = cells("method").flatMap((cell) => [...cell.matchAll(/`(\w+)\(/g)].map(([, name]) => name!));
  const clients = [new SessionClient({ url: "" }), new TokenClient({ url: "" })];
  expect([...new Set(methods)].sort()).toEqual([...new Set(clients.flatMap(methodsOf))].sort());
  // A login continues at the URL of its flow.
  const routes = cells("route")
    .map((cell) => cell.replaceAll("`", ""))
    .filter((route) => route !== "POST to the flow's url");
  const guide = await readFile(join(REPOSITORY, "docs/guides/single-page-applications.md"), "utf8");
  const table = [...guide.matchAll(/^\| `((?:GET|POST|DELETE) \/[^`]+)` \|/gm)].map(([, route]) => route!);
  expect(routes.toSorted()).toEqual(table.toSorted());
  const failure = await new SessionClient({ url: api.url }).get("/nowhere").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ClientError);
  const properties = cells("property").map((cell) => cell.replaceAll("`", ""));
  const own = Object.getOwnPropertyNames(failure).filter((name) => !["stack", "name", "cause"].includes(name));
  expect(properties.toSorted()).toEqual(own.toSorted());
  const source = await readFile(join(REPOSITORY, "packages/ashlar/src/client/client-error-codes.ts"), "utf8");
  const [, codes = ""] = /interface OwnCodes \{([^}]*)\}/.exec(source) ?? [];
  const listed = cells("code of the client").map((cell) => cell.replaceAll("`", ""));
  expect(listed.toSorted()).toEqual([...codes.matchAll(/^ {2}(E_\w+):/gm)].map(([, code]) => code!).toSorted());
});
