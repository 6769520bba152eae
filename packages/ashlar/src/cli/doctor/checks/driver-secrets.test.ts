import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { driverSecretFindings, type UnsetVariables } from "./driver-secrets.ts";

/** The findings about an application with these drivers, whose variables that are not set are these. */
async function findingsOf(
  drivers: object,
  unset: Readonly<Record<string, string>> | null,
  env = "",
): Promise<string[]> {
  const files = { ".env": env, "config/api.ts": `export const DRIVERS = ${JSON.stringify(drivers)};\n` };
  const variables: UnsetVariables | null = unset === null ? null : new Map(Object.entries(unset));
  const findings = driverSecretFindings(await subjectOf({ files }), variables);
  return findings.map(({ problem, remedy }) => [problem, ...remedy.lines, remedy.run].join(" "));
}

test("a driver without a secret is named, with the variable that it reads", async () => {
  const drivers = { admin: { secret: null }, old: { algorithm: "HS256", secret: "" }, set: { secret: "x" } };
  expect(await findingsOf(drivers, { admin: "BACKOFFICE_SECRET", old: "OLD_SECRET" })).toEqual([
    "BACKOFFICE_SECRET is not set: DRIVERS.admin needs a secret. npx ashlar key:generate",
    "OLD_SECRET is not set: DRIVERS.old needs a secret. npx ashlar key:generate",
  ]);
});

test("a driver that reads its secret from no variable gets the line that does", async () => {
  const jwt = { jwt: { secret: null } };
  expect(await findingsOf({ "back-office": { secret: null } }, {})).toEqual([
    "DRIVERS.back-office has no secret, and reads none from a variable. // in DRIVERS.back-office: " +
      'secret: env("BACK_OFFICE_JWT_SECRET"), npx ashlar key:generate',
  ]);
  expect(await findingsOf(jwt, {}, "JWT_SECRET=x")).toEqual([
    expect.stringContaining('// in DRIVERS.jwt: secret: env("JWT_SECRET"),'),
  ]);
  expect(await findingsOf(jwt, {})).toEqual([]);
});

test("what is found elsewhere, needs no secret, or can't be told is no finding", async () => {
  expect(await findingsOf({ jwt: { secret: null } }, { jwt: "JWT_SECRET" })).toEqual([]);
  expect(await findingsOf({ jwt: { secret: null } }, { jwt: "OTHER_SECRET" })).toHaveLength(1);
  expect(await findingsOf({ admin: { secret: null } }, { admin: "JWT_SECRET" })).toHaveLength(1);
  const others = {
    idp: { jwks: "https://id.example/jwks.json" },
    pair: { algorithm: "ES256", secret: null },
    none: null,
  };
  expect(await findingsOf(others, {})).toEqual([]);
  expect(await findingsOf({ admin: { secret: null } }, null)).toEqual([]);
});
