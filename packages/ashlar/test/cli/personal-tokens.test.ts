import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import {
  COMMAND,
  checkTypes,
  edit,
  execute,
  generateApplication,
  generatedApplication,
} from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";

const TOKEN = /ash_[0-9A-Za-z]{36}/;
const ADD_USER = `
import { pathToFileURL } from "node:url";
const { createApplication } = await import("ashlar");
const { Kernel } = await import(pathToFileURL(process.cwd() + "/app/kernel.ts").href);
const { User } = await import(pathToFileURL(process.cwd() + "/app/models/user.ts").href);
const application = await createApplication({ root: process.cwd(), kernel: Kernel });
for (const name of ["ada", "bob"]) {
  const user = new User().fill({ name, email: name + "@example.com" });
  await user.setPassword("a password of theirs");
  await user.save();
}
await application.shutdown();
`;

describe("tokens:install", () => {
  test.each([{ pages: true }, { pages: false, json: true }])(
    "adds the table and the page: %j",
    async ({ pages, json = false }) => {
      const root = await generatedApplication({ pages, ...(json ? { json } : {}) } as object);
      const files = (): Promise<string[]> =>
        Promise.all(["config/api.ts", "routes/web.ts"].map((file) => readFile(join(root, file), "utf8")));
      const before = await files();
      const { output: wouldChange } = await ashlar(root, "tokens:install", "--dry-run");
      expect(wouldChange.split("\n")).toEqual(
        expect.arrayContaining([
          '+import { personal } from "ashlar/api";',
          "+    personal: personal(),",
          '+import { PersonalTokensController } from "../app/controllers/auth/personal-tokens-controller.ts";',
          `+  ...Api.personalTokens(PersonalTokensController${json ? ", { json: true }" : ""}).middleware("verified"),`,
        ]),
      );
      expect(wouldChange.split("\n").filter((line) => /^-(?!--)/.test(line))).toEqual([]);
      expect(await files()).toEqual(before);
      const { code, output } = await installPersonalTokens(root);
      expect(code).toBe(0);
      const lines = output.split("\n");
      const created = lines
        .filter((line) => /^(?:Created|Changed) /.test(line))
        .map((line) => line.replace(/\d{4}(_\d\d){2}_\d{6}_/, ""));
      expect(created).toEqual([
        "Created app/controllers/auth/personal-tokens-controller.ts",
        ...(pages
          ? [
              "Created views/auth/personal_tokens.edge",
              "Created app/mailables/token-created-mail.ts",
              "Created views/mails/token_created.html.edge",
              "Created views/mails/token_created.text.edge",
            ]
          : []),
        "Created database/migrations/create_personal_tokens.ts",
        "Changed config/api.ts",
        "Changed routes/web.ts",
        ...(pages ? ["Changed config/auth.ts"] : []),
      ]);
      expect(output).not.toContain("by hand");
      const settings = await readFile(join(root, "config/auth.ts"), "utf8");
      expect(settings.includes("tokenCreated: TokenCreatedMail,")).toBe(pages);
      await checkTypes(root);
      const installed = await files();
      expect((await ashlar(root, "tokens:install")).output).toBe(
        "Everything is already in place; nothing was changed.",
      );
      expect(await files()).toEqual(installed);
      expect(
        (await readdir(join(root, "database/migrations"))).filter((name) => /personal_tokens/.test(name)),
      ).toHaveLength(1);
    },
  );

  test("names the command that adds an API to an application without one", async () => {
    const root = await generatedApplication({ api: false });
    const before = await readdir(root, { recursive: true });
    expect(await ashlar(root, "tokens:install")).toEqual({
      code: 1,
      output: "",
      errors: "The application has no API tokens. To add them: npx ashlar api:install",
    });
    expect(await readdir(root, { recursive: true })).toEqual(before);
  });

  test("prints the lines for files of another shape, without imports that are already there", async () => {
    const root = await generatedApplication();
    await edit(root, "config/api.ts", ["  jwt: {", "  jwt: {\n    ...{},"]);
    await edit(root, "routes/web.ts", [
      "export const ROUTES: RouteEntry[] = [",
      "export const ROUTES: RouteEntry[] = Array.of(",
    ]);
    const routes = join(root, "routes/web.ts");
    await writeFile(routes, (await readFile(routes, "utf8")).replace(/\];\s*$/, ");\n"));
    const before = await readFile(routes, "utf8");
    const { output } = await ashlar(root, "tokens:install");
    expect(output.split("Add the following by hand:\n")[1]!.split("\n")).toEqual([
      "",
      expect.stringContaining("config/api.ts"),
      '  import { personal } from "ashlar/api";',
      "  // in DRIVERS.jwt:",
      "  personal: personal(),",
      "",
      expect.stringContaining("routes/web.ts"),
      '  import { PersonalTokensController } from "../app/controllers/auth/personal-tokens-controller.ts";',
      "  // in ROUTES:",
      '  ...Api.personalTokens(PersonalTokensController).middleware("verified"),',
    ]);
    expect(await readFile(routes, "utf8")).toBe(before);
  });
});

describe("the commands for personal tokens", () => {
  let root: string;
  let remove: () => Promise<void>;
  beforeAll(async () => {
    ({ root, remove } = await generateApplication());
    await installPersonalTokens(root);
    expect((await ashlar(root, "migrate")).code).toBe(0);
    const added = await execute(root, process.execPath, ["--input-type=module", "--eval", ADD_USER]);
    expect(added).toMatchObject({ code: 0 });
  });
  afterAll(() => remove());

  /** Runs a command in a separate process, because an application can only boot once per process. */
  const command = (...args: string[]) => execute(root, process.execPath, [COMMAND, ...args]);
  const valid = ["--user", "1", "--name", "deploy", "--abilities", "orders.read,orders.write", "--days", "90"];

  test("S111 tokens:issue prints the token once, on a separate line, and stores it nowhere", async () => {
    const { code, output } = await command("tokens:issue", ...valid);
    const [token = "", ...others] = output.split("\n").filter((line) => TOKEN.test(line));
    expect([code, token, others]).toEqual([0, expect.stringMatching(new RegExp(`^${TOKEN.source}$`)), []]);
    const { output: listed } = await command("tokens:list", "--user", "1");
    expect(listed).toMatch(
      /^\d+ {2}deploy\n {4}orders\.read, orders\.write; never used; expires \d{4}-.+Z\n1 token\.\n$/,
    );
    expect(listed).not.toMatch(TOKEN);
    const file = await readFile(join(root, "database/app.sqlite"), "latin1");
    expect(file).not.toContain(token.slice(4));
  });

  test("tokens:revoke revokes it", async () => {
    await command("tokens:issue", "--user", "2", "--name", "old", "--abilities", "orders.read", "--days", "1");
    const [, id = ""] = /^(\d+) {2}old$/m.exec((await command("tokens:list", "--user=2")).output) ?? [];
    expect(await command("tokens:revoke", id)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^The token has been revoked\.$/m),
    });
    expect((await command("tokens:list", "--user=2")).output).toBe("0 tokens.\n");
    expect(await command("tokens:revoke", id)).toMatchObject({ code: 1, output: expect.stringContaining(`id ${id}`) });
  });

  test.each([
    [["tokens:issue", "--name", "x", "--days", "1"], "Name the user by their primary key: --user 12."],
    [["tokens:issue", "--user", "99", "--name", "x"], "There is no user with the primary key 99."],
    [["tokens:issue", "--user", "1"], "--name: The name must be text of 1 to 100 characters."],
    [["tokens:issue", "--user", "1", "--name", "x"], "--days: Choose a whole number of days from 1 to 365."],
    [["tokens:issue", ...valid.slice(0, 4), "--days", "1"], "--abilities: Choose at least one ability."],
    [
      ["tokens:issue", ...valid, "--abilities", "users.delete"],
      "--abilities: You can't give the ability users.delete. Those that you can give: orders.read",
    ],
    [["tokens:issue", ...valid, "--days", "366"], "--days: Choose a whole number of days from 1 to 365."],
    [["tokens:issue", ...valid, "--driver", "admin"], 'No driver of API tokens is named "admin".'],
    [["tokens:issue", ...valid, "more"], '"more" is not an option.'],
    [["tokens:issue", "--usr", "1"], "Unknown option '--usr'"],
    [["tokens:list"], "Name the user by their primary key: --user 12."],
    [["tokens:revoke"], "Name one token by the id that npx ashlar tokens:list --user <id> shows."],
    [["tokens:revoke", "x"], "There is no token with the id x that could be revoked."],
  ])("%j is refused", async (args, problem) => {
    const { code, output } = await command(...args);
    expect([code, output.includes(problem) ? problem : output]).toEqual([1, problem]);
    expect(output).not.toMatch(TOKEN);
  });
});
