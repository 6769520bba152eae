import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, execute, generatedApplication } from "../support/generated-application.ts";

const TWO_FACTOR = "--two-factor";
const PASSKEYS = "--passkeys";

/** The commands that add factors to accounts, in the order that they are typed in. */
const ORDERS: readonly (readonly (readonly string[])[])[] = [
  [[TWO_FACTOR]],
  [[PASSKEYS]],
  [[TWO_FACTOR, PASSKEYS]],
  [[TWO_FACTOR], [PASSKEYS]],
  [[PASSKEYS], [TWO_FACTOR]],
];

const WITH_PAGES = { before: "accounts with pages", pages: true, json: false, api: false, added: [] };
const WITH_JSON = { before: "accounts with JSON", pages: false, json: true, api: true, added: [] };
const NEITHER = { before: "no accounts", pages: false, json: false, api: false, added: [] };
const FOR_JSON = { ...NEITHER, before: "no accounts, for JSON", added: ["--json"] };

/** Each order with accounts of both forms, and what also adds the accounts. */
const CASES = [
  ...[WITH_PAGES, WITH_JSON].flatMap((one) => ORDERS.map((commands) => ({ ...one, commands }))),
  ...[NEITHER, FOR_JSON].flatMap((one) => ORDERS.slice(1, 3).map((commands) => ({ ...one, commands }))),
].map((one) => ({ ...one, typed: one.commands.map((flags) => flags.join(" ")).join(", then ") }));

/** All files of an application, but for its packages. */
async function filesOf(root: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const own = paths.filter((path) => !path.includes("node_modules") && !/\.sqlite/.test(path));
  return new Map(await Promise.all(own.map(async (path) => [path, await readFile(path, "utf8")] as const)));
}

describe.for(CASES)("$before, then $typed", ({ pages, json, api, added, commands }) => {
  test("has all parts once, passes its own tests, and the doctor finds nothing", async () => {
    const root = await generatedApplication({ pages, json, api });
    for (const flags of commands) {
      const { code, errors } = await ashlar(root, "auth", ...flags, ...added);
      expect([code, errors]).toEqual([0, ""]);
    }
    const before = await filesOf(root);
    for (const flags of commands) {
      const { code, output } = await ashlar(root, "auth", ...flags, ...added);
      expect([code, output]).toEqual([0, expect.not.stringMatching(/Created|Changed|add to/)]);
    }
    expect(await filesOf(root)).toEqual(before);
    await checkTypes(root);
    const { code, output } = await execute(root, process.execPath, ["--test", "tests/*.test.ts"]);
    expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
    const names = [...before.keys()].filter((path) => /tests\/(?:two-factor|passkeys)\.test\.ts$/.test(path));
    expect(names).toHaveLength(new Set(commands.flat()).size);
    expect((await ashlar(root, "migrate")).code).toBe(0);
    const { output: report } = await ashlar(root, "doctor");
    expect(report).toContain("0 errors, 0 warnings");
  });
});

test("--dry-run writes nothing, and says what would be added", async () => {
  const root = await generatedApplication({ api: false });
  const before = await filesOf(root);
  const { code, output } = await ashlar(root, "auth", TWO_FACTOR, PASSKEYS, "--dry-run");
  expect(code).toBe(0);
  for (const part of ["TwoFactorProvider", "PasskeysProvider", "public/passkeys.js", "views/auth/two_factor.edge"]) {
    expect(output).toContain(part);
  }
  expect(await filesOf(root)).toEqual(before);
  const bare = await generatedApplication({ pages: false, api: false });
  const { output: first } = await ashlar(bare, "auth", TWO_FACTOR, "--dry-run");
  expect(first).toContain("can be shown once they are there");
  expect(first).toContain("app/controllers/auth/login-controller.ts");
});

test("the additions have their places in the author's files, which keep their own", async () => {
  const root = await generatedApplication({ api: true });
  const { output } = await ashlar(root, "auth", TWO_FACTOR, PASSKEYS, "--migrate");
  expect(output).toContain("create_authenticators");
  const read = (file: string) => readFile(join(root, file), "utf8");
  expect(await read("app/kernel.ts")).toContain('"two-factor": [TwoFactorMiddleware],');
  expect(await read("app/kernel.ts")).toContain(
    "web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken, TwoFactorSetupMiddleware],",
  );
  expect(await read("app/models/user.ts")).toMatch(
    /compose\(Model, Authenticates, .*MustVerifyEmail, HasAuthenticators\)/,
  );
  expect(await read("config/providers.ts")).toMatch(/TwoFactorProvider,\s+PasskeysProvider,\s+\]/);
  expect(await read("routes/web.ts")).toContain("...Passkeys.tokens(),");
  expect(await read("config/auth.ts")).toContain("twoFactorChanged: TwoFactorChangedMail");
});
