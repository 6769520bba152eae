import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { driverSecretFindings } from "./driver-secrets.ts";

const ENVIRONMENT = pathToFileURL(join(import.meta.dirname, "../../../boot/environment/environment.ts")).href;

/** The findings about an application whose `config/api.ts` has these drivers. */
async function findingsOf(drivers: string, env = ""): Promise<string[]> {
  const code = `import { env } from ${JSON.stringify(ENVIRONMENT)};\nexport const DRIVERS = ${drivers};\n`;
  const subject = await subjectOf({ files: { ".env": `APP_ENV=development\n${env}`, "config/api.ts": code } });
  return driverSecretFindings(subject).map(({ problem, remedy }) => [problem, ...remedy.lines, remedy.run].join(" "));
}

test("a driver without a secret is reported with the variable that it reads", async () => {
  const admin = `admin: { secret: env("BACKOFFICE_SECRET") }`;
  const drivers = `{ ${admin}, old: { algorithm: "HS256", secret: env("OLD_SECRET", "") }, set: { secret: env("SET") } }`;
  expect(await findingsOf(drivers, "SET=x\n")).toEqual([
    "BACKOFFICE_SECRET is not set: DRIVERS.admin needs a secret. npx ashlar key:generate",
    "OLD_SECRET is not set: DRIVERS.old needs a secret. npx ashlar key:generate",
  ]);
});

test("for a driver that doesn't read its secret from a variable, the line that does is proposed", async () => {
  expect(await findingsOf(`{ "back-office": { secret: null } }`)).toEqual([
    expect.stringMatching(
      /^DRIVERS\.back-office has no secret, and reads none from a variable\. .*env\("BACK_OFFICE_JWT_SECRET"\)/,
    ),
  ]);
  const jwt = "{ jwt: { secret: null } }";
  expect(await findingsOf(jwt, "JWT_SECRET=x\n")).toEqual([expect.stringContaining('secret: env("JWT_SECRET"),')]);
  expect(await findingsOf(jwt)).toEqual([]);
});

test("a secret that is found elsewhere, not needed, or unknown is not a finding", async () => {
  expect(await findingsOf(`{ jwt: { secret: env("JWT_SECRET") } }`)).toEqual([]);
  expect(await findingsOf(`{ jwt: { secret: env("OTHER_SECRET") } }`)).toHaveLength(1);
  expect(await findingsOf(`{ admin: { secret: env("JWT_SECRET") } }`)).toHaveLength(1);
  const pair = `pair: { algorithm: "ES256", secret: null }`;
  expect(await findingsOf(`{ idp: { jwks: "https://id.example/jwks.json" }, ${pair}, none: null }`)).toEqual([]);
  expect(await findingsOf("notDeclared()")).toEqual([]);
});
