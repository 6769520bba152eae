// Under --watch, newer versions of Node report a worker thread's imports to its parent, on the worker's default port.
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { edit, freePort, generatedApplication } from "../support/generated-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { RUNTIMES } from "../support/runtimes.ts";

const PASSWORD = "a password of hers";

/** A migrated application whose scripts run on this Node, like an installed one's. */
async function application(node: string): Promise<string> {
  const root = await generatedApplication();
  expect((await ashlar(root, "migrate")).output).toContain("create_users");
  await mkdir(join(root, "node_modules/.bin"), { recursive: true });
  await symlink(node, join(root, "node_modules/.bin/node"));
  return root;
}

/** Registers an account through the pages, as a browser would. */
async function register(url: string, email: string): Promise<Response> {
  const page = await fetch(`${url}register`);
  const [, csrf] = /name="__token" value="([^"]+)"/.exec(await page.text())!;
  const body = new URLSearchParams({
    __token: csrf!,
    name: "Ada",
    email,
    password: PASSWORD,
    password_confirmation: PASSWORD,
  });
  const cookie = page.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
  return await fetch(`${url}register`, { method: "POST", body, headers: { cookie }, redirect: "manual" });
}

async function token(url: string, username: string, password: string): Promise<number> {
  const body = new URLSearchParams({ username, password });
  return (await fetch(`${url}api/auth`, { method: "POST", body })).status;
}

/** Makes the application hash on all threads, and then respond once more. */
async function expectToHash(dev: LongProcess): Promise<void> {
  const [, url] = await dev.printed(/ is listening on (http:\S+)/);
  const registered = await register(url!, "ada@example.com");
  expect([registered.status, registered.headers.get("location")]).toEqual([302, "/email/verify/notice"]);
  const tokens = await Promise.all([
    token(url!, "ada@example.com", PASSWORD),
    token(url!, "ada@example.com", "another"),
    token(url!, "bob@example.com", PASSWORD),
  ]);
  expect(tokens).toEqual([200, 401, 401]);
  expect(await token(url!, "ada@example.com", PASSWORD)).toBe(200);
  expect(dev.output().match(/ is listening on /g)).toHaveLength(1);
}

describe.each(RUNTIMES)("on Node $version", ({ version, path }) => {
  test("npm run dev hashes passwords", async () => {
    const root = await application(path);
    await edit(root, "app.ts", ["export default", "console.log('on', process.version);\nexport default"]);
    const dev = startProcess(root, "npm", ["run", "dev"], { PORT: String(await freePort()) });
    await expectToHash(dev);
    expect(dev.output()).toContain(`on v${version}`);
  });

  test("node --watch hashes passwords", async () => {
    const root = await application(path);
    await writeFile(
      join(root, "own-server.ts"),
      `import application from "./app.ts";
       console.log("on", process.version);
       await application.listen();`,
    );
    const dev = startProcess(root, path, ["--watch", "own-server.ts"], { PORT: String(await freePort()) });
    await expectToHash(dev);
    expect(dev.output()).toContain(`on v${version}`);
  });

  test("node --test --watch hashes passwords", async () => {
    const root = await application(path);
    const tests = (await readdir(join(root, "tests"))).map((name) => `tests/${name}`);
    const run = startProcess(root, path, ["--test", "--watch", "--test-reporter=tap", ...tests]);
    const [, passed] = await run.printed(/^# pass (\d+)$/m);
    await run.printed(/^# fail 0$/m);
    expect(Number(passed)).toBe(10);
  });
});
