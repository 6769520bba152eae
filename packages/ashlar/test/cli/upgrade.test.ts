import { createHash, createHmac } from "node:crypto";
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeApplicationFolder } from "../support/application-folder.ts";
import { ashlar } from "../support/command-line.ts";
import { execute, generatedApplication, serve } from "../support/generated-application.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const APPLICATIONS = join(PACKAGE, "test/upgrade/applications");

/** An application that an earlier version has generated and run, with a logged-in user. */
interface Former {
  readonly files: Readonly<Record<string, string>>;
  readonly environment: string;
  /** The database, as statements. */
  readonly database: readonly string[];
  readonly cookies: Readonly<Record<string, string>>;
  readonly token: string;
}

/** Writes an earlier version's application, with logins as if they had just been created. */
async function formerApplication(name: string): Promise<{ readonly root: string; readonly former: Former }> {
  const former = JSON.parse(await readFile(join(APPLICATIONS, `${name}.json`), "utf8")) as Former;
  // Inside the package, so that it resolves `ashlar`.
  const { folder, remove } = await makeApplicationFolder();
  onTestFinished(remove);
  const root = join(folder, "shop");
  for (const [path, text] of Object.entries({ ...former.files, ".env": former.environment })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const database = new DatabaseSync(join(root, "database/app.sqlite"));
  for (const statement of former.database) database.exec(statement);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const before = new Date().toISOString();
  database.prepare("update sessions set expires_at = ?, last_used_at = ?, created_at = ?").run(later, before, before);
  const token = reissued(former);
  database.prepare("update users set api_token = ? where api_token = ?").run(digest(token), digest(former.token));
  expect(database.prepare("select count(*) as count from users where api_token = ?").get(digest(token))).toEqual({
    count: 1,
  });
  database.close();
  return { root, former: { ...former, token } };
}

const digest = (token: string): string => createHash("sha256").update(token).digest("base64url");

/** The token, with as much time left as when it was issued. */
function reissued({ token, environment }: Former): string {
  const [header = "", payload = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as { iat: number; exp?: number };
  if (claims.exp === undefined) return token;
  const iat = Math.floor(Date.now() / 1000);
  const renewed = { ...claims, iat, exp: iat + claims.exp - claims.iat };
  const signed = `${header}.${Buffer.from(JSON.stringify(renewed)).toString("base64url")}`;
  const [, secret = ""] = /^JWT_SECRET=(.+)$/m.exec(environment)!;
  return `${signed}.${createHmac("sha512", secret).update(signed).digest("base64url")}`;
}

/** A page's text and status, in the logged-in user's browser. */
async function page(url: string, path: string, { cookies }: Former): Promise<[status: number, text: string]> {
  const cookie = Object.entries(cookies)
    .map((pair) => pair.join("="))
    .join("; ");
  const response = await fetch(new URL(path, url), { headers: { cookie }, redirect: "manual" });
  return [response.status, await response.text()];
}

describe.each(["2026-11-21", "2026-11-23"])("an application of %s", (name) => {
  test("S201 is upgraded with its logins and tokens, and passes its own tests", async () => {
    const { root, former } = await formerApplication(name);
    const planned = await ashlar(root, "upgrade");
    expect(planned.code, planned.errors).toBe(0);
    expect(planned.output).toContain("Nothing was written. To write this: npx ashlar upgrade --write");
    expect(await readFile(join(root, "config/session.ts"), "utf8")).toBe(former.files["config/session.ts"]);

    const written = await ashlar(root, "upgrade", "--write", "--force");
    expect(written.code, written.errors).toBe(0);
    expect((await ashlar(root, "migrate")).errors).toBe("");

    const { url, child } = await serve(root, { APP_ENV: "development" });
    const [status, home] = await page(url, "/home", former);
    expect([status, /Ada/.test(home)]).toEqual([200, true]);
    const me = await fetch(new URL("/api/me", url), { headers: { authorization: `Bearer ${former.token}` } });
    expect([me.status, ((await me.json()) as { email: string }).email]).toEqual([200, "ada@example.com"]);
    child.kill();

    const tests = await execute(root, process.execPath, ["--test", "tests/auth.test.ts"]);
    expect(tests.code, tests.output).toBe(0);
  });

  test("is upgraded once, and the second time no file has to change", async () => {
    const { root } = await formerApplication(name);
    await ashlar(root, "upgrade", "--write", "--force");
    expect((await ashlar(root, "upgrade")).output).toContain("No file has to be changed.");
  });

  test("S201 keeps its author's changes, and leftover files are reported", async () => {
    const { root } = await formerApplication(name);
    const own = "<h1>My own page</h1>\n";
    await writeFile(join(root, "views/auth/login.edge"), own);
    const { output } = await ashlar(root, "upgrade", "--write", "--force");
    expect(await readFile(join(root, "views/auth/login.edge"), "utf8")).toBe(own);
    expect(output).toMatch(/Changed by you.*\n(?: {2}.*\n)* {2}views\/auth\/login\.edge\n/);
    expect(output).toContain("app/controllers/auth/sessions-controller.ts is no longer generated");
  });
});

test("a new application is up to date", async () => {
  const root = await generatedApplication();
  const { output } = await ashlar(root, "upgrade");
  expect(output).toBe("This application is up to date; there is nothing to upgrade.");
});

test("an application without a repository, or with uncommitted changes, is not written", async () => {
  const { root, former } = await formerApplication("2026-11-21");
  await execute(root, "git", ["init", "-q"]);
  const { code, errors } = await ashlar(root, "upgrade", "--write");
  expect([code, errors]).toEqual([1, expect.stringContaining("There are uncommitted changes. Nothing was written.")]);
  expect(await readFile(join(root, "config/session.ts"), "utf8")).toBe(former.files["config/session.ts"]);
});

test("only the framework update's changes may be uncommitted", async () => {
  const { root } = await formerApplication("2026-11-21");
  const git = (...args: string[]) =>
    execute(root, "git", ["-c", "user.name=Ada", "-c", "user.email=a@b.example", ...args]);
  await git("init", "-q");
  await git("add", "--all");
  await git("commit", "-q", "--message", "Before");
  const manifest = join(root, "package.json");
  await writeFile(manifest, (await readFile(manifest, "utf8")).replace("^0.1.0", "^0.1.1"));
  await writeFile(join(root, "package-lock.json"), "{}");
  await writeFile(join(root, "routes/notes.txt"), "mine");
  expect(await ashlar(root, "upgrade", "--write")).toMatchObject({ code: 1 });
  await rm(join(root, "routes/notes.txt"));
  expect(await ashlar(root, "upgrade", "--write")).toMatchObject({ code: 0, errors: "" });
});

test("unreadable code is reported before anything else", async () => {
  const { root } = await formerApplication("2026-11-21");
  await appendFile(join(root, "config/auth.ts"), "export const X = {{{ ;\n");
  await appendFile(join(root, "config/app.ts"), "}\n");
  await mkdir(join(root, "public"), { recursive: true });
  await writeFile(join(root, "public/old.js"), "with (document) { title = 010; }");
  const { code, output, errors } = await ashlar(root, "upgrade");
  expect([code, output]).toEqual([1, ""]);
  expect(errors).toMatch(
    /^Correct this first, since it can't be read as code:\nconfig\/app\.ts:\d+: .+\nconfig\/auth\.ts:\d+: .+$/,
  );
});

test("a folder without an application is not up to date", async () => {
  const root = await mkdtemp(join(PACKAGE, ".generated-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const { code, errors } = await ashlar(root, "upgrade");
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^There is no app\.ts in .+ Run the command in the application's folder\.$/),
  ]);
});

test("package.json requires this version, unless its range includes it", async () => {
  const { root } = await formerApplication("2026-11-21");
  const manifest = await readFile(join(root, "package.json"), "utf8");
  const { version } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as { version: string };
  const requiredAfter = async (range: string): Promise<string> => {
    await writeFile(join(root, "package.json"), manifest.replace('"ashlar": "^0.1.0"', `"ashlar": "${range}"`));
    await ashlar(root, "upgrade", "--write", "--force");
    const text = await readFile(join(root, "package.json"), "utf8");
    return (JSON.parse(text) as { dependencies: { ashlar: string } }).dependencies.ashlar;
  };
  expect(await requiredAfter("^0.0.9")).toBe(`^${version}`);
  expect(await requiredAfter("0.0.9")).toBe(version);
  expect(await requiredAfter(`^${version}`)).toBe(`^${version}`);
  expect(await requiredAfter("file:../ashlar")).toBe("file:../ashlar");
});

test("every file generated verbatim from a stub is in the record", async () => {
  const script = join(PACKAGE, "../../scripts/generated-files.ts");
  expect(await execute(PACKAGE, process.execPath, [script])).toEqual({ code: 0, output: "" });
});
