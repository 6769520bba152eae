import { spawnSync } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { freePort } from "../../support/generated-application.ts";
import { startProcess } from "../../support/long-process.ts";
import { canInstall, packageRegistry } from "../../support/package-registry.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PAGE = "docs/coming-from/index.md";
const TABLES = ["README.md", PAGE];

/** The cells of the row of a table whose first cell begins with a name. */
async function rowOf(file: string, name: string): Promise<string[]> {
  const text = await readFile(join(REPOSITORY, file), "utf8");
  const lines = text
    .split("\n")
    .filter((line) => line.startsWith("| ") && line.replaceAll("*", "").startsWith(`| ${name}`));
  return lines
    .at(-1)!
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** How many things a cell lists. */
function listed(cell: string): number {
  return cell === "" ? 0 : cell.split(" · ").length;
}

test.each(["Ashlar", "Laravel", "AdonisJS", "Better Auth", "Masonite"])(
  "the README's numbers for %s are the lengths of the manual's lists",
  async (name) => {
    const [readme, manual] = await Promise.all(TABLES.map((file) => rowOf(file, name)));
    expect(readme!.slice(1).map((cell) => Number.parseInt(cell, 10))).toEqual(manual!.slice(1).map(listed));
  },
);

test.each(["README.md", "packages/ashlar/README.md"])("%s lists the built-in features", async (file) => {
  const text = (await readFile(join(REPOSITORY, file), "utf8")).replaceAll(/\s+/g, " ");
  for (const name of [
    ...["`many()`", "personal tokens", "abilities", "`ashlar/client`", "Hono", "SvelteKit", "Bun", "Deno"],
    ...["PostgreSQL", "MariaDB", "Redis", "`ashlar serve --workers auto`", "`ashlar db:copy`"],
  ]) {
    // Without the page in the message of a failure.
    expect(text.includes(name), name).toBe(true);
  }
});

test.each([
  "README.md",
  PAGE,
  "docs/coming-from/laravel.md",
  "docs/coming-from/adonisjs.md",
  "docs/coming-from/better-auth.md",
])("%s does not deny tokens with names and abilities", async (file) => {
  const text = (await readFile(join(REPOSITORY, file), "utf8")).replaceAll(/\s+/g, " ");
  expect(text).not.toMatch(
    /one api token per user|tokens with abilities have no counterpart|has none of these|No queue workers|not a client/i,
  );
  expect(text).toMatch(/\(\S*guides\/personal-tokens\.md\)/);
  // What the others have and Ashlar doesn't, up to what it does have.
  const [, lacking = ""] =
    /(?:What the others have and|Laravel's kits include)(.+?)(?:Ashlar does have|neither built in)/.exec(text) ?? [];
  expect(lacking).not.toMatch(/tokens per user|abilities/);
});

test.each([
  ["adonisjs", 1],
  ["better-auth", 1],
  ["express-passport", 3],
  ["laravel", 1],
  ["masonite", 1],
])(
  "the export on the page about %s is readable by its owner only, and deleted after the move",
  async (page, exports) => {
    const samples = await markdownSamples(`docs/coming-from/${page}.md`);
    const commands = samples.filter(({ code }) => code.includes("users.jsonl") && !code.startsWith("node "));
    expect(commands).toHaveLength(exports);
    for (const { code } of commands) {
      const folder = await temporaryFolder();
      // The shell makes the file, whether or not it finds the client; mongoexport makes its own.
      const line = code.replace(/mongoexport .*--out (\S+?)\)/, ": > $1)");
      spawnSync("/bin/sh", ["-c", line], { cwd: folder, env: { PATH: "" } });
      expect((await stat(join(folder, "users.jsonl"))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(REPOSITORY, PAGE), "utf8")).toMatch(/^5\. Delete `users\.jsonl`/m);
  },
);

// With CI set, a missing registry fails the tests instead of skipping them.
const isMissing = !canInstall && process.env.CI === undefined;

/** When each file of an application was changed, except for files that it writes while it runs. */
async function changes(root: string): Promise<Record<string, number>> {
  const paths = (await readdir(root, { recursive: true })).filter(
    (path) => !/^(?:node_modules|database\/\w+\.)/.test(path),
  );
  const times = await Promise.all(paths.map(async (path) => [path, (await stat(join(root, path))).mtimeMs] as const));
  return Object.fromEntries(times);
}

describe.skipIf(isMissing)(`the counting commands${isMissing ? " (no package registry)" : ""}`, () => {
  test("lead to a verified account and a working token without edits", async () => {
    const lines = (await markdownSamples(PAGE))
      .find(({ code }) => code.startsWith("npm create"))!
      .code.trim()
      .split("\n");
    const [listedCommands] = (await rowOf(PAGE, "Ashlar")).slice(1);
    expect(lines).toHaveLength(listed(listedCommands!));
    const parent = await temporaryFolder();
    const root = join(parent, "shop");
    const port = String(await freePort());
    const environment = { PORT: port, npm_config_yes: "true", ...(await packageRegistry()) };
    const origin = `http://localhost:${port}`;
    const terminal = startProcess(parent, "sh", ["-ec", lines.slice(0, 3).join("\n")], environment);
    // Each of these may take as long as a test waits for one.
    for (const step of [
      /Created \d+ files/,
      /Installed the packages/,
      /Migrated the database/,
      /is listening on http/,
    ]) {
      await terminal.printed(step);
    }
    const before = await changes(root);

    const browser = new Map<string, string>();
    async function visit(path: string, fields?: Record<string, string>): Promise<string> {
      const response = await fetch(new URL(path, origin), {
        method: fields === undefined ? "GET" : "POST",
        redirect: "manual",
        headers: { cookie: [...browser].map(([name, value]) => `${name}=${value}`).join("; "), origin },
        ...(fields !== undefined && { body: new URLSearchParams(fields) }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
        browser.set(name!, value!);
      }
      const location = response.headers.get("location");
      return location === null ? await response.text() : await visit(location);
    }
    const form = await visit("/register");
    const [, tokenField, token] = /<input type="hidden" name="(\w+)" value="([^"]+)"/.exec(form)!;
    const { username: email, password } = JSON.parse(/'(\{.+\})'/.exec(lines[3]!)![1]!) as Record<string, string>;
    const account = { name: "Ada", email: email!, password: password!, password_confirmation: password! };
    await visit("/register", { [tokenField!]: token!, ...account });
    // It is mailed after the response.
    const link = await vi.waitUntil(
      async () => /\/email\/verify\/[\w.~-]+/.exec(await visit("/dev/mailbox.json"))?.[0],
      { timeout: 60_000 },
    );
    expect(await visit(link)).toContain("Your email address is verified.");

    const curl = lines[3]!.replace("http://localhost:3000", origin);
    const second = startProcess(parent, "sh", ["-ec", curl]);
    const [, issued] = await second.printed(/\{"data":"([\w.-]+)"\}/);
    const me = await fetch(`${origin}/api/me`, { headers: { authorization: `Bearer ${issued}` } });
    expect([me.status, await me.json()]).toMatchObject([200, { email, verified_at: expect.any(String) }]);
    expect(await changes(root)).toEqual(before);
    terminal.signalGroup("SIGTERM");
    await terminal.ended;
  }, 400_000);
});
