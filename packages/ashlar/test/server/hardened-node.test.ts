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

/** The statuses that a generated application returns in a process with one of Node's options. */
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
