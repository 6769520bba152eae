import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { setVariables } from "../support/doctor.ts";
import { COMMAND, edit, execute, generatedApplication } from "../support/generated-application.ts";

/** An application whose `config/api.ts` has these drivers. */
async function applicationWith(drivers: string, before = ""): Promise<string> {
  const root = await generatedApplication();
  await writeFile(
    join(root, "config/api.ts"),
    `import { env } from "ashlar";\n${before}\nexport const DRIVERS = {\n${drivers}\n};\n`,
  );
  return root;
}

async function envOf(root: string) {
  return parseEnv(await readFile(join(root, ".env"), "utf8"));
}

const UNCHANGED = /^\.env already has an APP_KEY, which was not changed\./;

describe("key:generate", () => {
  test.for([
    ["read from the next variable", 'jwt: { secret: env("API_JWT_SECRET") ?? env("JWT_SECRET") },'],
    [
      "of a driver that a variable would switch on",
      '...(env("PARTNER") ? { partner: { secret: env("PARTNER") } } : {}),',
    ],
    ["made of two variables", 'jwt: { secret: [env("A_SECRET"), env("B_SECRET")].join("-") },'],
    ["made of a variable and text", 'jwt: { secret: env("A_SECRET") + "pepper" },'],
  ])("S12 writes nothing for a secret %s", async ([, drivers]) => {
    const root = await applicationWith(drivers!);
    const before = await readFile(join(root, ".env"), "utf8");
    expect(await ashlar(root, "key:generate")).toEqual({
      code: 0,
      output: expect.stringMatching(UNCHANGED),
      errors: "",
    });
    expect(await readFile(join(root, ".env"), "utf8")).toBe(before);
  });

  test("creates a key for a driver's algorithm, whatever its variable", async () => {
    const root = await applicationWith(
      'jwt: { algorithm: env("JWT_ALGORITHM") ?? "ES256", secret: env("FILE") ? readFileSync(env("FILE")) : env("KEY", "") },',
      'import { readFileSync } from "node:fs";',
    );
    expect(await ashlar(root, "key:generate")).toEqual({ code: 0, output: "KEY was written to .env.", errors: "" });
    expect((await envOf(root)).KEY).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  test("names the driver that reads its secret from no variable, and creates the others", async () => {
    const root = await applicationWith(
      'idp: { jwks: "https://id.example" }, back: { secret: "" }, signed: { algorithm: "ES256", secret: null }, ' +
        'admin: { secret: env("ADMIN_SECRET") }',
    );
    const { code, output, errors } = await ashlar(root, "key:generate");
    expect([code, output]).toEqual([0, "ADMIN_SECRET was written to .env."]);
    expect(errors.split("\n")).toEqual([
      'DRIVERS.back of config/api.ts has no secret, and reads none from a variable, so none was written. Write there: secret: env("BACK_JWT_SECRET"). Then run: npx ashlar key:generate',
      'DRIVERS.signed of config/api.ts has no secret, and reads none from a variable, so none was written. Write there: secret: env("SIGNED_PRIVATE_KEY"). Then run: npx ashlar key:generate',
    ]);
  });

  test.for([[[]], [["--jwt", "ES256", "--driver", "signed"]]] as const)(
    "S12 replaces the values in .env.example of all drivers' secrets: %j",
    async ([options]) => {
      const known = generateSecret();
      const root = await applicationWith(
        'jwt: { secret: env("JWT_SECRET") }, admin: { secret: env("ADMIN_SECRET") }, ' +
          'signed: { algorithm: "ES256", secret: env("SIGNED_KEY") }',
      );
      await rm(join(root, ".env"));
      const names = ["APP_KEY", "JWT_SECRET", "ADMIN_SECRET", "SIGNED_KEY"];
      await writeFile(
        join(root, ".env.example"),
        `${names.map((name) => `${name}=${known}\n`).join("")}MAIL_FROM=${known}\n`,
      );
      expect((await ashlar(root, "key:generate", ...options)).output).toMatch(
        /^Created \.env from \.env\.example\. APP_KEY, JWT_SECRET, ADMIN_SECRET and SIGNED_KEY were written to it\./,
      );
      const variables = await envOf(root);
      expect(Object.keys(variables).filter((name) => variables[name] === known)).toEqual(["MAIL_FROM"]);
      expect(new Set(names.map((name) => variables[name])).size).toBe(4);
      expect(variables.SIGNED_KEY).toContain("PRIVATE KEY");
    },
  );

  test.for([
    ["a variable that is there twice", "ADMIN_SECRET=\nADMIN_SECRET=\n"],
    ["a quote that isn't closed", 'NOTE="abc\n'],
    ["old line ends", "A=1\rADMIN_SECRET=\rB=2\r"],
  ])("fails with %s in .env, gives the reason, and changes nothing", async ([, text]) => {
    const root = await applicationWith('admin: { algorithm: "ES256", secret: env("ADMIN_SECRET") }');
    const before = `${await readFile(join(root, ".env"), "utf8")}${text}`;
    await writeFile(join(root, ".env"), before);
    const { code, output, errors } = await ashlar(root, "key:generate");
    expect([code, output]).toEqual([1, ""]);
    expect(errors).toMatch(/^\.env was not changed\. ADMIN_SECRET is set twice, or appears inside another value/);
    expect(await readFile(join(root, ".env"), "utf8")).toBe(before);
  });

  test("ends even if a module of the application keeps the process busy", async () => {
    const root = await applicationWith('admin: { secret: env("ADMIN_SECRET") }', "setInterval(() => {}, 1000);");
    expect(await execute(root, process.execPath, [COMMAND, "key:generate"])).toEqual({
      code: 0,
      output: "ADMIN_SECRET was written to .env.\n",
    });
  });
});

describe("key:generate --jwt", () => {
  const KEYS = 'nextSecret: env("NEXT"), previousSecrets: env("FORMER")';
  const DRIVERS = `"partner-jwt": { algorithm: "ES256", secret: env("PARTNER_KEY") },
  jwt: { algorithm: "ES256", secret: key, ${KEYS} },
  admin: { algorithm: "ES256", secret: env("ADMIN_KEY") },`;

  test("S101 changes the named driver's keys, in the variables that the driver reads", async () => {
    const root = await applicationWith(DRIVERS, 'const key = env("KEY");');
    await ashlar(root, "key:generate");
    const before = await envOf(root);
    const { code, output } = await ashlar(root, "key:generate", "--jwt", "ES256", "--rotate");
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^\.env has a new KEY, .* is now first in FORMER\. .*accepted\.$/),
    ]);
    await ashlar(root, "key:generate", "--jwt", "ES256", "--rotate", "--stage");
    const { KEY, NEXT, FORMER, ...others } = await envOf(root);
    const { KEY: old, ...unchanged } = before;
    expect({ ...others }).toEqual({ ...unchanged });
    expect(KEY).not.toBe(old);
    expect([NEXT, FORMER]).toEqual([expect.stringContaining("PRIVATE KEY"), expect.stringContaining("PUBLIC KEY")]);
  });

  test("leaves the secret of a driver that will sign with a key", async () => {
    const root = await applicationWith('admin: { secret: env("ADMIN_SECRET"), nextSecret: env("ADMIN_NEXT_SECRET") }');
    await ashlar(root, "key:generate");
    const { output } = await ashlar(root, "key:generate", "--jwt", "ES256", "--driver", "admin");
    expect(output).toMatch(/^ADMIN_PRIVATE_KEY was written to \.env/);
    expect(output).toContain('nextSecret: env("ADMIN_NEXT_KEY"),');
  });

  test("refuses a driver that doesn't read its key from a variable, or has no key", async () => {
    const root = await applicationWith(
      'jwt: { algorithm: "ES256", secret: "" }, idp: { jwks: "https://id.example" }, admin: { secret: env("ADMIN_KEY") }',
    );
    const before = await readFile(join(root, ".env"), "utf8");
    expect(await ashlar(root, "key:generate", "--jwt", "ES256")).toEqual({
      code: 1,
      output: "",
      errors:
        ".env was not changed. DRIVERS.jwt of config/api.ts reads its secret from no variable. " +
        'Write there: secret: env("JWT_PRIVATE_KEY"). Then run this again.',
    });
    expect((await ashlar(root, "key:generate", "--jwt", "ES256", "--driver", "idp")).errors).toBe(
      "DRIVERS.idp accepts the tokens of another issuer, and doesn't have its own key.",
    );
    expect(await readFile(join(root, ".env"), "utf8")).toBe(before);
  });

  test("reads the text of a file that can't be loaded, and refuses an unclear case", async () => {
    const root = await applicationWith(DRIVERS, 'const key = env("KEY");');
    await ashlar(root, "key:generate");
    await setVariables(root, "JWT_PRIVATE_KEY=");
    await edit(root, "config/api.ts", ["const key", 'throw new Error("not today");\nconst key']);
    const before = await envOf(root);
    const refused = await ashlar(root, "key:generate", "--jwt", "ES256", "--rotate");
    expect(refused.code).toBe(1);
    expect(refused.errors).toMatch(
      /^\.env was not changed\. config\/api\.ts can't be loaded, and its text doesn't tell the variable of DRIVERS\.jwt\. .*not today/,
    );
    expect(await envOf(root)).toEqual(before);
    expect((await ashlar(root, "key:generate", "--jwt", "ES256", "--driver", "admin", "--rotate")).output).toMatch(
      /^\.env has a new ADMIN_KEY, /,
    );
  });
});
