import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PACKAGE_FOLDER } from "../../support/index.ts";
import { ACCOUNT_MAILS, PROVIDERS, variableLines } from "./declared-parts.ts";

/** Returns one of the package's stubs. */
const stub = (path: string) => readFile(join(PACKAGE_FOLDER, "stubs", path), "utf8");

test("the providers stub has the same ones, in the same order", async () => {
  const text = await stub("application/config/providers.ts.stub");
  const listed = [...text.matchAll(/^import \{ (\w+Provider) \} from "(ashlar\/\w+)";$/gm)];
  const all = PROVIDERS.map(([{ name }, from]) => [name, from]);
  expect(listed.map(([, name, from]) => [name, from]).toSorted()).toEqual(all.toSorted());
  expect([...text.matchAll(/^ {2}(\w+Provider),$/gm)].map(([, name]) => name)).toEqual(all.map(([name]) => name));
});

test("the .env stub describes each variable as its feature does", async () => {
  const text = await stub("application/env.stub");
  for (const [name, first] of [
    ["mail", "MAIL_FROM="],
    ["api", "JWT_SECRET="],
  ] as const) {
    const lines = variableLines(name);
    expect(lines.slice(0, 2)).toEqual([expect.stringMatching(/^# \S/), first]);
    expect(text).toContain(`\n${lines.join("\n")}\n`);
  }
});

test("every account mail has a stub", async () => {
  expect(ACCOUNT_MAILS.map(({ name }) => name)).toEqual([
    "VerifyEmailMail",
    "ResetPasswordMail",
    "FinishRegistrationMail",
    "PasswordChangedMail",
    "EmailChangedMail",
    "EmailChangeCompletedMail",
    "EmailChangeUndoneMail",
    "EmailTakenMail",
    "GuessesUsedUpMail",
    "NewDeviceMail",
    "AccountClosedMail",
  ]);
  for (const { name, file } of ACCOUNT_MAILS) {
    expect(await stub(`pages/app/mailables/${file}.ts.stub`)).toContain(`export class ${name} `);
  }
});
