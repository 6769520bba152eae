import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { LIFETIMES } from "./lifetimes.ts";

/** The findings about API tokens with these settings, as `severity id`. */
async function withTokens(settings: string, isProduction: boolean): Promise<string[]> {
  const files = { ".env": "APP_ENV=development\n", "config/api.ts": `export const DRIVERS = { jwt: ${settings} };\n` };
  const findings = await LIFETIMES.run(await subjectOf({ files, isProduction }));
  return findings.filter(({ id }) => id.startsWith("tokens.")).map(({ id, severity }) => `${severity} ${id}`);
}

test("tokens that neither expire nor can be revoked are an error in production", async () => {
  const immortal = "{ expires: null, authenticates: false }";
  expect(await withTokens(immortal, true)).toEqual(["error tokens.immortal"]);
  expect(await withTokens(immortal, false)).toEqual(["warning tokens.immortal"]);
  expect(await withTokens("{ expires: null, authenticates: true }", true)).toEqual(["warning tokens.immortal"]);
  expect(await withTokens("{ expires: 60, authenticates: true }", true)).toEqual([]);
});
