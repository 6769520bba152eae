import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import type { EnvironmentVariables } from "../../support/index.ts";
import { driverSecretsOf } from "./driver-secrets.ts";

const ENVIRONMENT = pathToFileURL(join(import.meta.dirname, "../../boot/environment/environment.ts")).href;

/** The variables that a `config/api.ts`'s drivers read their secrets from, by driver name. */
async function variablesIn(drivers: string, variables: EnvironmentVariables = {}, before = "") {
  const code = `import { env } from ${JSON.stringify(ENVIRONMENT)};\n${before}\nexport const DRIVERS = { ${drivers} };\n`;
  const { drivers: found } = await driverSecretsOf(folderWith({ "config/api.js": code }), variables);
  return Object.fromEntries([...found.values()].map((one) => [one.driver, one.variables.secret]));
}

test("a secret is read from the variable that gives it its value, or could", async () => {
  const either = 'jwt: { secret: env("ONE") ?? env("OTHER") }';
  expect(await variablesIn(either)).toEqual({ jwt: "ONE" });
  expect(await variablesIn(either, { ONE: "" })).toEqual({ jwt: "ONE" });
  expect(await variablesIn(either, { OTHER: "set" })).toEqual({ jwt: "OTHER" });
  expect(await variablesIn(either, { ONE: "set", OTHER: "set" })).toEqual({ jwt: "ONE" });
  expect(await variablesIn('jwt: { secret: env("ONE", env("OTHER")) }', { OTHER: "set" })).toEqual({ jwt: "OTHER" });
  expect(await variablesIn('jwt: { secret: env("EMPTY", "") }')).toEqual({ jwt: "EMPTY" });
  expect(await variablesIn('jwt: { secret: env("KEY")?.trim() }', { KEY: " set " })).toEqual({ jwt: "KEY" });
  const named = 'jwt: { secret: env(env("PLACE") === "far" ? "FAR" : "NEAR") }';
  expect(await variablesIn(named, { PLACE: "far" })).toEqual({ jwt: "FAR" });
  expect(
    await variablesIn("jwt: { secret: key }, admin: { secret: env('ADMIN') }", {}, 'const key = env("KEY");'),
  ).toEqual({ jwt: "KEY", admin: "ADMIN" });
});

test("a secret that is made of variables, or has another value without them, isn't read from one", async () => {
  const made = ['[env("A"), env("B")].join("-")', 'env("A") + "pepper"', '"text"', 'env("A", "text")', "undefined"];
  for (const secret of made)
    expect([secret, await variablesIn(`jwt: { secret: ${secret} }`)]).toEqual([secret, { jwt: null }]);
});

test("a driver that a variable would switch on doesn't exist, and one that it switches off does", async () => {
  const switched =
    '...(env("SECRET") ? { partner: { secret: env("SECRET") } } : {}), ...(env("OFF") ? {} : { jwt: { secret: env("KEY") } })';
  expect(await variablesIn(switched)).toEqual({ jwt: "KEY" });
  expect(await variablesIn(switched, { SECRET: "set" })).toEqual({ partner: "SECRET", jwt: "KEY" });
});

test("a variable for which the file refuses another value hides nothing", async () => {
  const file = 'jwt: { secret: env("FILE") ? readFileSync(env("FILE")) : env("KEY"), expires: env("MINUTES", 60) }';
  const before = 'import { readFileSync } from "node:fs";';
  expect(await variablesIn(`${file}, admin: { secret: env("ADMIN") }`, {}, before)).toEqual({
    jwt: "KEY",
    admin: "ADMIN",
  });
});

test("the file is loaded once for each variable that it reads, and once more, and sees the original values afterwards", async () => {
  const seen: unknown[] = [];
  Object.assign(globalThis, { seenSecrets: seen });
  const before =
    'export const later = () => env("A");\nglobalThis.seenSecrets.push(later); env("B", true); env("B", true);';
  await variablesIn('jwt: { secret: env("A") }', { A: "real" }, before);
  // With another value for B, it throws when it reads B.
  expect(seen.map((later) => (later as () => unknown)())).toEqual(["real", "real", "real"]);
});

test("the file's error is thrown, and without a file there are no drivers", async () => {
  await expect(variablesIn("", {}, 'throw new Error("not today");')).rejects.toThrow("not today");
  expect((await driverSecretsOf(folderWith({}), {})).drivers.size).toBe(0);
});
