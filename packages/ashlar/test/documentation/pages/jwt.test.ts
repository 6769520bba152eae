// Compares the tables in the guide about JWT with the package's types, using TypeScript, and with the tokens that it
// refuses.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SigningKey, signJwt, tryVerifyJwt, VerificationKey } from "../../../src/public/jwt.ts";
import { generateSecret } from "../../../src/public/security.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { pageTables } from "../../support/page-tables.ts";

const PAGE = "docs/guides/jwt.md";

/** All names in the first column of a table. */
async function names(column: string): Promise<string[]> {
  const table = (await pageTables(PAGE)).find(({ columns }) => columns[0] === column)!;
  return table.rows.flatMap((row) => [...row[column]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
}

test("the page lists exactly the package's algorithms, options and reasons", async () => {
  const root = await generatedApplication({ pages: false });
  const union = (list: readonly string[]): string => list.map((name) => `"${name}"`).join(" | ");
  await writeFile(
    join(root, "reference.ts"),
    `
import type { JwtAlgorithm, JwtError, verifyJwt } from "ashlar/jwt";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
export const algorithms: Same<JwtAlgorithm, ${union(await names("Algorithm"))}> = true;
export const options: Same<keyof NonNullable<Parameters<typeof verifyJwt>[2]>, ${union(await names("Option"))}> = true;
export const reasons: Same<JwtError["reason"], ${union(await names("Reason"))}> = true;
`,
  );
  await checkTypes(root);
});

test("tokens are refused for the reasons that the page names", () => {
  const secret = generateSecret();
  const [key, other] = [new SigningKey("HS512", secret), new SigningKey("HS512", generateSecret())];
  const now = Math.floor(Date.now() / 1000);
  const base = { sub: "42", iss: "https://shop.example", aud: "stock" };
  const reason = (token: string, options: object = {}): unknown => {
    const outcome = tryVerifyJwt(token, new VerificationKey("HS512", secret), {
      issuer: "https://shop.example",
      audience: "stock",
      requireSubject: true,
      ...options,
    });
    return "failure" in outcome ? outcome.failure : "accepted";
  };
  expect([
    reason(signJwt(base, key)),
    reason(signJwt(base, key), { maxBytes: 10 }),
    reason("not a token"),
    reason(signJwt(base, new SigningKey("HS256", secret))),
    reason(signJwt(base, other)),
    reason(signJwt(base, key, { typ: "invitation+jwt" })),
    reason(signJwt({ ...base, sub: "" }, key)),
    reason(signJwt({ ...base, iss: "https://evil.example" }, key)),
    reason(signJwt({ ...base, aud: ["shop"] }, key)),
    reason(signJwt({ ...base, nbf: now + 60 }, key)),
    reason(signJwt({ ...base, nbf: now + 60 }, key), { clockSkewSeconds: 90 }),
    reason(signJwt({ ...base, exp: now - 1 }, key)),
    reason(signJwt({ ...base, exp: now - 1 }, key), { ignoreExpiry: true }),
  ]).toEqual([
    "accepted",
    "too_large",
    "malformed",
    "algorithm",
    "signature",
    "type",
    "subject",
    "issuer",
    "audience",
    "not_yet_valid",
    "accepted",
    "expired",
    "accepted",
  ]);
});
