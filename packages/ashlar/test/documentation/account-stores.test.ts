import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { compile, installedApplication } from "../support/installed-application.ts";
import { filesOf } from "../support/sample-modules.ts";
import { markdownSamples } from "../support/samples.ts";

/** Changes a file of an application, replacing each text wherever it occurs. */
async function rewrite(path: string, changes: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(path, "utf8");
  for (const [from, to] of Object.entries(changes)) {
    expect(text, path).toContain(from);
    text = text.replaceAll(from, to);
  }
  await writeFile(path, text);
}

test("a generated application works with the store of docs/account-stores.md, and with the changes listed there", async () => {
  const root = await installedApplication({ api: false });
  const files = (await markdownSamples("docs/account-stores.md")).flatMap(filesOf);
  expect(files.map(({ path }) => path)).toEqual(["app/models/user.ts", "tests/user-store.test.ts"]);
  const [model, suite] = files.map(({ code }) => code);
  await writeFile(
    join(root, "app/models/user.ts"),
    `${model}\ndeclare module "ashlar" {\n  interface Register {\n    user: User;\n  }\n}\n`,
  );
  await writeFile(
    join(root, "tests/user-store.test.ts"),
    `import { UserStore } from "../app/models/user.ts";\n${suite}`,
  );
  const path = 'env("APP_ENV") === "test" ? ":memory:" : "database/people.sqlite"';
  await rewrite(join(root, "config/auth.ts"), {
    "{ User }": "{ UserStore }",
    'from "ashlar/auth";': 'from "ashlar/auth";\nimport { env } from "ashlar";',
    "web: { model: User }": `web: { model: new UserStore(${path}) }`,
  });
  const mailables = join(root, "app/mailables");
  for (const name of await readdir(mailables)) {
    if (name !== "token-notice.ts") await rewrite(join(mailables, name), { "new User().fill({": "new User({" });
  }
  await rewrite(join(root, "tests/auth.test.ts"), {
    "{ User }": "{ UserStore }",
    "const application =": 'const users = new UserStore(":memory:");\nconst application =',
    "kernel: Kernel }": 'kernel: Kernel, config: { auth: { GUARDS: { default: "web", web: { model: users } } } } }',
    'User.findBy("email", email)': "users.findByEmail(email)",
  });
  expect(await compile(root, "TypeScript 7", "--singleThreaded")).toBe("");
  const { code, output } = await execute(root, process.execPath, ["--test"]);
  expect(code, output).toBe(0);
  expect(output).toContain("a new user gets an email, and its link verifies the address");
  expect(output).toContain("an unknown key, address or identifier finds no account");
});
