// The runbooks, walked through: what they say one sees is what a served application says, and their commands do what they promise.
import { readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../../src/security/index.ts";
import { COMMAND, execute, freePort, generatedApplication, serve } from "../../support/generated-application.ts";
import { startPostgres, withOwnPostgres } from "../../support/own-postgres.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";
import { SocketVisitor } from "../../support/socket-visitor.ts";

const ADA = { email: "ada@example.com", password: "a password of hers" };

const pageText = (name: string) => readFile(join(REPOSITORY, "docs/runbooks", `${name}.md`), "utf8");

/** Writes the variables of an application in production, and runs its migrations. */
async function prepare(root: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const all = {
    ...{ APP_ENV: "production", APP_URL: "http://shop.example", APP_KEY: generateSecret(), APP_PREVIOUS_KEYS: "" },
    ...{ JWT_SECRET: generateSecret(), HOST: "127.0.0.1", TRUSTED_PROXIES: "loopback" },
    ...{ MAIL_FROM: "shop@shop.example", SMTP_HOST: "127.0.0.1", SMTP_PORT: String(await freePort()) },
    ...variables,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(root, ".env"), lines.join(""), { mode: 0o600 });
  expect(await execute(root, process.execPath, [COMMAND, "migrate"])).toMatchObject({ code: 0 });
}

function visitorOf(url: string, more: Readonly<Record<string, string>> = {}): SocketVisitor {
  return new SocketVisitor(url, { headers: { host: "shop.example", "x-forwarded-for": "203.0.113.9", ...more } });
}

async function register(url: string): Promise<SocketVisitor> {
  const browser = visitorOf(url);
  const answer = await browser.submit("/register", { name: "Ada", ...ADA, password_confirmation: ADA.password });
  expect([answer.status, answer.body]).toEqual([expect.toSatisfy((status: number) => status < 400), expect.anything()]);
  expect((await browser.get("/logins")).status).toBe(200);
  return browser;
}

const tokenFor = (url: string) => visitorOf(url).post("/api/auth", { username: ADA.email, password: ADA.password });

withOwnPostgres("the runbook about a database that is gone", () => {
  test("says the application's settings, and it continues by itself", async () => {
    const port = await freePort();
    const postgres = await startPostgres(port);
    onTestFinished(() => postgres.remove());
    const root = await generatedApplication({ database: "postgres" });
    await prepare(root, { DATABASE_URL: postgres.url });
    const { url, output } = await serve(root);
    await register(url);
    const page = await pageText("database-down");
    const ready = async () => (await fetch(new URL("/ready", url))).text();

    await postgres.kill();
    const refused = await tokenFor(url);
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([503, { code: "E_DATABASE_UNAVAILABLE" }]);
    await expect.poll(ready, { timeout: 20_000 }).toContain('"database":"failed"');
    const begun = "The application is not ready for requests. These checks fail: ";
    await expect.poll(output).toContain(begun);
    const seen = ['"database":"failed"', '"code":"E_DATABASE_UNAVAILABLE"', "The request was refused:"];
    for (const one of seen) expect(page).toContain(one);
    for (const one of seen.slice(1)) expect(output()).toContain(one);
    for (let count = 0; count < 20; count++) expect((await tokenFor(url)).status).toBe(503);
    // However many fail, the log has the first one.
    expect(output().split("The request was refused:")).toHaveLength(2);
    expect(page).toContain(begun);

    await postgres.start();
    const over = "The application is ready again: all checks pass.";
    await expect.poll(ready, { timeout: 20_000 }).not.toContain("failed");
    await expect.poll(output).toContain(over);
    expect(page).toContain(over);
    const after = await tokenFor(url);
    expect([after.status, after.body]).toEqual([200, expect.anything()]);
  });
});

test("the commands in the runbook about leaked secrets end the secrets' access, and nothing else", async () => {
  const root = await generatedApplication();
  await prepare(root, { DATABASE_PATH: join(root, "database/app.sqlite") });
  // As in a deployment with releases.
  await rename(join(root, ".env"), join(root, "shared.env"));
  await symlink("shared.env", join(root, ".env"));
  const variable = async (name: string) =>
    new RegExp(`^${name}=(.*)$`, "m").exec(await readFile(join(root, "shared.env"), "utf8"))?.[1];
  const { child, url, output } = await serve(root, {}, ["--workers", "1"]);
  const samples = (await markdownSamples("docs/runbooks/leaked-secret.md")).filter(({ language }) => language === "sh");
  const follow = async (text: string): Promise<string> => {
    const { code } = samples.find((one) => one.code.includes(text))!;
    const script = code.replace(/^sudo systemctl .*$/m, "").replaceAll("npx ashlar", `${process.execPath} ${COMMAND}`);
    const ran = await execute(root, "bash", ["-ec", script]);
    expect(ran).toMatchObject({ code: 0 });
    return ran.output;
  };
  let reloads = 0;
  const reload = async () => {
    child.kill("SIGHUP");
    reloads++;
    const replaced = () => output().split("The workers have been replaced.").length - 1;
    await expect.poll(replaced, { timeout: 60_000 }).toBe(reloads);
  };
  const browser = await register(url);
  const { data: token } = JSON.parse((await tokenFor(url)).body) as { data: string };
  const isAccepted = async () =>
    (await visitorOf(url, { authorization: `Bearer ${token}` }).get("/api/me")).status === 200;
  expect(await isAccepted()).toBe(true);

  const before = [await variable("APP_KEY"), await variable("JWT_SECRET")];
  await follow("s/^JWT_SECRET=");
  expect([await variable("APP_KEY"), (await variable("JWT_SECRET")) === before[1]]).toEqual([before[0], false]);
  const secret = await variable("JWT_SECRET");
  await reload();
  expect(await isAccepted()).toBe(false);
  expect((await browser.get("/logins")).status).toBe(200);

  const form = await browser.page("/logins");
  const [, csrf = ""] = /name="__token" value="([^"]+)"/.exec(form.body) ?? [];
  await follow("key:generate --rotate");
  expect((await variable("APP_KEY")) === before[0]).toBe(false);
  expect([await variable("APP_PREVIOUS_KEYS"), await variable("JWT_SECRET")]).toEqual(["", secret]);
  await reload();
  // What the old key has sealed is refused; the login isn't sealed with it.
  expect((await browser.post("/logout", { __token: csrf })).status).toBe(419);
  expect((await browser.get("/logins")).status).toBe(200);
  const ended = await follow("access:end-all");
  expect(ended).toContain("web: access to 1 account has ended.");
  expect((await browser.get("/logins")).status).not.toBe(200);
  expect((await tokenFor(url)).status).toBe(200);
});

test("the log lines quoted in the runbooks are the framework's", async () => {
  const { globSync } = await import("node:fs");
  const sources = globSync("packages/ashlar/src/**/*.ts", { cwd: REPOSITORY }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const texts = await Promise.all(sources.map((file) => readFile(join(REPOSITORY, file), "utf8")));
  const source = texts.join("\n");
  const pages = globSync("docs/runbooks/*.md", { cwd: REPOSITORY });
  const quoted: string[] = [];
  for (const page of pages) {
    const prose = (await readFile(join(REPOSITORY, page), "utf8")).replaceAll(/^```[\s\S]*?^```/gm, "");
    // Sentences, with what a template fills in after them left out, and the codes of errors, names of events and metrics.
    for (const [, text = ""] of prose.matchAll(/`([^`\n]+)`/g)) {
      const isCode = /^E_[A-Z_]+$/.test(text) || /^(?:auth|api)\.[a-z_]+$/.test(text) || /^ashlar_[a-z_]+$/.test(text);
      if (isCode || /^[A-Z][a-z]+ [^`]*\.$/.test(text)) quoted.push(text);
    }
  }
  expect(quoted.length).toBeGreaterThan(30);
  // Put together from parts; the test of the database's runbook reads it in a real log.
  const composed = ["The application is not ready for requests. These checks fail: database."];
  const metric = (text: string) => text.replace(/^ashlar_/, "");
  const missing = quoted.filter((text) => !composed.includes(text) && !source.includes(metric(text)));
  expect([...new Set(missing)]).toEqual([]);
});
