// Runs updates as the page describes: each release in a separate folder, and a link that a reload follows.

import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { edit, execute, freePort } from "../support/generated-application.ts";
import { installedApplication } from "../support/installed-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { markdownSamples } from "../support/samples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PAGE = "docs/guides/deployment.md";
/** The page's commands for a new release. */
let update: string[];

beforeAll(async () => {
  const samples = await markdownSamples(PAGE);
  update = samples
    .find(({ code }) => code.includes("v1.4.3"))!
    .code.trim()
    .split("\n");
});

/** Installs a first release, with a page and a route that show its name. */
async function installFirst(shop: string): Promise<string> {
  const made = await installedApplication();
  await edit(made, "views/welcome.edge", ["@end", "<p>{{ 'Release v1.4.2' }}</p>\n@end"]);
  await edit(made, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `export const ROUTES: RouteEntry[] = [
  Route.get("/code", () => ({ pid: process.pid, release: "v1.4.2", folder: process.cwd() })),`,
  ]);
  await rm(join(made, ".env"), { force: true });
  await mkdir(join(shop, "releases"));
  await rename(made, join(shop, "releases/v1.4.2"));
  return join(shop, "releases/v1.4.2");
}

/** Installs another release, with the result of `git clone` and `npm ci`. */
async function install(shop: string, name: string): Promise<string> {
  const folder = join(shop, "releases", name);
  await cp(join(shop, "releases/v1.4.2"), folder, { recursive: true, verbatimSymlinks: true });
  await rm(join(folder, ".env"));
  for (const file of ["views/welcome.edge", "routes/web.ts"]) await edit(folder, file, ["v1.4.2", name]);
  return folder;
}

/** Runs the page's commands in the test's folder. */
async function run(shop: string, lines: readonly string[]): Promise<void> {
  const script = lines
    .join("\n")
    .replaceAll("/srv/shop", shop)
    .replaceAll("npm run migrate", "node node_modules/ashlar/bin/ashlar.js migrate");
  const { code, output } = await execute(shop, "sh", ["-ec", script]);
  expect([code, output]).toEqual([0, expect.not.stringContaining("rror")]);
}

interface Shop {
  readonly folder: string;
  readonly url: string;
  readonly instance: LongProcess;
}

/** Serves a first release in production, with two workers that haven't had a request yet. */
async function serveFirst(): Promise<Shop> {
  const folder = await temporaryFolder();
  const first = await installFirst(folder);
  const port = await freePort();
  const variables = {
    ...{
      APP_ENV: "production",
      APP_URL: "https://shop.example",
      APP_KEY: generateSecret(),
      JWT_SECRET: generateSecret(),
    },
    ...{ TRUSTED_PROXIES: "127.0.0.1", MAIL_FROM: "shop@shop.example", SMTP_HOST: "127.0.0.1", APP_PROCESSES: "2" },
    DATABASE_PATH: join(folder, "app.sqlite"),
  };
  await writeFile(
    join(folder, ".env"),
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    { mode: 0o600 },
  );
  await run(folder, [
    `cd ${first}`,
    "ln -s ../../.env .env",
    "npm run migrate",
    "ln -s releases/v1.4.2 /srv/shop/current",
  ]);
  const args = ["node_modules/ashlar/bin/ashlar.js", "serve", "--root", join(folder, "current")];
  const instance = startProcess(join(folder, "current"), process.execPath, [
    ...args,
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    "--workers",
    "2",
  ]);
  await instance.printed(/is listening on/);
  onTestFinished(() => instance.signalGroup("SIGKILL"));
  return { folder, instance, url: `http://127.0.0.1:${port}` };
}

async function ask(url: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
  const headers = {
    connection: "close",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "shop.example",
    "x-forwarded-for": "203.0.113.9",
  };
  const response = await fetch(url, { ...init, headers: { ...headers, ...init.headers } });
  return { status: response.status, text: await response.text() };
}

/** The releases that responded to a few requests in turn. */
async function releases(url: string): Promise<{ names: string[]; pids: number[] }> {
  const answers: { release: string; pid: number }[] = [];
  for (let count = 0; count < 4; count++) answers.push(JSON.parse((await ask(`${url}/code`)).text));
  return {
    names: [...new Set(answers.map(({ release }) => release))],
    pids: [...new Set(answers.map(({ pid }) => pid))].sort((one, other) => one - other),
  };
}

/** Makes both workers load the code for a first page and a first password. */
async function firstUses({ url }: Shop): Promise<(readonly [number, string | undefined])[]> {
  const seen: (readonly [number, string | undefined])[] = [];
  for (let count = 0; count < 2; count++) {
    const { status, text } = await ask(url);
    seen.push([status, /Release (v[\d.]+)/.exec(text)?.[1]]);
  }
  const body = new URLSearchParams({ username: "ada@example.com", password: "wrong" });
  for (let count = 0; count < 2; count++)
    seen.push([(await ask(`${url}/api/auth`, { method: "POST", body })).status, undefined]);
  return seen;
}

const logged = ({ instance }: Shop, message: string): Record<string, unknown>[] =>
  instance
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === message);

/** Installs a release as the page says, switches the link, and returns its folder. */
async function follow(shop: Shop, name: string): Promise<string> {
  const folder = await install(shop.folder, name);
  const lines = update.map((line) => line.replaceAll("v1.4.3", name));
  expect(lines.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
    "git clone",
    `cd ${`/srv/shop/releases/${name}`}`,
    "ln -s",
    "npm ci",
    "npm run",
    "ln -s",
    "sudo systemctl",
  ]);
  await run(
    shop.folder,
    lines.filter((line) => !/^(git clone|npm ci|sudo)/.test(line)),
  );
  return folder;
}

test("an update in a separate folder breaks no worker that has not served yet, and a reload moves to it", async () => {
  const shop = await serveFirst();
  const old = join(shop.folder, "releases/v1.4.2");
  const next = await follow(shop, "v1.4.3");
  // Code, views and packages that are used for the first time come from the running release.
  expect(await firstUses(shop)).toEqual([
    [200, "v1.4.2"],
    [200, "v1.4.2"],
    [401, undefined],
    [401, undefined],
  ]);
  shop.instance.child.kill("SIGHUP");
  await expect
    .poll(() => logged(shop, "The workers have been replaced."), { timeout: 60_000 })
    .toMatchObject([{ folder: next }]);
  expect(await firstUses(shop)).toEqual([
    [200, "v1.4.3"],
    [200, "v1.4.3"],
    [401, undefined],
    [401, undefined],
  ]);
  expect(JSON.parse((await ask(`${shop.url}/code`)).text)).toMatchObject({ folder: next });

  // Going back uses the same link.
  const back = (await markdownSamples(PAGE)).find(({ code }) => code.startsWith("ln -s releases/v1.4.2"))!.code;
  await run(shop.folder, [back.split("\n")[0]!]);
  shop.instance.child.kill("SIGHUP");
  await expect
    .poll(() => logged(shop, "The workers have been replaced."), { timeout: 60_000 })
    .toMatchObject([{ folder: next }, { folder: old }]);
  expect((await releases(shop.url)).names).toEqual(["v1.4.2"]);
  shop.instance.child.kill("SIGTERM");
  expect(await shop.instance.ended).toEqual({ code: 0, signal: null });
});

test("if a release can't boot or is missing, workers and their replacements stay on the previous one", async () => {
  const shop = await serveFirst();
  const broken = await follow(shop, "v1.4.3");
  await writeFile(
    join(broken, "routes/web.ts"),
    `throw new Error("broken release");\n${await readFile(join(broken, "routes/web.ts"), "utf8")}`,
  );
  const before = await releases(shop.url);
  shop.instance.child.kill("SIGHUP");
  await expect
    .poll(() => logged(shop, "A new worker could not boot. The others continue serving."), { timeout: 60_000 })
    .toHaveLength(1);
  expect(await releases(shop.url)).toEqual(before);
  await rm(broken, { recursive: true });
  shop.instance.child.kill("SIGHUP");
  const problem = "The application's folder can't be read. The workers are not replaced.";
  await expect.poll(() => logged(shop, problem), { timeout: 60_000 }).toHaveLength(1);
  process.kill(before.pids[0]!, "SIGKILL");
  await expect
    .poll(async () => (await releases(shop.url)).pids.filter((pid) => !before.pids.includes(pid)), { timeout: 60_000 })
    .toHaveLength(1);
  expect((await releases(shop.url)).names).toEqual(["v1.4.2"]);
});

test("a missing folder is refused at the start, by name", async () => {
  const folder = await temporaryFolder();
  const command = join(import.meta.dirname, "../../bin/ashlar.js");
  expect(await execute(folder, process.execPath, [command, "serve", "--root", "missing"])).toMatchObject({
    code: 1,
    output: expect.stringContaining("--root missing: the folder can't be entered (ENOENT)."),
  });
});
