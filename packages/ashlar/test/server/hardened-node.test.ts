import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMAND, execute, generateApplication, serve } from "../support/generated-application.ts";

let root: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  const { code, output } = await execute(root, process.execPath, [COMMAND, "migrate"]);
  expect(code, output).toBe(0);
});
afterAll(() => remove());

/** The statuses that a generated application responds with, run with one of Node's options. */
async function statuses(option: string, paths: readonly string[]): Promise<number[]> {
  const { url } = await serve(root, { APP_ENV: "test", NODE_OPTIONS: option });
  const headers = { accept: "application/json" };
  const answers = paths.map(
    async (path) => (await fetch(new URL(path, url), path.startsWith("/api") ? { headers } : {})).status,
  );
  return await Promise.all(answers);
}

test("an application boots and responds under --frozen-intrinsics", async () => {
  expect(await statuses("--frozen-intrinsics", ["/", "/login", "/register", "/nowhere", "/api/me"])).toEqual([
    200, 200, 200, 404, 401,
  ]);
});

test("an API boots and responds under --disallow-code-generation-from-strings, and pages do not", async () => {
  // Edge compiles templates with `new Function`; SECURITY.md says so.
  expect(await statuses("--disallow-code-generation-from-strings", ["/api/me", "/login"])).toEqual([401, 500]);
});

/** An application's complete output on standard error, with pages. */
async function warned(options: string): Promise<string> {
  const { url, child } = await serve(root, { APP_ENV: "test", NODE_OPTIONS: options });
  let errors = "";
  child.stderr?.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = new Promise((resolve) => child.on("close", resolve));
  expect((await fetch(new URL("/login", url))).status).toBe(200);
  child.kill("SIGTERM");
  await ended;
  return errors;
}

test("--pending-deprecation warns only of process.binding in Edge's dependencies", async () => {
  // SECURITY.md says so.
  const errors = await warned("--pending-deprecation --trace-deprecation");
  expect(errors.match(/\[DEP\d+\][^.]*/g)).toEqual(["[DEP0111] DeprecationWarning: process"]);
  expect(errors).toMatch(/DEP0111.*\n +at .*\/chunk-edge\.js:/);
});

test("an application with pages prints no warning of Node otherwise", async () => {
  expect(await warned("")).toBe("");
});
