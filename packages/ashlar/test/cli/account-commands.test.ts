import { execFile } from "node:child_process";
import { hostname, userInfo } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMAND, execute, generateApplication } from "../support/generated-application.ts";
import { shellEnvironment } from "../support/shell-environment.ts";

const EMAIL = "ada@example.com";
const ADD_USER = `
const { default: application } = await import(process.cwd() + "/app.ts");
const { User } = await import(process.cwd() + "/app/models/user.ts");
const user = new User().fill({ name: "Ada", email: "${EMAIL}" });
await user.setPassword("a password of hers");
await user.save();
await application.shutdown();
`;

let root: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  for (const args of [["key:generate"], ["migrate"]]) {
    expect(await execute(root, process.execPath, [COMMAND, ...args])).toMatchObject({ code: 0 });
  }
  expect(await execute(root, process.execPath, ["--input-type=module", "--eval", ADD_USER])).toMatchObject({ code: 0 });
});
afterAll(() => remove());

/** Runs a command in a separate process, without a terminal. */
function command(...args: readonly string[]): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], { cwd: root, env: shellEnvironment() }, (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, errors });
    });
  });
}

test("S195 each command writes an audit line with who ran it, which --json keeps out of the document", async () => {
  const { code, output, errors } = await command("users:block", EMAIL, "--reason", "spam", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ guard: "web", id: "1", email: EMAIL, isBlocked: true });
  const by = `${userInfo().username}@${hostname()}`;
  for (const text of ["auth.command", "auth.blocked", "users:block", by, "spam"]) expect(errors).toContain(text);
  const named = await command("users:unblock", EMAIL, "--by", "grace");
  expect([named.code, named.output]).toEqual([0, expect.stringContaining("grace")]);
  expect(named.output).toContain(`The account of ${EMAIL} is no longer blocked.`);
});

test("an irreversible command is refused without a terminal unless --yes is given", async () => {
  for (const args of [["users:erase", EMAIL], ["access:end-all"]]) {
    expect(await command(...args)).toMatchObject({
      code: 1,
      errors: expect.stringContaining("Nothing was done. Add --yes to do it."),
    });
  }
  expect(await command("users:erase", EMAIL, "--yes")).toMatchObject({ code: 0 });
  const { code, output, errors } = await command("users:show", EMAIL, "--json");
  expect([code, output, errors]).toEqual([1, "", expect.stringContaining(`There is no account "${EMAIL}".`)]);
});

test("--help lists each command's arguments and options", async () => {
  const { output } = await command("users:block", "--help");
  for (const text of ["<user>", "--guard <name>", "--by <name>", "--reason <text>", "--json"])
    expect(output).toContain(text);
  expect((await command("--help")).output).toContain("access:end-all");
});
