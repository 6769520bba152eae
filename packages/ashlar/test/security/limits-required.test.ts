import { spawn } from "node:child_process";
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, edit, execute, generatedApplication, serve } from "../support/generated-application.ts";
import { shellEnvironment } from "../support/shell-environment.ts";
import { SocketVisitor } from "../support/socket-visitor.ts";

const GUESS = { username: "ada@example.com", password: "a guess of mine" };
const PRODUCTION = "\nAPP_ENV=production\nAPP_URL=https://shop.example\n";

/** A migrated application with only the API. */
async function apiApplication(): Promise<string> {
  const root = await generatedApplication({ pages: false });
  expect(await ashlar(root, "migrate")).toMatchObject({ code: 0, errors: "" });
  return root;
}

/** Removes the limits from an application, as in one created without them. */
async function withoutLimits(root: string): Promise<void> {
  await edit(root, "config/providers.ts", ["  ThrottleProvider,\n", ""]);
  await edit(root, "app/kernel.ts", ["    throttle: [ThrottleMiddleware],\n", ""]);
  await rm(join(root, "config/throttle.ts"));
}

/** Starts an application, and returns its output until it is ready. */
async function startOf(root: string): Promise<string> {
  const child = spawn(process.execPath, [COMMAND, "serve", "--port", "0"], { cwd: root, env: shellEnvironment() });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes(" is listening on ")) break;
  }
  return output;
}

async function guesses(root: string): Promise<number[]> {
  const { url } = await serve(root);
  const visitor = new SocketVisitor(url);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 7; attempt++) statuses.push((await visitor.post("/api/auth", GUESS)).status);
  return statuses;
}

test("S65 an application with only the API throttles guesses by default", async () => {
  expect(await guesses(await apiApplication())).toEqual([401, 401, 401, 401, 401, 429, 429]);
});

test("S65 without limits, production does not boot if there are token endpoints", async () => {
  const root = await apiApplication();
  await withoutLimits(root);
  await appendFile(join(root, ".env"), PRODUCTION);
  const { code, output } = await execute(root, process.execPath, [COMMAND, "serve", "--port", "0"]);
  expect(code).not.toBe(0);
  expect(output).toContain("config/providers.ts: PROVIDERS: the token endpoints have no limits");
  expect(output).toContain('Add ThrottleProvider to the list, from "ashlar/throttle".');
  // Adding what the message says fixes it.
  await edit(root, "config/providers.ts", ["  AuthProvider,\n", "  ThrottleProvider,\n  AuthProvider,\n"]);
  await serve(root);
});

test("S65 without limits, development starts with a warning", async () => {
  const root = await apiApplication();
  await withoutLimits(root);
  expect(await guesses(root)).toEqual([401, 401, 401, 401, 401, 401, 401]);
  expect(await startOf(root)).toContain("the token endpoints have no limits");
});

test("S65 without token endpoints, an application needs no limits", async () => {
  const root = await apiApplication();
  await withoutLimits(root);
  await appendFile(join(root, ".env"), PRODUCTION);
  await edit(root, "routes/web.ts", ["...Api.routes(),", ""]);
  await serve(root);
});

test("S65 api:install adds the limits' configuration, and the missing provider", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await edit(
    root,
    "config/providers.ts",
    ["  ThrottleProvider,\n", ""],
    ["import { ThrottleProvider", "// import { ThrottleProvider"],
  );
  await rm(join(root, "config/throttle.ts"));
  const { code, output } = await ashlar(root, "api:install");
  expect(code).toBe(0);
  expect(output).toContain("Created config/throttle.ts\n");
  const providers = await readFile(join(root, "config/providers.ts"), "utf8");
  expect(providers).toMatch(/^import \{ ThrottleProvider \} from "ashlar\/throttle";$/m);
  expect(providers).toMatch(/^ {2}ThrottleProvider,\n(?: {2}\/\/.*\n)? {2}AuthProvider,$/m);
  // An existing one is left alone.
  expect((await ashlar(root, "api:install")).output).toBe("Everything is already in place; nothing was changed.");
});
