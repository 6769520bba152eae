import { globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { folderWith } from "../support/temporary-folder.ts";

const REPOSITORY = join(import.meta.dirname, "../../../..");
const DEPCRUISE = join(REPOSITORY, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");

/** The names of the rules that sources break, with the file that breaks them. */
async function broken(sources: Readonly<Record<string, string>>): Promise<string[]> {
  const files = Object.entries(sources).map(([name, text]) => [`packages/ashlar/src/${name}`, text]);
  const root = folderWith(Object.fromEntries(files));
  const config = join(REPOSITORY, ".dependency-cruiser.mjs");
  const args = [DEPCRUISE, "--config", config, "--output-type", "json", "packages"];
  const { output } = await execute(root, process.execPath, args);
  const { summary } = JSON.parse(output.slice(output.indexOf("{"))) as {
    summary: { violations: { from: string; rule: { name: string } }[]; environment?: { issues?: object[] } };
  };
  // This would report that it cannot read TypeScript.
  expect(summary.environment?.issues).toBeUndefined();
  return summary.violations.map(({ from, rule }) => `${rule.name}: ${from.slice("packages/ashlar/src/".length)}`);
}

test("sources that import downward, through index.ts, pass", async () => {
  expect(
    await broken({
      "support/index.ts": "export type Text = string;\nexport const text = 1;\n",
      "database/index.ts": 'export type { Text } from "../support/index.ts";\nexport const database = 1;\n',
      "views/index.ts": 'import type { Text } from "../database/index.ts";\nexport const view: Text = "";\n',
      "mail/index.ts": 'import { database } from "../database/index.ts";\nexport const mail: number = database;\n',
      "mail/settings.ts": 'import { mail } from "./index.ts";\nexport const settings: number = mail;\n',
    }),
  ).toEqual([]);
});

test("an upward import is found, even of types", async () => {
  expect(
    await broken({
      "http/index.ts": 'import { guard } from "../auth/index.ts";\nexport const http: number = guard;\n',
      "kernel/index.ts": 'import type { User } from "../auth/index.ts";\nexport type Kernel = User;\n',
      "boot/index.ts": 'export type { User } from "../public/index.ts";\n',
      "auth/index.ts": "export type User = string;\nexport const guard = 1;\n",
      "public/index.ts": 'export type { User } from "../auth/index.ts";\n',
    }),
  ).toEqual([
    "no-import-upward-from-boot: boot/index.ts",
    "no-import-upward-from-http: http/index.ts",
    "no-import-upward-from-kernel: kernel/index.ts",
  ]);
});

test("an upward import between the rooms of auth is found, even of types", async () => {
  expect(
    await broken({
      "auth/errors.ts": 'import { user } from "./users/user.ts";\nexport const error: number = user;\n',
      "auth/users/user.ts": "export const user = 1;\n",
      "auth/proofs/proof.ts": 'import { user } from "../users/user.ts";\nexport const proof: number = user;\n',
      "auth/access/access.ts": 'import type { Web } from "../web/web.ts";\nexport type Access = Web;\n',
      "auth/web/web.ts": 'import { auth } from "../index.ts";\nexport const web = auth;\nexport type Web = number;\n',
      "auth/index.ts": "export const auth = 1;\n",
    }),
  ).toEqual([
    "no-import-upward-in-auth-from-access: auth/access/access.ts",
    "no-import-upward-in-auth-from-pages: auth/errors.ts",
    "no-import-upward-in-auth-from-web: auth/web/web.ts",
  ]);
});

/** The floors of folders in `.dependency-cruiser.mjs`, lowest first. */
async function declaredFloors(): Promise<Readonly<Record<string, readonly string[][]>>> {
  const { floors } = await import(join(REPOSITORY, ".dependency-cruiser.mjs"));
  return floors;
}

/** How many source files a folder may have, without those of its subfolders, before it needs floors. */
const MOST_FILES = 20;

/** The folders with more source files than that, for which no floors are declared. */
function crowdedIn(source: string, floors: object): string[] {
  const folders = new Map<string, number>();
  for (const file of globSync("**/*.ts", { cwd: source })) {
    const folder = dirname(file).replaceAll("\\", "/");
    if (!file.endsWith(".test.ts")) folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  return [...folders].flatMap(([folder, count]) =>
    count > MOST_FILES && !Object.hasOwn(floors, folder) ? [folder] : [],
  );
}

test("a folder with more than 20 source files has floors", async () => {
  expect(crowdedIn(join(REPOSITORY, "packages/ashlar/src"), await declaredFloors())).toEqual([]);
  const files = Array.from({ length: MOST_FILES + 1 }, (_, index) => [`mail/room/${index}.ts`, ""] as const);
  const large = folderWith({ ...Object.fromEntries(files), "mail/room/0.test.ts": "" });
  expect(crowdedIn(large, {})).toEqual(["mail/room"]);
  expect(crowdedIn(large, { "mail/room": [] })).toEqual([]);
  expect(crowdedIn(folderWith({ ...Object.fromEntries(files.slice(1)), "mail/room/0.test.ts": "" }), {})).toEqual([]);
});

test("each folder and file in a folder with floors is on one of them", async () => {
  const missing = Object.entries(await declaredFloors()).flatMap(([name, floors]) => {
    const listed = floors.flat();
    const entries = readdirSync(join(REPOSITORY, `packages/ashlar/src/${name}`)).filter(
      (one) => !one.endsWith(".test.ts"),
    );
    const wrong = [...entries, ...listed].filter((entry) => {
      return !entries.includes(entry) || listed.filter((one) => one === entry).length !== 1;
    });
    return wrong.map((entry) => `${name}/${entry}`);
  });
  expect(missing).toEqual([]);
});

test("a run-time import from a neighbor is found", async () => {
  expect(
    await broken({
      "mail/index.ts": 'import { limit } from "../throttle/index.ts";\nexport const mail: number = limit;\n',
      "throttle/index.ts": "export const limit = 1;\n",
    }),
  ).toEqual(["no-neighbor-at-run-time-among-session-throttle-mail: mail/index.ts"]);
});

test("an import past another folder's index.ts is found, and so is a circular import", async () => {
  expect(
    await broken({
      "support/execution/clock.ts": "export const now = 1;\n",
      "http/index.ts": 'import { now } from "../support/execution/clock.ts";\nexport const http: number = now;\n',
      "auth/guard.ts": 'import { user } from "./user.ts";\nexport const guard: number = user;\n',
      "auth/user.ts": 'import { guard } from "./guard.ts";\nexport const user: number = guard;\n',
    }),
  ).toEqual(["no-cycle: auth/guard.ts", "only-index: http/index.ts"]);
});

test("the client imports nothing from the server, not even types, and the server imports nothing from the client", async () => {
  expect(
    await broken({
      "client/index.ts": 'import type { Text } from "../support/index.ts";\nexport const client: Text = "";\n',
      "support/index.ts": "export type Text = string;\n",
      "mail/index.ts": 'import type { client } from "../client/index.ts";\nexport type Mail = typeof client;\n',
      "public/client.ts": 'export { client } from "../client/index.ts";\n',
    }),
  ).toEqual(["client-alone: client/index.ts", "client-unused: mail/index.ts"]);
});

/** The modules that the types of a source import with `import("…")`. */
function importTypesIn(file: string, text: string): string[] {
  const found: string[] = [];
  new Visitor({
    TSImportType: ({ source }) => void found.push(`${file}: ${source.value}`),
  }).visit(parseSync(file, text).program);
  return found;
}

test("no types are imported with import(…), which the layer check doesn't see", () => {
  const source = join(REPOSITORY, "packages/ashlar/src");
  const sources = globSync("**/*.ts", { cwd: source }).filter((file) => !file.endsWith(".test.ts"));
  expect(sources.flatMap((file) => importTypesIn(file, readFileSync(join(source, file), "utf8")))).toEqual([]);
  expect(importTypesIn("http/index.ts", 'export type Q = import("../auth/index.ts").Auth;')).toEqual([
    "http/index.ts: ../auth/index.ts",
  ]);
  expect(importTypesIn("http/index.ts", 'let auth: typeof import("../auth/index.ts") | null;')).toHaveLength(1);
});
