import { createPrivateKey } from "node:crypto";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import {
  COMMAND,
  edit,
  freePort,
  generatedApplication,
  passesItsOwnChecks,
  serve,
} from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";

/** An application as in its repository, without the files in `.gitignore`. */
async function clonedApplication(options: Parameters<typeof generatedApplication>[0] = {}): Promise<string> {
  const root = await generatedApplication(options);
  await rm(join(root, ".env"));
  return root;
}

/** The lines of a file with the values of variables left out. */
const outline = (text: string, names: readonly string[]): string =>
  names.reduce((rest, name) => rest.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=`), text);

describe("without .env", () => {
  test.for([
    { pages: true, api: true },
    { pages: true, api: false },
    { pages: false, api: true },
  ] as const)("an application passes its own types and tests: %j", async (options) => {
    await passesItsOwnChecks(await clonedApplication(options), options);
  });

  test("an application passes its own tests with a private key, and with drivers that have separate secrets", async () => {
    const root = await clonedApplication();
    await edit(root, "config/api.ts", ['algorithm: "HS512"', 'algorithm: "ES256"'], ["JWT_SECRET", "JWT_PRIVATE_KEY"]);
    await edit(
      root,
      "config/api.ts",
      ["import type { DriversSettings }", "import { type DriversSettings, many }"],
      [
        "} satisfies",
        '  admin: { secret: env("BACKOFFICE_SECRET"), model: User, tokens: many(), issuer: "admin" },\n} satisfies',
      ],
    );
    await ashlar(root, "api:install", "--many", "--migrations");
    await rm(join(root, ".env"), { force: true });
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test("startup fails, and the error names the command to run", async () => {
    const root = await clonedApplication();
    await expect(serve(root)).rejects.toThrow(
      "The application ended: code 1, signal null:\nEnvironment variable APP_KEY: is not set, and the keys of signed URLs and cookies are " +
        "derived from it. Run: npx ashlar key:generate\n",
    );
  });

  test("startup fails without JWT_SECRET too, and the error names the same command", async () => {
    const root = await clonedApplication();
    await ashlar(root, "key:generate");
    const env = await readFile(join(root, ".env"), "utf8");
    await writeFile(join(root, ".env"), env.replace(/^JWT_SECRET=.*$/m, "JWT_SECRET="));
    await expect(serve(root)).rejects.toThrow(
      /DRIVERS\.jwt\.secret: is missing\. .*JWT_SECRET.*\. Run: npx ashlar key:generate\n$/,
    );
  });
});

describe("key:generate", () => {
  test("S12 creates .env from .env.example, with its comments and order, and fills in every secret", async () => {
    const root = await clonedApplication();
    const { code, output, errors } = await ashlar(root, "key:generate");
    const [env, example] = await Promise.all(
      [".env", ".env.example"].map((name) => readFile(join(root, name), "utf8")),
    );
    const secrets = parseEnv(env!);
    for (const name of ["APP_KEY", "JWT_SECRET"]) {
      expect(Buffer.from(secrets[name]!, "base64url")).toHaveLength(64);
      expect(output + errors).not.toContain(secrets[name]);
    }
    expect(secrets.APP_KEY).not.toBe(secrets.JWT_SECRET);
    expect(outline(env!, ["APP_KEY", "JWT_SECRET"])).toBe(example);
    expect([code, output]).toEqual([0, "Created .env from .env.example. APP_KEY and JWT_SECRET were written to it."]);
    expect((await stat(join(root, ".env"))).mode & 0o777).toBe(0o600);
  });

  test("creates the secrets that the application uses, and no others", async () => {
    const root = await clonedApplication({ api: false });
    const written = { output: "Created .env from .env.example. APP_KEY was written to it.", errors: "" };
    expect(await ashlar(root, "key:generate")).toMatchObject(written);
    await rm(join(root, ".env"));
    await writeFile(join(root, "config/api.ts"), "export const PERSONAL = { secret: null };\n");
    expect(await ashlar(root, "key:generate")).toMatchObject({ code: 0, errors: "" });
    await rm(join(root, ".env"));
    await writeFile(join(root, "config/api.ts"), "export const DRIVERS = { jwt: null };\n");
    expect(await ashlar(root, "key:generate")).toMatchObject({ code: 0, errors: "" });
    await rm(join(root, "config/api.ts"));
    expect(await readFile(join(root, ".env"), "utf8")).not.toContain("JWT_SECRET");
  });

  test("S12 fills in missing variables, and keeps existing ones", async () => {
    const root = await generatedApplication();
    const before = await readFile(join(root, ".env"), "utf8");
    await writeFile(join(root, ".env"), before.replace(/^JWT_SECRET=.*$/m, "JWT_SECRET="));
    expect((await ashlar(root, "key:generate")).output).toBe("JWT_SECRET was written to .env.");
    const after = await readFile(join(root, ".env"), "utf8");
    expect(parseEnv(after).JWT_SECRET).toMatch(/^[\w-]{86}$/);
    expect(parseEnv(after).JWT_SECRET).not.toBe(parseEnv(before).JWT_SECRET);
    expect(outline(after, ["JWT_SECRET"])).toBe(outline(before, ["JWT_SECRET"]));
  });

  test("finds the API's secret in config/api.ts, if .env.example does not contain it", async () => {
    const root = await clonedApplication();
    await rm(join(root, ".env.example"));
    expect((await ashlar(root, "key:generate")).output).toBe("APP_KEY and JWT_SECRET were written to .env.");
  });

  test("creates the private key that the API reads, so that a clone starts as its README says", async () => {
    const root = await clonedApplication();
    await edit(root, "config/api.ts", ['algorithm: "HS512"', 'algorithm: "ES256"'], ["JWT_SECRET", "JWT_PRIVATE_KEY"]);
    const readme = await readFile(join(root, "README.md"), "utf8");
    const commands = /## On another machine\n\n([\s\S]*?)\n\n/
      .exec(readme)![1]!
      .split("\n")
      .map((line) => line.trim());
    expect(commands.slice(2)).toEqual([
      "npm install",
      "npx ashlar key:generate",
      "npm test",
      "npm run migrate",
      "npm run dev",
    ]);
    const { output } = await ashlar(root, "key:generate");
    expect(output).toBe("Created .env from .env.example. APP_KEY, JWT_SECRET and JWT_PRIVATE_KEY were written to it.");
    const { JWT_PRIVATE_KEY: key } = parseEnv(await readFile(join(root, ".env"), "utf8"));
    expect(createPrivateKey(key!).asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    await passesItsOwnChecks(root, { pages: true, api: true });
    await ashlar(root, "migrate");
    expect((await fetch((await serve(root)).url)).status).toBe(200);
  });

  test("refuses --driver without --jwt, and says that they go together", async () => {
    const root = await generatedApplication();
    const before = await readFile(join(root, ".env"), "utf8");
    const { code, errors } = await ashlar(root, "key:generate", "--driver", "admin");
    expect([code, errors]).toEqual([1, expect.stringContaining("--driver goes with --jwt, such as --jwt ES256.")]);
    expect(await readFile(join(root, ".env"), "utf8")).toBe(before);
  });

  test("says why it creates no driver secrets if their configuration can't be loaded", async () => {
    const root = await clonedApplication();
    await writeFile(join(root, "config/api.ts"), 'throw new Error("not today");\n');
    const { code, output, errors } = await ashlar(root, "key:generate");
    expect([code, output]).toEqual([0, "Created .env from .env.example. APP_KEY and JWT_SECRET were written to it."]);
    expect(errors).toContain("config/api.ts can't be loaded, so no secrets were written for its drivers.");
    expect(errors).toContain("not today");
  });

  test("api:install creates .env from .env.example too", async () => {
    const root = await clonedApplication({ api: false });
    const { output } = await ashlar(root, "api:install");
    expect(output).toContain("Created .env from .env.example. APP_KEY and JWT_SECRET were written to it.");
    expect(parseEnv(await readFile(join(root, ".env"), "utf8"))).toMatchObject({
      DATABASE_CONNECTION: "sqlite",
      JWT_SECRET: expect.stringMatching(/^[\w-]{86}$/),
    });
  });
});

test("in development, a warning about pending migrations follows once the application listens", async () => {
  const root = await generatedApplication();
  const child = startProcess(root, process.execPath, [COMMAND, "serve"], { PORT: String(await freePort()) });
  await child.printed(/ is listening on /);
  await child.printed(/Migrations have not been run on this database\. Run: npx ashlar migrate/);
});

test("in development without APP_URL, the verification mail links to the URL where the application listens", async () => {
  const root = await generatedApplication();
  await ashlar(root, "migrate");
  const { url } = await serve(root, { APP_URL: "" });
  const page = await fetch(`${url}register`);
  const cookie = page.headers.getSetCookie().map((line) => line.split(";")[0]);
  const [, token] = /name="__token" value="([^"]+)"/.exec(await page.text()) ?? [];
  const password = "a password of hers";
  const registered = await fetch(`${url}register`, {
    method: "POST",
    headers: { cookie: cookie.join("; "), origin: new URL(url).origin },
    body: new URLSearchParams({
      __token: token!,
      name: "Ada",
      email: "ada@example.com",
      password,
      password_confirmation: password,
    }),
    redirect: "manual",
  });
  expect([registered.status, registered.headers.get("location")]).toEqual([302, "/email/verify/notice"]);
  await expect.poll(async () => await (await fetch(`${url}dev/mailbox.json`)).text()).toContain(`${url}email/verify/`);
});
