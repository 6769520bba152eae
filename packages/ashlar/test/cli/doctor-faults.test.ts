import { chmod, cp, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { enginesProblem } from "../../src/cli/doctor/checks/packages.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import type { DoctorReport } from "../../src/cli/doctor/report.ts";
import { Subject } from "../../src/cli/doctor/subject.ts";
import { OutboxSeal } from "../../src/mail/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { completeForProduction, copyOf, doctor, idsOf, mend, setVariables } from "../support/doctor.ts";
import { ALL_FINDINGS } from "../support/framework-features.ts";
import { COMMAND, edit, execute, generateApplication, generatedApplication } from "../support/generated-application.ts";
import { startMailServer } from "../support/mail-server.ts";
import { canInstall, packageRegistry } from "../support/package-registry.ts";
import { OLDEST_RUNTIME } from "../support/runtimes.ts";
import { folderWith } from "../support/temporary-folder.ts";

/** The ids of findings that a test has caused, found, fixed as advised, and no longer found. */
const shown = new Set<string>();
let remove: () => Promise<void>;
/** A migrated application without findings, in development. It is only copied. */
let original: string;

// Git finds an application's own repository, but not that of the framework around it.
process.env.GIT_CEILING_DIRECTORIES = join(import.meta.dirname, "../..");

beforeAll(async () => {
  const made = await generateApplication();
  remove = made.remove;
  original = made.root;
  await setVariables(original, "APP_ENV=development");
  await ashlar(original, "migrate");
});

afterAll(() => remove());

/** Runs a shell command in a folder. */
async function sh(root: string, command: string): Promise<void> {
  expect(await execute(root, "sh", ["-c", command])).toMatchObject({ code: 0 });
}

/**
 * Expects exactly these findings, follows their advice, and expects them to be gone.
 *
 * @param isCode whether modules were changed, which have to be reloaded
 */
async function mendAll(
  root: string,
  expected: readonly string[],
  { args = [], isCode = false }: { readonly args?: readonly string[]; readonly isCode?: boolean } = {},
): Promise<void> {
  const report = await doctor(root, ...args);
  expect(idsOf(report)).toEqual([...expected].sort());
  // From the end, so that the other findings' line numbers stay valid.
  for (const finding of report.findings.toSorted((one, other) => (other.line ?? 0) - (one.line ?? 0))) {
    await mend(root, finding);
  }
  const again = await doctor(isCode ? await copyOf(root) : root, ...args);
  expect(again.findings).toEqual([]);
  for (const id of expected) shown.add(id);
}

/** Adds two drivers whose secrets are in separate variables. */
async function addDrivers(root: string): Promise<void> {
  await edit(root, "config/api.ts", [
    "} satisfies DriversSettings",
    `  admin: {
    secret: env("BACKOFFICE_SECRET"),
    model: User, tokens: many(),
  },
  partner: {
    algorithm: "ES384",
    secret: env("PARTNER_KEY"),
    model: User, tokens: many(),
  },
} satisfies DriversSettings`,
  ]);
  await edit(root, "config/api.ts", ["import type { DriversSettings }", "import { type DriversSettings, many }"]);
  await ashlar(root, "api:install", "--many", "--migrations");
  await ashlar(root, "migrate");
}

/** Creates the migration that a finding names, with the finding's lines in up(), and runs it. */
async function migrateAsTold(root: string, { remedy }: Finding): Promise<void> {
  const [, name] = /npx ashlar make:migration (\w+), then npx ashlar migrate\./.exec(remedy.note!)!;
  const { output } = await ashlar(root, "make:migration", name!);
  const [file] = /database\/migrations\/\S+?\.ts/.exec(output)!;
  const text = await readFile(join(root, file), "utf8");
  const isImport = (line: string) => line.startsWith("import ");
  const body = remedy.lines.filter((line) => !isImport(line)).join("\n");
  const head = remedy.lines.filter(isImport).map((line) => `${line}\n`);
  await writeFile(
    join(root, file),
    head.join("") + text.replace(/(up\([^{]*\{\n)[^}]*\}/, (_, start: string) => `${start}${body}\n}`),
  );
  expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
}

/** Why an application doesn't boot; `null` if it does. */
async function bootErrorOf(root: string): Promise<string | null> {
  const subject = await Subject.load(root, false);
  await subject.close();
  return subject.boot.error === null ? null : (subject.boot.error as Error).message;
}

const GIT = "git -c user.name=A -c user.email=a@shop.example";

describe("secrets", () => {
  test("that are missing or equal are replaced, and .env is made private", async () => {
    const root = await copyOf(original);
    await setVariables(root, "APP_KEY=");
    await mendAll(root, ["secret.missing"]);
    const { APP_KEY } = Object.fromEntries(
      [...(await readFile(join(root, ".env"), "utf8")).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    );
    await setVariables(root, `JWT_SECRET=${APP_KEY}`);
    await chmod(join(root, ".env"), 0o644);
    await mendAll(root, ["secret.shared", "env.mode"]);
  });

  test("that are weak, copied from the example or made of words are replaced", async () => {
    const root = await copyOf(original);
    await setVariables(
      root,
      "APP_KEY=0123",
      "JWT_SECRET=a-string-secret-at-least-512-bits-long-a-string-secret-at-least-512",
    );
    await mendAll(root, ["secret.weak", "secret.known"]);
    const example = "x4Kq9ZrT2vLm8NwB6yHd3JfG7sPc5AeU1oViX0lRzQtWbYnMkSgDhFjCpEaOuIxv";
    await edit(root, ".env.example", [
      /^APP_KEY=$/m.exec(await readFile(join(root, ".env.example"), "utf8"))![0],
      `APP_KEY=${example}`,
    ]);
    await setVariables(root, `APP_KEY=${example}`);
    await mendAll(root, ["secret.known"]);
  });

  test("that were kept for too long, or are still current, are removed from the previous keys", async () => {
    const root = await copyOf(original);
    await ashlar(root, "key:generate", "--rotate");
    expect((await doctor(root)).findings).toEqual([]);
    const longAgo = Date.now() / 1000 - 100 * 86_400;
    await utimes(join(root, ".env"), longAgo, longAgo);
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "secret.previous", problem: expect.stringContaining("for 100 days") }]);
    await mend(root, findings[0]!);
    expect((await doctor(root)).findings).toEqual([]);
    await setVariables(root, "APP_PREVIOUS_KEYS=short");
    await mendAll(root, ["secret.previous"]);
  });

  test("private keys that are missing, of the wrong family or staged for too long are created or promoted", async () => {
    const root = await copyOf(original);
    await edit(root, "config/api.ts", [
      'algorithm: "HS512",',
      'algorithm: "ES256", nextSecret: env("JWT_NEXT_KEY"), previousSecrets: env("JWT_PREVIOUS_KEYS"),',
    ]);
    await edit(root, "config/api.ts", ['env("JWT_SECRET")', 'env("JWT_PRIVATE_KEY")']);
    await mendAll(root, ["secret.missing"]);
    await edit(root, "config/api.ts", ['algorithm: "ES256"', 'algorithm: "EdDSA"']);
    const other = await copyOf(root);
    await mendAll(other, ["key.family"]);
    await ashlar(other, "key:generate", "--jwt", "EdDSA", "--rotate", "--stage");
    expect((await doctor(other)).findings).toEqual([]);
    const longAgo = Date.now() / 1000 - 8 * 86_400;
    await utimes(join(other, ".env"), longAgo, longAgo);
    await mendAll(other, ["key.staged"]);
  });

  test("of other drivers that are missing are created, in the variables that those drivers read", async () => {
    const root = await copyOf(original);
    await addDrivers(root);
    const { findings } = await doctor(root);
    expect(findings.map(({ id, problem }) => [id, problem])).toEqual([
      ["secret.missing", "BACKOFFICE_SECRET is not set: DRIVERS.admin needs a secret."],
      ["secret.missing", "PARTNER_KEY is not set: DRIVERS.partner needs a private key for ES384."],
    ]);
    await mendAll(root, ["secret.missing", "secret.missing"]);
    const unread = await copyOf(root);
    await edit(unread, "config/api.ts", ['secret: env("BACKOFFICE_SECRET"),', 'secret: "",']);
    await mendAll(unread, ["secret.missing"], { isCode: true });
    const weak = await copyOf(root);
    await setVariables(weak, "BACKOFFICE_SECRET=short");
    expect(await bootErrorOf(weak)).toMatch(
      / Empty the line of the variable that it reads in \.env, and run: npx ashlar key:generate$/,
    );
    await mendAll(weak, ["secret.weak"]);
  });

  test("of other drivers that are known, shared or published are replaced", async () => {
    const root = await copyOf(original);
    await addDrivers(root);
    await ashlar(root, "key:generate");
    const variables = async () => parseEnv(await readFile(join(root, ".env"), "utf8"));
    await setVariables(root, `BACKOFFICE_SECRET=changeme-${generateSecret()}`);
    await mendAll(root, ["secret.known"]);
    const example = generateSecret();
    await writeFile(
      join(root, ".env.example"),
      `${await readFile(join(root, ".env.example"), "utf8")}BACKOFFICE_SECRET=${example}\n`,
    );
    await setVariables(root, `BACKOFFICE_SECRET=${example}`);
    await mendAll(root, ["secret.known"]);
    await setVariables(root, `BACKOFFICE_SECRET=${(await variables()).APP_KEY}`);
    await mendAll(root, ["secret.shared"]);

    await sh(root, `git init -q && git add --force .env && git add . && ${GIT} commit -qm "Begin"`);
    await sh(root, `git rm -q --cached .env && ${GIT} commit -qm "Remove"`);
    await setVariables(root, `APP_KEY=${generateSecret()}`, `JWT_SECRET=${generateSecret()}`, "PARTNER_KEY=");
    await ashlar(root, "key:generate");
    await mendAll(root, ["secret.history"]);
    const { BACKOFFICE_SECRET: secret } = await variables();
    await writeFile(join(root, "deploy.sh"), `#!/bin/sh\nBACKOFFICE_SECRET=${secret} npm start\n`);
    await writeFile(join(root, "public/app.js"), `const secret = "${secret}";\n`);
    await sh(root, "git add deploy.sh");
    await mendAll(root, ["secret.tracked", "public.secret"]);
  });

  test("that are in config/api.ts itself, or in a fallback variable, are checked there", async () => {
    const either = await copyOf(original);
    await edit(either, "config/api.ts", ['env("JWT_SECRET")', 'env("API_JWT_SECRET") ?? env("JWT_SECRET")']);
    await setVariables(either, `JWT_SECRET=changeme-${generateSecret()}`);
    await mendAll(either, ["secret.known"]);
    const typed = await copyOf(original);
    await addDrivers(typed);
    await ashlar(typed, "key:generate");
    await edit(typed, "config/api.ts", ['env("BACKOFFICE_SECRET")', `"changeme-${generateSecret()}"`]);
    const { findings } = await doctor(typed);
    expect(findings).toMatchObject([
      { file: "config/api.ts", problem: expect.stringMatching(/^DRIVERS\.admin\.secret contains a word/) },
    ]);
    await mendAll(typed, ["secret.known"], { isCode: true });
    const elsewhere = await copyOf(original);
    await edit(elsewhere, "config/api.ts", ['env("JWT_SECRET")', "SECRET"]);
    await edit(elsewhere, "config/api.ts", ["import ", 'import { SECRET } from "../app/secret.ts";\nimport ']);
    await writeFile(
      join(elsewhere, "app/secret.ts"),
      'import { env } from "ashlar";\nexport const SECRET = env("JWT_SECRET");\n',
    );
    await setVariables(elsewhere, `JWT_SECRET=changeme-${generateSecret()}`);
    await mendAll(elsewhere, ["secret.known"], { isCode: true });
    const derived = await copyOf(original);
    await edit(derived, "config/api.ts", ['env("JWT_SECRET")', 'env("APP_KEY")']);
    await mendAll(derived, ["secret.shared"], { isCode: true });
  });

  test("whose absence fails startup are created by the command that the error names, for all drivers at once", async () => {
    const root = await copyOf(original);
    await addDrivers(root);
    await setVariables(root, "JWT_SECRET=");
    const missing = await copyOf(root);
    await setVariables(missing, `JWT_SECRET=${generateSecret()}`);
    expect(await bootErrorOf(missing)).toBe(
      ["admin", "partner"]
        .map((driver) => {
          const problem = `config/api.ts: DRIVERS.${driver}.secret: is missing.`;
          return `${problem} If it is read with env(), this environment variable is not set or empty. Run: npx ashlar key:generate`;
        })
        .join("\n"),
    );
    const { output } = await ashlar(root, "key:generate");
    expect(output).toBe("JWT_SECRET, BACKOFFICE_SECRET and PARTNER_KEY were written to .env.");
    expect(await bootErrorOf(root)).toBeNull();
    expect((await ashlar(root, "key:generate")).output).toContain("already has an APP_KEY, which was not changed");
  });

  test("in the repository are replaced, and .env leaves it", async () => {
    const root = await copyOf(original);
    await writeFile(join(root, ".gitignore"), "node_modules/\ndatabase/*.sqlite*\n");
    await sh(root, `git init -q && git add . && ${GIT} commit -qm "Begin"`);
    await mendAll(root, ["env.tracked", "env.ignored", "secret.history", "secret.history"]);

    const { APP_KEY: key } = Object.fromEntries(
      [...(await readFile(join(root, ".env"), "utf8")).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    );
    await writeFile(join(root, "deploy.sh"), `#!/bin/sh\nAPP_KEY=${key} npm start\n`);
    await sh(root, "git add deploy.sh");
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "secret.tracked", file: "deploy.sh", line: 2 }]);
    await mendAll(root, ["secret.tracked"]);
  });

  test("in the repository are found regardless of git's configuration, none of whose programs is run", async () => {
    const root = await copyOf(original);
    const [, key] = /^APP_KEY=(.*)$/m.exec(await readFile(join(root, ".env"), "utf8"))!;
    await writeFile(join(root, ".gitattributes"), ".env diff=spy\n");
    await writeFile(join(root, "deploy.sh"), `#!/bin/sh\nAPP_KEY=${key} npm start\n`);
    await sh(root, `git init -q && git add --force .env && git add . && ${GIT} commit -qm "Begin"`);
    await sh(root, `git rm -q --cached .env && ${GIT} commit -qm "Remove"`);
    for (const setting of [
      ...["color.ui always", "color.grep always", "grep.column true", "grep.fullName true"],
      ...["core.fsmonitor 'touch ../ran; true'", "diff.spy.textconv 'touch ../ran; true'"],
    ]) {
      await sh(root, `git config ${setting}`);
    }
    await rm(join(root, "../ran"), { force: true });
    vi.stubEnv("GIT_TRACE", join(root, "../traced"));
    const { findings } = await doctor(root);
    vi.unstubAllEnvs();
    // The doctor asks git once whether there is a repository.
    expect((await readFile(join(root, "../traced"), "utf8")).match(/built-in: git rev-parse/g)).toHaveLength(1);
    expect(findings.map(({ id }) => id)).toEqual(["secret.tracked", "secret.history", "secret.history"]);
    expect(findings[0]).toMatchObject({ file: "deploy.sh", line: 2 });
    await expect(stat(join(root, "../ran"))).rejects.toThrow("ENOENT");
  });

  test("that a feature declares are found in the repository", async () => {
    const root = await copyOf(original);
    const provider = [
      'import { declareFeature, type Feature, Provider } from "ashlar";',
      "export class SmsProvider extends Provider {",
      "  static override readonly feature: Feature = declareFeature({",
      '    name: "sms",',
      "    variables: { SMS_TOKEN: { isSecret: true }, SMS_SENDER: {} },",
      "  });",
      "}",
    ];
    await writeFile(join(root, "app/sms-provider.ts"), provider.join("\n"));
    await edit(root, "config/providers.ts", [
      "export const PROVIDERS = [",
      'import { SmsProvider } from "../app/sms-provider.ts";\n\nexport const PROVIDERS = [\n  SmsProvider,',
    ]);
    const [secret, sender] = [generateSecret(), generateSecret()];
    await setVariables(root, `SMS_TOKEN=${secret}`, `SMS_SENDER=${sender}`);
    await writeFile(join(root, "deploy.sh"), `#!/bin/sh\nSMS_SENDER=${sender} SMS_TOKEN=${secret} npm start\n`);
    await sh(root, "git init -q && git add deploy.sh");
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "secret.tracked", file: "deploy.sh", line: 2 }]);
    expect(findings[0]!.problem).toContain("SMS_TOKEN");
  });

  test("in public/ are found, and links there are not followed", async () => {
    const root = await copyOf(original);
    await mkdir(join(root, "public/assets"), { recursive: true });
    await cp(join(root, ".env"), join(root, "public/assets/.env"));
    await symlink("..", join(root, "public/up"));
    await symlink("../config", join(root, "public/assets/linked"));
    await writeFile(join(root, "config/server.pem"), "");
    expect((await doctor(root)).findings.map(({ id, file }) => [id, file])).toEqual([
      ["public.private", "public/assets/.env"],
    ]);
  });

  test("in public/ are moved out of it", async () => {
    const root = await copyOf(original);
    const { JWT_SECRET: secret } = Object.fromEntries(
      [...(await readFile(join(root, ".env"), "utf8")).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    );
    await mkdir(join(root, "public/assets"), { recursive: true });
    await writeFile(join(root, "public/assets/app.js.map"), `{"sourcesContent":["const secret = '${secret}';"]}`);
    await cp(join(root, ".env"), join(root, "public/.env"));
    await cp(join(root, "database/app.sqlite"), join(root, "public/copy.sqlite"));
    await mendAll(root, ["public.private", "public.private", "public.secret"]);
  });
});

describe("the environment", () => {
  test("that contradicts itself is corrected", async () => {
    const root = await copyOf(original);
    await setVariables(root, "APP_ENV=staging");
    await mendAll(root, ["env.contradiction"]);
  });

  test("that is a folder is removed, after which its secrets can be generated", async () => {
    const root = await copyOf(original);
    await rm(join(root, ".env"));
    await mkdir(join(root, ".env"));
    const found = (await doctor(root)).findings.find(({ id }) => id === "env.file")!;
    await mend(root, found);
    expect(idsOf(await doctor(root))).not.toContain("env.file");
    expect(found.remedy.note).toBe("Then copy .env.example to .env, and run npx ashlar key:generate.");
    await cp(join(root, ".env.example"), join(root, ".env"));
    await chmod(join(root, ".env"), 0o600);
    await ashlar(root, "key:generate");
    await setVariables(root, "APP_ENV=development");
    expect((await doctor(root)).findings).toEqual([]);
    shown.add("env.file");
  });

  test("of production gets its address, its proxies and its mails", async () => {
    const root = await copyOf(original);
    const port = `SMTP_PORT=${(await startMailServer()).port}`;
    const mails = ["MAIL_FROM=no-reply@shop.example", "SMTP_HOST=127.0.0.1", port];
    const args = ["--production"];
    await setVariables(root, "APP_URL=", ...mails, "TRUSTED_PROXIES=192.0.2.7", "MAIL_FROM=");
    await mendAll(root, ["url.missing", "mail.sender"], { args });
    await setVariables(root, "APP_URL=https://shop.example/?path", "TRUSTED_PROXIES=private", "HOST=127.0.0.1");
    await mendAll(root, ["url.invalid", "proxies.wide"], { args });
    await setVariables(root, "APP_URL=http://shop.example", "TRUSTED_PROXIES=0.0.0.0/0");
    await mendAll(root, ["url.http", "proxies.invalid"], { args });
    await setVariables(root, "APP_URL=http://localhost:3000", "HOST=");
    await mendAll(root, ["url.loopback", "host.public"], { args });
    await setVariables(root, "TRUSTED_PROXIES=");
    await mendAll(root, ["proxies.missing"], { args });
    await setVariables(root, "PORT=/tmp/shop.sock", "TRUSTED_PROXIES=10.0.0.1");
    await mendAll(root, ["proxies.socket"], { args });
  });

  test("of production gets the origins of its sites", async () => {
    const root = await copyOf(original);
    await edit(
      root,
      "app/kernel.ts",
      ["import { HttpKernel", "import { CorsMiddleware, HttpKernel"],
      ["httpMiddleware = [", "httpMiddleware = [CorsMiddleware, "],
    );
    const port = `SMTP_PORT=${(await startMailServer()).port}`;
    const mails = ["MAIL_FROM=no-reply@shop.example", "SMTP_HOST=127.0.0.1", port];
    const proxied = ["APP_URL=https://shop.example", "TRUSTED_PROXIES=192.0.2.7"];
    await setVariables(root, ...proxied, ...mails, "TRUSTED_ORIGINS=http://app.shop.example/home");
    await mendAll(root, ["origins.invalid"], { args: ["--production"] });
  });
});

describe("lifetimes", () => {
  test("without an end get one", async () => {
    const root = await copyOf(original);
    await edit(root, "config/api.ts", ["expires: 60", "expires: null"]);
    expect((await doctor(root)).findings).toMatchObject([
      { id: "tokens.immortal", severity: "warning", problem: expect.stringContaining("until its user logs in again") },
    ]);
    await edit(root, "config/api.ts", ["authenticates: true", "authenticates: false"]);
    await edit(
      root,
      "config/auth.ts",
      ["web: { model: User },", "web: {\n    model: User,\n    rememberMinutes: 200_000,\n  },"],
      ["passwordResetExpiration: 1440", "passwordResetExpiration: null"],
    );
    await edit(root, "config/session.ts", [
      "lifetimeMinutes: 120,",
      "lifetimeMinutes: 120,\n  absoluteMinutes: 200_000,",
    ]);
    // Once tokens expire, the doctor finds that they can be renewed forever.
    const { findings } = await doctor(root);
    const immortal = findings.find(({ id }) => id === "tokens.immortal")!;
    expect(immortal.severity).toBe("warning");
    await mend(root, immortal);
    shown.add("tokens.immortal");
    await mendAll(root, ["tokens.renewal", "logins.long", "logins.long", "links.immortal"]);
  });
});

test("a login page that doesn't lead to the login by mail gets a link", async () => {
  const root = await copyOf(original);
  await ashlar(root, "auth", "--login-links");
  const page = join(root, "views/auth/login.edge");
  // It is the author's: a release could replace an unchanged one.
  await writeFile(
    page,
    `{{-- Ours. --}}\n${await readFile(page, "utf8")}`.replace(
      / *@if\(auth\.hasRoute\("login_links"\)\)[\s\S]*?@end\n/,
      "",
    ),
  );
  await mendAll(root, ["links.hidden"]);
});

describe("the database", () => {
  test("without the table of second factors gets it", async () => {
    const root = await copyOf(original);
    await ashlar(root, "auth", "--two-factor");
    const migrations = join(root, "database/migrations");
    const [file] = (await readdir(migrations)).filter((name) => name.endsWith("_create_authenticators.ts"));
    await rm(join(migrations, file!));
    await mendAll(root, ["factors.table"]);
  });

  test("without the table for several tokens gets it", async () => {
    const root = await copyOf(original);
    await edit(
      root,
      "config/api.ts",
      ["import type { DriversSettings }", "import { type DriversSettings, many }"],
      ["    expires: 60,", "    tokens: many({ accessMinutes: 15, refreshDays: 30 }),"],
    );
    await mendAll(root, ["api.table"]);
  });

  test("without the table for personal tokens gets it", async () => {
    const root = await copyOf(original);
    await edit(
      root,
      "config/api.ts",
      ["import type { DriversSettings }", "import { type DriversSettings, personal }"],
      ["    expires: 60,", "    expires: 60,\n    personal: personal(),"],
    );
    await mendAll(root, ["api.table"]);
  });

  test("gets its pending migrations, and missing files are named", async () => {
    const root = await copyOf(original);
    await ashlar(root, "make:migration", "create_orders");
    await mendAll(root, ["migrations.pending"]);
    await sh(root, "mv database/migrations/*_create_orders.ts .");
    const newer = await doctor(root);
    expect(newer.findings).toMatchObject([{ id: "migrations.newer", severity: "warning" }]);
    const { run, note } = newer.findings[0]!.remedy;
    expect([run, note]).toEqual([null, expect.stringContaining("don't roll them back, because that deletes")]);
    expect(note).not.toContain("migrate:rollback");
    expect(await ashlar(root, "migrate")).toMatchObject({ code: 1 });
    expect(await ashlar(root, ...note!.match(/migrate --allow-newer/)![0].split(" "))).toMatchObject({ code: 0 });
    shown.add("migrations.newer");
    // If there is a newer file, the missing one doesn't come from a later version.
    await ashlar(root, "make:migration", "create_payments");
    expect(await ashlar(root, "migrate", "--allow-missing")).toMatchObject({ code: 0 });
    const missing = await doctor(root);
    expect(idsOf(missing)).toEqual(["migrations.missing"]);
    const told = "Put the files back, or roll the migrations back where the files are: npx ashlar migrate:rollback.";
    expect(missing.findings[0]!.remedy.note).toBe(told);
    const [back, rolledBack] = [await copyOf(root), await copyOf(root)];
    for (const copy of [back, rolledBack]) await sh(copy, "mv *_create_orders.ts database/migrations");
    expect((await doctor(back)).findings).toEqual([]);
    await ashlar(rolledBack, "migrate:rollback", "--steps", "2");
    await sh(rolledBack, "rm database/migrations/*_create_orders.ts database/migrations/*_create_payments.ts");
    expect((await doctor(rolledBack)).findings).toEqual([]);
    shown.add("migrations.missing");
    await sh(root, "chmod 644 database/app.sqlite");
    const { findings } = await doctor(root);
    await mend(root, findings.find(({ id }) => id === "database.mode")!);
    expect(idsOf(await doctor(root))).toEqual(["migrations.missing"]);
    shown.add("database.mode");
  });

  test("gets missing tables and columns", async () => {
    const root = await copyOf(original);
    await ashlar(root, "migrate:rollback");
    await sh(root, "rm database/migrations/*_create_email_changes.ts database/migrations/*_create_rate_limits.ts");
    await ashlar(root, "migrate");
    await mendAll(root, ["pages.tables"]);
  });

  test.each([
    ["blocked", "users.blocked", "blocked_at", "blockedColumn", "suspended_at"],
    ["closed", "users.closing", "closes_at", "closingColumn", "leaves_at"],
  ])("gets the column without which accounts can't be %s", async (_what, finding, column, setting, other) => {
    const root = await copyOf(original);
    await sh(root, `sed -i '/${column}/d' database/migrations/*_create_users.ts`);
    await ashlar(root, "migrate:rollback");
    await ashlar(root, "migrate");
    await mendAll(root, [finding]);
    // The installer only knows the default column name.
    const renamed = await copyOf(root);
    const line = "\n  static override table";
    await edit(renamed, "app/models/user.ts", [line, `\n  static override ${setting} = "${other}";${line}`]);
    const { findings } = await doctor(renamed);
    expect(idsOf({ findings })).toEqual([finding]);
    await migrateAsTold(renamed, findings[0]!);
    expect((await doctor(renamed)).findings).toEqual([]);
    await edit(renamed, "app/models/user.ts", [`"${other}"`, "null"]);
    expect((await doctor(await copyOf(renamed))).findings).toEqual([]);
  });

  test("gets the table without which users can't see what has happened to their accounts", async () => {
    const root = await copyOf(original);
    await ashlar(root, "migrate:rollback");
    await sh(root, "rm database/migrations/*_create_security_events.ts");
    await ashlar(root, "migrate");
    await mendAll(root, ["accounts.events"]);
  });

  test("gets normalized addresses, and names accounts whose addresses become equal", async () => {
    const root = await copyOf(original);
    const store = (email: string) =>
      `insert into users (name, email, password, created_at, updated_at) values ('U', '${email}', '!', '2026-01-01', '2026-01-01')`;
    const database = new DatabaseSync(join(root, "database/app.sqlite"));
    const keep = database.prepare("select count(*) as count from users").get()!.count;
    for (const email of ["Ada@Example.com", "u@b\u00fccher.example"]) database.exec(store(email));
    await mendAll(root, ["users.spelling"]);
    const mended = database.prepare("select email from users order by id").all().slice(Number(keep));
    expect(mended.map(({ email }) => email)).toEqual(["ada@example.com", "u@xn--bcher-kva.example"]);
    for (const email of ["U@B\u00fccher.example", "a%b@corp.example"]) database.exec(store(email));
    const told = await doctor(root);
    expect(idsOf(told)).toEqual(["users.address", "users.twins"]);
    // By their keys, because the report may end up in a deployment's log.
    expect(JSON.stringify(told)).not.toMatch(/corp\.example|xn--bcher/);
    database.exec("delete from users where email in ('U@B\u00fccher.example', 'a%b@corp.example')");
    database.close();
    expect((await doctor(root)).findings).toEqual([]);
    for (const id of ["users.address", "users.twins"] as const) shown.add(id);
  });

  test("gets the table in which mails wait", async () => {
    const root = await copyOf(original);
    await ashlar(root, "migrate:rollback");
    await sh(root, "rm database/migrations/*_create_mail_outbox.ts");
    await ashlar(root, "migrate");
    await mendAll(root, ["mail.outbox"]);
  });

  test("gets the column by which mails about accounts are sent first", async () => {
    let root = await copyOf(original);
    await ashlar(root, "migrate:rollback");
    const priority = "/await addPriorityToMailOutbox/d; s/addPriorityToMailOutbox, //";
    await sh(root, `sed -i '${priority}' database/migrations/*_create_mail_outbox.ts`);
    // The migration was already loaded for the rollback.
    root = await copyOf(root);
    await ashlar(root, "migrate");
    await mendAll(root, ["mail.priority"]);
  });

  test("reports outbox mails that were sealed with a lost key, until the key is back", async () => {
    const root = await copyOf(original);
    const [former, other] = [generateSecret(), generateSecret()];
    const database = new DatabaseSync(join(root, "database/app.sqlite"));
    const insert = database.prepare(
      "insert into mail_outbox (kind, content, attempts, created_at, available_at, retry_until) values (?, ?, 1, 0, 0, 0)",
    );
    for (const key of [former, former, parseEnv(await readFile(join(root, ".env"), "utf8")).APP_KEY!]) {
      insert.run("mail", new OutboxSeal(key, {}).seal("mail", { subject: "Hello" }));
    }
    await setVariables(root, `APP_PREVIOUS_KEYS=${other}`);
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([
      { id: "mail.key", severity: "warning", problem: expect.stringMatching(/^2 mails /) },
    ]);
    expect(findings[0]!.remedy.note).toMatch(/^Add the former APP_KEY to APP_PREVIOUS_KEYS in \.env, /);
    await setVariables(root, `APP_PREVIOUS_KEYS=${other},${former}`);
    expect((await doctor(root)).findings).toEqual([]);
    database.close();
    shown.add("mail.key");
  });

  test("gets the token's column, and its index", async () => {
    const made = await generateApplication({ api: false });
    let root = made.root;
    try {
      await setVariables(root, "APP_ENV=development");
      await ashlar(root, "migrate");
      await ashlar(root, "api:install");
      // The model was already loaded for the migrations.
      root = await copyOf(root);
      await sh(root, "rm -f database/migrations/*_api_token*");
      await mendAll(root, ["api.column"]);
      const dropped =
        "import type { Kysely } from 'ashlar/database';\nexport async function up(database: Kysely<unknown>) {";
      const file = "database/migrations/2090_01_01_000000_change_index.ts";
      await writeFile(
        join(root, file),
        `${dropped} await database.schema.dropIndex("users_api_token_unique").execute(); }`,
      );
      await ashlar(root, "migrate");
      const { findings } = await doctor(root);
      expect(findings).toMatchObject([{ id: "api.unique", remedy: { file: "database/migrations" } }]);
      const [line] = findings[0]!.remedy.lines;
      await writeFile(join(root, file.replace("2090", "2091")), `${dropped} ${line} }`);
      await ashlar(root, "migrate");
      expect((await doctor(root)).findings).toEqual([]);
      shown.add("api.unique");
    } finally {
      await made.remove();
    }
  });

  test("without a driver's user table or its column gets them with the suggested lines", async () => {
    let root = await copyOf(original);
    await writeFile(
      join(root, "app/models/admin.ts"),
      `import { AuthenticatesTokens } from "ashlar/api";
import { Authenticates } from "ashlar/auth";
import { compose, Model } from "ashlar/database";

export class Admin extends compose(Model, Authenticates, AuthenticatesTokens) {}
`,
    );
    await edit(
      root,
      "config/api.ts",
      ["import { User }", 'import { Admin } from "../app/models/admin.ts";\nimport { User }'],
      [
        "} satisfies",
        '  admin: { secret: env("ADMIN_JWT_SECRET"), model: Admin, expires: 15, authenticates: true },\n} satisfies',
      ],
    );
    await ashlar(root, "key:generate");
    const { findings } = await doctor(root);
    expect(findings.map(({ id, problem }) => [id, problem])).toEqual([
      ["api.table", "The table admins is missing, which holds the users of the class Admin."],
    ]);
    const bare = await copyOf(root);
    await migrateAsTold(root, findings[0]!);
    expect((await doctor(root)).findings).toEqual([]);

    root = bare;
    await ashlar(root, "make:migration", "create_admins");
    await ashlar(root, "migrate");
    const { findings: lacking } = await doctor(root);
    expect(lacking.map(({ id, problem }) => [id, problem])).toEqual([
      ["api.column", "The table admins has no column api_token, which holds each user's active token."],
    ]);
    await migrateAsTold(root, lacking[0]!);
    expect((await doctor(root)).findings).toEqual([]);
  });

  test("whose file is a folder gets the right path", async () => {
    const root = await copyOf(original);
    await setVariables(root, "DATABASE_PATH=database");
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "database.connection" }]);
    expect(findings[0]!.problem).toContain("database can't be used: it is a directory. Correct the path");
    expect(findings[0]!.remedy.note).toContain("DATABASE_PATH in .env");
    await setVariables(root, "DATABASE_PATH=database/app.sqlite");
    expect((await doctor(root)).findings).toEqual([]);
    shown.add("database.connection");
  });

  test("that doesn't respond is skipped after a few seconds, and the other checks continue", async () => {
    const root = await copyOf(original);
    // It accepts connections but doesn't respond.
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = silent.address() as { port: number };
      const url = (to: number | string) => `DATABASE_URL=postgres://postgres@127.0.0.1:${to}/shop`;
      await edit(root, "config/database.ts", ["poolSize: 10,", "acquireTimeoutMs: 200,"]);
      await setVariables(root, "DATABASE_CONNECTION=postgres", url(port), "APP_KEY=0123");
      expect(idsOf(await doctor(root))).toEqual(["database.connection", "secret.weak"]);
      await setVariables(root, url(1));
      const { findings } = await doctor(root);
      const { note } = findings.find(({ id }) => id === "database.connection")!.remedy;
      expect(note).toContain("Start its server, or correct its address: DATABASE_URL");
    } finally {
      silent.close();
    }
  });
});

describe("servers", () => {
  test("a table that a store's own connection lacks is named", async () => {
    const root = await copyOf(original);
    await edit(root, "config/database.ts", [
      "  sqlite: sqlite(",
      '  limits: sqlite({ path: "database/limits.sqlite" }),\n  sqlite: sqlite(',
    ]);
    await edit(
      root,
      "config/throttle.ts",
      ["  limits: {", '  store: databaseStore({ connection: "limits" }),\n  limits: {'],
      ["import type { ThrottleSettings }", "import { databaseStore, type ThrottleSettings }"],
    );
    const report = await doctor(root);
    expect(idsOf(report)).toEqual(["limits.store"]);
    const [{ problem, remedy }] = report.findings as [Finding];
    expect(problem).toBe('The database of the connection "limits" has no table rate_limits.');
    expect(remedy.note).toContain("each start of the application creates it on this one, too");
    // As advised, because the default connection has it.
    const started = await copyOf(root);
    const command = await execute(started, process.execPath, [COMMAND, "prune"]);
    expect(command.code, command.output).toBe(0);
    expect((await doctor(started)).findings).toEqual([]);
  });

  test("of mail and sessions that can't be reached are named", async () => {
    const root = await copyOf(original);
    await setVariables(root, "SMTP_HOST=127.0.0.1", "SMTP_PORT=1");
    await edit(root, "config/mail.ts", ["  smtp: {", '  transport: "smtp",\n  smtp: {']);
    await edit(
      root,
      "config/session.ts",
      ["store: cookieSessions(),", "store: { ...remote, check },"],
      ["export const", `${STORE}\nexport const`],
      ["import { cookieSessions, type", "import { type"],
    );
    await edit(
      root,
      "config/throttle.ts",
      ["  limits: {", "  store: (container) => Object.assign(memoryStore()(container), { check }),\n  limits: {"],
      ["import type { ThrottleSettings }", "import { memoryStore, type ThrottleSettings }"],
      ["export const", `${CHECK}\nexport const`],
    );
    const report = await doctor(root);
    expect(report.findings.filter(({ id }) => id === "boot.failed")).toEqual([]);
    expect(idsOf(report)).toEqual(["limits.store", "mail.server", "sessions.store"]);
    expect(report.findings.find(({ id }) => id === "sessions.store")!.problem).toContain("connect ECONNREFUSED cache");
    await setVariables(root, `SMTP_PORT=${(await startMailServer()).port}`, "STORE_IS_UP=1");
    expect((await doctor(root)).findings).toEqual([]);
    for (const id of ["limits.store", "mail.server", "sessions.store"] as const) shown.add(id);
  });
});

const CHECK = `import { env } from "ashlar";
async function check(): Promise<void> {
  if (env("STORE_IS_UP") === undefined) throw new Error("connect ECONNREFUSED cache");
}`;

const STORE = `${CHECK}
const none = (): never => {
  throw new Error("not used");
};
const remote = { maxBytes: 1024, read: none, create: none, update: none, destroy: none, close: () => {} };`;

describe("code", () => {
  test("that lacks the steps of the API gets them", async () => {
    const root = await copyOf(original);
    await edit(root, "config/providers.ts", ["  ApiProvider,\n", ""]);
    await edit(root, "app/kernel.ts", ["    api: [JWTAuthenticationMiddleware],\n", "    api: [],\n"]);
    await edit(root, "app/models/user.ts", ["AuthenticatesTokens, MustVerifyEmail)", "MustVerifyEmail)"]);
    await edit(root, "routes/web.ts", ["  ...Api.routes(),\n", ""]);
    const { findings, skipped } = await doctor(root);
    // The endpoints are known once the application boots.
    expect(idsOf({ findings })).toEqual(["api.model", "api.provider", "api.stack"]);
    expect(skipped.map(({ check }) => check)).toEqual([
      "Sessions",
      "Limit store",
      "Mail",
      "Events of accounts",
      "Uploads",
      "Routes",
    ]);
    for (const finding of findings) await mend(root, finding);
    for (const id of ["api.model", "api.provider", "api.stack"] as const) shown.add(id);
    await mendAll(await copyOf(root), ["api.endpoints"], { isCode: true });
  });

  test("with a page for personal tokens that no one can have reports what is missing", async () => {
    const root = await copyOf(original);
    const page = "class Tokens {\n  index() {}\n  store() {}\n  destroy() {}\n}\n\nexport const ROUTES";
    await edit(
      root,
      "routes/web.ts",
      ["export const ROUTES", page],
      ["  ...Api.routes(),\n", "  ...Api.routes(),\n  ...Api.personalTokens(Tokens),\n"],
    );
    // The application's other problems don't mention it.
    const worse = await copyOf(root);
    await edit(worse, "app/models/user.ts", [", MustVerifyEmail)", ")"]);
    expect(idsOf(await doctor(worse))).toEqual(["boot.failed"]);
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "boot.failed", remedy: { note: "The message says what to do." } }]);
    expect(findings[0]!.problem).toMatch(
      /^config\/api\.ts: DRIVERS: no entry has personal tokens for users of the guard "web", which Api\.personalTokens\(\) in \S*routes\/web\.ts:\d+ needs\. Add personal: personal\(\), from "ashlar\/api", to the entry whose model is User\.$/,
    );
    await edit(
      root,
      "config/api.ts",
      ["import type { DriversSettings }", "import { type DriversSettings, personal }"],
      ["    expires: 60,", "    expires: 60,\n    personal: personal(),"],
    );
    // The application boots, and only the migration is left.
    expect(idsOf(await doctor(await copyOf(root)))).toEqual(["api.table"]);
  });

  test("that doesn't load the API's routes is changed to load them", async () => {
    const root = await copyOf(original);
    await edit(root, "app/kernel.ts", [`    this.container.bind("routes.api.location", "routes/api");\n`, ""]);
    await rm(join(root, "routes/api.ts"));
    await mendAll(root, ["api.location", "api.routes"], { isCode: true });
  });

  test("without the API's configuration gets it back", async () => {
    const root = await copyOf(original);
    await rm(join(root, "config/api.ts"));
    const { findings } = await doctor(root);
    expect(idsOf({ findings })).toEqual(["api.config"]);
    await mendAll(root, ["api.config"], { isCode: true });
  });

  test("that lacks parts of the account pages gets them", async () => {
    const root = await copyOf(original);
    await edit(root, "config/providers.ts", ["  EventProvider,\n", ""]);
    await edit(
      root,
      "app/kernel.ts",
      [", VerifyCsrfToken],", "],"],
      ['    "password.confirm": [ConfirmPasswordMiddleware],\n', ""],
    );
    const ids = ["pages.provider", "pages.stack", "pages.middleware"] as const;
    const { findings } = await doctor(root);
    expect(idsOf({ findings })).toEqual([...ids].sort());
    for (const finding of findings) await mend(root, finding);
    expect((await doctor(await copyOf(root))).findings).toEqual([]);
    for (const id of ids) shown.add(id);
  });

  test("that verifies addresses gets the missing parts of that feature, and nothing else", async () => {
    const unnamed = await copyOf(original);
    await edit(unnamed, "app/kernel.ts", ["    verified: [VerifiesEmailMiddleware],\n", ""]);
    await mendAll(unnamed, ["pages.middleware"], { isCode: true });
    const used = await copyOf(original);
    await edit(used, "app/models/user.ts", [", MustVerifyEmail)", ")"]);
    // The kernel names the middleware, but that doesn't count, because no route uses it yet.
    expect((await doctor(used)).findings).toEqual([]);
    await edit(used, "routes/api.ts", ['middleware("auth:jwt")', 'middleware("auth:jwt", "verified")']);
    await mendAll(await copyOf(used), ["pages.model"], { isCode: true });

    const routed = await generatedApplication({ verification: false });
    await setVariables(routed, "APP_ENV=development");
    await ashlar(routed, "migrate");
    await edit(routed, "routes/api.ts", ['middleware("auth:jwt")', 'middleware("auth:jwt", "verified")']);
    const { findings } = await doctor(routed);
    expect(idsOf({ findings })).toEqual(["pages.middleware", "pages.model", "pages.tables"]);
    expect(findings.find(({ id }) => id === "pages.tables")!.problem).toContain("the column verified_at of the table");
    for (const finding of findings) await mend(routed, finding);
    expect((await doctor(await copyOf(routed))).findings).toEqual([]);
  });

  const PROVIDERS = "config/providers.ts";
  test.each<{ file: string; change: readonly [string, string]; ids: readonly string[] }>([
    { file: PROVIDERS, change: ["  DatabaseProvider,\n", ""], ids: ["api.provider", "pages.provider"] },
    { file: PROVIDERS, change: ["  ViewProvider,\n", ""], ids: ["pages.provider"] },
    { file: PROVIDERS, change: ["  SessionProvider,\n", ""], ids: ["pages.provider"] },
    { file: PROVIDERS, change: ["  AuthProvider,\n", ""], ids: ["api.provider", "pages.provider"] },
    { file: PROVIDERS, change: ["  ApiProvider,\n", ""], ids: ["api.provider"] },
    { file: "app/kernel.ts", change: ["    auth: [AuthenticationMiddleware],\n", ""], ids: ["pages.middleware"] },
    { file: "app/kernel.ts", change: ["    api: [JWTAuthenticationMiddleware],\n", ""], ids: ["api.stack"] },
    { file: "app/kernel.ts", change: ['"routes/api"', '"routes/more-api"'], ids: ["api.routes"] },
    { file: "app/models/user.ts", change: ["AuthenticatesTokens, ", ""], ids: ["api.model"] },
    { file: "config/api.ts", change: ["export const DRIVERS", "export const OTHERS"], ids: ["api.config"] },
  ])("that can't boot because of a finding is reported once: $file without $change.0", async (fault) => {
    const root = await copyOf(original);
    await edit(root, fault.file, fault.change);
    const { findings, skipped } = await doctor(root);
    expect(idsOf({ findings })).toEqual(fault.ids);
    expect(skipped.map(({ reason }) => reason)).toContain("the application doesn't boot");
  });

  test("without the guard, the mails or the page's routes gets them", async () => {
    const root = await copyOf(original);
    const file = join(root, "config/auth.ts");
    const text = await readFile(file, "utf8");
    await writeFile(
      file,
      `import { User } from "../app/models/user.ts";\nexport const GUARDS = {\n  default: "jwt",\n  jwt: { model: User },\n};\n`,
    );
    expect(idsOf(await doctor(root))).toContain("pages.guard");
    await writeFile(file, text.replace('  default: "web",\n', "").replace(/mailables: \{[\s\S]*?\n {2}\},\n/, ""));
    await edit(root, "routes/web.ts", ["  ...Auth.routes(AuthControllers),\n", ""]);
    const copy = await copyOf(root);
    const { findings } = await doctor(copy);
    expect(idsOf({ findings })).toEqual(["pages.guard", "pages.mailables"]);
    for (const finding of findings) await mend(copy, finding);
    for (const id of ["pages.guard", "pages.mailables"] as const) shown.add(id);
    await mendAll(await copyOf(copy), ["pages.routes"], { isCode: true });
  });

  test("without limits, or with limits in memory, gets shared ones", async () => {
    const root = await copyOf(original);
    await edit(root, "config/providers.ts", ["  ThrottleProvider,\n", ""]);
    await mendAll(root, ["limits.provider"], { isCode: true });
    const production = await copyOf(original);
    await completeForProduction(production);
    await edit(
      production,
      "config/throttle.ts",
      ["import type {", "import { memoryStore, type"],
      ["  limits: {", "  store: memoryStore(),\n  limits: {"],
    );
    await mendAll(production, ["limits.memory"], { args: ["--production"], isCode: true });
  });

  test("needs a suitable limit on each route whose handler checks a password, whatever its name", async () => {
    const root = await copyOf(original);
    await edit(root, "routes/web.ts", [
      "  ...Auth.routes(AuthControllers),\n",
      `  ...Auth.routes(AuthControllers, { login: false }),
  Route.get("/login", [AuthControllers.login, "show"]).name("login"),
  Route.post("/sign-in", [AuthControllers.login, "store"]).name("x"),
  Route.post("/login", [AuthControllers.login, "store"]).name("login.store").middleware("throttle:api"),
  Route.post("/fits", [AuthControllers.login, "store"]).middleware("throttle:api", "throttle:login"),
  Route.post("/as-well", [AuthControllers.login, "store"]).middleware("throttle:change_password"),
  Route.post("/logout", [AuthControllers.login, "destroy"]).name("logout"),
`,
    ]);
    const { findings } = await doctor(root);
    expect(findings.map(({ id, problem }) => [id, problem.split(" has ")[0]])).toEqual([
      ["limits.route", "POST /sign-in"],
      ["limits.route", "POST /login"],
    ]);
    for (const { remedy } of findings) expect(remedy.note).toContain('dd .middleware("throttle:login") to the route.');
    const mended = await copyOf(root);
    const routes = join(mended, "routes/web.ts");
    const text = await readFile(routes, "utf8");
    await writeFile(
      routes,
      text
        .replaceAll(/\("throttle:api"\)/g, '("throttle:api", "throttle:login")')
        .replace('.name("x")', '.name("x").middleware("throttle:login")'),
    );
    expect((await doctor(mended)).findings).toEqual([]);
  });

  test("with routes outside their middleware stacks gets them back in", async () => {
    const root = await copyOf(original);
    await edit(root, "routes/web.ts", [
      "  ...Api.routes(),\n",
      `  ...Api.routes(),
  Route.post("/orders", () => "ordered").withoutMiddleware("web"),
  Route.post("/profile", () => "changed").withoutMiddleware("web").middleware("user"),
  Route.get("/token-only", () => "for clients").middleware("guard:jwt"),
  Route.post("/api/orders", () => "ordered"),
  Route.view("/api/help", "welcome"),
  Route.post("/apiary", () => "bees"),
  Route.post("/second/login", [AuthControllers.login, "store"]).middleware("throttle:login").withoutMiddleware("throttle"),
`,
    ]);
    await mendAll(root, ["routes.stack", "routes.csrf", "routes.api", "routes.api", "limits.route"], { isCode: true });
    const session = await copyOf(original);
    await edit(session, "app/kernel.ts", ["    api: [JWT", "    api: [SessionMiddleware, JWT"]);
    await edit(session, "routes/api.ts", ["= [\n", '= [\n  Route.view("/help", "welcome"),\n']);
    await mendAll(session, ["api.session", "routes.page"], { isCode: true });
  });

  test("that can't be loaded is named with its line, and everything else is checked", async () => {
    const root = await copyOf(original);
    await writeFile(join(root, "config/mail.ts"), 'export const MAIL = {};\nthrow new Error("no mail today");\n');
    await setVariables(root, "JWT_SECRET=");
    const report = await doctor(root);
    expect(idsOf(report)).toEqual(["config.file", "secret.missing"]);
    expect(report.findings.find(({ id }) => id === "config.file")).toMatchObject({ file: "config/mail.ts", line: 2 });
    shown.add("config.file");
    await edit(root, "config/mail.ts", ['throw new Error("no mail today");\n', ""]);
    await ashlar(root, "key:generate");
    expect((await doctor(await copyOf(root))).findings).toEqual([]);
  });

  test("with two routes for one path boots without the route that the message names", async () => {
    const broken = await copyOf(original);
    await edit(broken, "routes/web.ts", ["  ...Api.routes(),", "  ...Api.routes(),\n  Route.get('/', () => 1),"]);
    const { findings } = await doctor(broken);
    expect(findings).toMatchObject([{ id: "boot.failed", remedy: { note: "The message says what to do." } }]);
    const [, line] = /routes\/web\.ts:(\d+)/.exec(findings[0]!.problem)!;
    await sh(broken, `sed -i ${line}d routes/web.ts`);
    expect((await doctor(await copyOf(broken))).findings).toEqual([]);
    shown.add("boot.failed");
  });

  test("with an invalid migration is checked once the file that the message names is gone", async () => {
    const root = await copyOf(original);
    await writeFile(join(root, "database/migrations/nonsense.ts"), "export const up = () => {};");
    const [finding, ...others] = (await doctor(root)).findings;
    expect([finding?.id, others]).toEqual(["doctor.check", []]);
    const [, file] = /^The check "Database" could not be completed: .*?(database\/migrations\/\S+?\.ts)/.exec(
      finding!.problem,
    )!;
    await sh(root, `rm ${file}`);
    expect((await doctor(root)).findings).toEqual([]);
    shown.add("doctor.check");
  });

  test("without app.ts gets one that boots", async () => {
    const root = await copyOf(original);
    await rm(join(root, "app.ts"));
    await mendAll(root, ["boot.entry"], { isCode: true });
  });

  test("with a startup warning follows its advice", async () => {
    const warned = await copyOf(original);
    await edit(warned, "config/auth.ts", [
      "  web: { model: User },",
      "  web: { model: User, steps: [{ name: 'terms', check: () => 'passed' as const }] },",
    ]);
    const { findings } = await doctor(warned);
    expect(findings).toMatchObject([{ id: "boot.warning", remedy: { note: "The warning says what to do." } }]);
    expect(findings[0]!.problem).toContain('without its login steps: "terms". List them in GUARDS.steps');
    await edit(
      warned,
      "config/auth.ts",
      ["web: { model: User, steps: [", "steps: ["],
      ["'passed' as const }] },", "'passed' as const }],\n  web: { model: User },"],
    );
    expect((await doctor(await copyOf(warned))).findings).toEqual([]);
    shown.add("boot.warning");
  });
});

describe("an earlier version", () => {
  const commit = (root: string) => sh(root, `git init -q && git add -A && ${GIT} commit -qm start`);

  test("whose files and settings the application has is upgraded", async () => {
    const root = await copyOf(original);
    const former = await readFile(join(import.meta.dirname, "../upgrade/applications/2026-11-23.json"), "utf8");
    const { files } = JSON.parse(former) as { readonly files: Readonly<Record<string, string>> };
    await writeFile(join(root, "views/auth/login.edge"), files["views/auth/login.edge"]!);
    await edit(root, "config/auth.ts", ["verificationExpiresInMinutes", "verificationExpires"]);
    await commit(root);
    const { findings } = await doctor(root);
    expect(findings.find(({ id }) => id === "upgrade.pending")).toMatchObject({
      severity: "warning",
      problem:
        "The application is in the form of an earlier version. The upgrade writes: config/auth.ts, views/auth/login.edge.",
    });
    await mendAll(root, ["upgrade.pending", "boot.failed"], { isCode: true });
  });

  test("that the code uses in an unknown form is named with its line", async () => {
    const root = await copyOf(original);
    await writeFile(
      join(root, "tests/own.test.ts"),
      '// My own.\nimport { Migrations } from "ashlar/database";\n\nawait new Migrations().up();\n',
    );
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([
      {
        id: "upgrade.pending",
        problem: expect.stringContaining("tests/own.test.ts:2: ashlar/database has no Migrations"),
      },
    ]);
  });
});

describe("packages", () => {
  test("a missing lockfile is reported, and npm writes it", async () => {
    const root = folderWith({ "package.json": '{ "name": "shop", "private": true }' });
    const { findings } = await doctor(root);
    const found = findings.find(({ id }) => id === "package.lockfile")!;
    await mend(root, found);
    expect(idsOf(await doctor(root))).not.toContain("package.lockfile");
    shown.add("package.lockfile");
  });

  test("two copies of the framework are found anywhere, and links don't count as copies", async () => {
    const manifest = '{ "name": "ashlar" }';
    const root = folderWith({
      "package.json": "{}",
      "node_modules/ashlar/package.json": manifest,
      "node_modules/@shop/orders/node_modules/ashlar/package.json": manifest,
      "node_modules/stock/node_modules/other/package.json": "{}",
    });
    await symlink("../../ashlar", join(root, "node_modules/stock/node_modules/ashlar"));
    const copies = async () => (await doctor(root)).findings.find(({ id }) => id === "package.copies");
    expect((await copies())?.problem).toContain("node_modules/@shop/orders/node_modules/ashlar");
    expect((await copies())?.remedy.run).toBe("npm dedupe");
    await rm(join(root, "node_modules/@shop"), { recursive: true });
    expect(await copies()).toBeUndefined();
  });

  test.skipIf(!canInstall)("two installed copies become one", async () => {
    const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8"));
    const root = folderWith({
      "package.json": JSON.stringify({ private: true, dependencies: { ashlar: version, stock: "file:stock" } }),
      "stock/package.json": JSON.stringify({ name: "stock", version: "1.0.0", dependencies: { ashlar: version } }),
      ".npmrc": `${await npmSettings()}install-links = true\n`,
    });
    await sh(root, "npm install");
    await sh(
      root,
      "mkdir node_modules/stock/node_modules && cp -R node_modules/ashlar node_modules/stock/node_modules",
    );
    const ids = async (): Promise<string[]> => idsOf(await doctor(root)).filter((id) => id.startsWith("package."));
    const { findings } = await doctor(root);
    expect(await ids()).toEqual(["package.copies"]);
    await mend(root, findings.find(({ id }) => id === "package.copies")!);
    expect(await ids()).toEqual([]);
    shown.add("package.copies");
  });

  test.skipIf(!canInstall)("a Node.js that is too old is replaced in the application's scripts", async () => {
    const root = folderWith({
      "package.json": JSON.stringify({
        private: true,
        engines: { node: ">=26" },
        scripts: { doctor: `node "${COMMAND}" doctor --json` },
      }),
      ".npmrc": await npmSettings(),
    });
    const PATH = `${dirname(OLDEST_RUNTIME.path)}:${process.env.PATH}`;
    const found = async (): Promise<Finding | undefined> => {
      const { output } = await execute(root, "npm", ["run", "--silent", "doctor"], { PATH });
      return (JSON.parse(output) as DoctorReport).findings.find(({ id }) => id === "node.version");
    };
    const finding = await found();
    expect(finding?.problem).toBe(`package.json asks for Node.js >=26, and this is ${OLDEST_RUNTIME.version}.`);
    await mend(root, finding!);
    expect(await found()).toBeUndefined();
    shown.add("node.version");
  });

  test("an older Node.js than package.json allows is found", () => {
    expect(enginesProblem(">=24.7", "24.6.9")).toContain("asks for Node.js >=24.7, and this is 24.6.9");
    for (const [engines, version] of [
      [">=26", "24.7.0"],
      ["24.x || 26.x", "25.1.0"],
      [">=24.7 <27", "24.6.0"],
      ["^24.7.1", "24.7.0"],
    ] as const) {
      expect(enginesProblem(engines, version), engines).not.toBeNull();
    }
    for (const [engines, version] of [
      [">=24.7", "24.7.0"],
      [">=24.7", "26.0.0"],
      ["^24.7.1", "24.10.0"],
      // Newer than its folder's name says.
      ["^24.7.1", "26.0.0"],
      ["24.x || 26.x", "24.0.0"],
      [">=24.7", "27.0.0-nightly20261101"],
      ["lts/*", "24.7.0"],
      [null, "24.7.0"],
    ] as const) {
      expect(enginesProblem(engines, version)).toBeNull();
    }
  });
});

/** The variables of {@link packageRegistry}, as npm reads them from a file. */
async function npmSettings(): Promise<string> {
  const variables = Object.entries(await packageRegistry());
  return variables
    .map(([name, value]) => `${name.replace("npm_config_", "").replaceAll("_", "-")} = ${value}\n`)
    .join("");
}

/** Fixing these takes an npm install, which needs a registry. */
const INSTALLED: readonly string[] = ["node.version", "package.copies"];

/**
 * Tested elsewhere: in `test/redis/doctor.test.ts`, which has its own Redis server, in `doctor.test.ts` on PostgreSQL
 * and MariaDB, and in `cli/doctor/checks/`, where `uploads.test.ts` and `database-folder.test.ts` have their own disk.
 */
const ELSEWHERE: readonly string[] = [
  "database.folder",
  "database.replica",
  "database.collation",
  "database.engine",
  "database.index",
  "migrations.risk",
  "uploads.folder",
  "uploads.room",
  "limits.evicted",
];

test("every finding was planted, found, fixed as advised, and gone", () => {
  const left = Object.keys(ALL_FINDINGS).filter((id) => !shown.has(id));
  expect(left.filter((id) => canInstall || !INSTALLED.includes(id))).toEqual(ELSEWHERE);
});
