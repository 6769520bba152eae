import { expect, test } from "vitest";
import { subjectOf } from "../../../test/support/subject.ts";
import { featureChecksOf } from "../../cli/doctor/feature-checks.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

/** The findings about API tokens with these settings, as `severity id`. */
async function withTokens(settings: string, isProduction: boolean): Promise<string[]> {
  const provider = JSON.stringify(new URL("../api-provider.ts", import.meta.url).href);
  const files = {
    ".env": "APP_ENV=development\n",
    "config/api.ts": `export const DRIVERS = { jwt: ${settings} };\n`,
    "config/providers.ts": `import { ApiProvider } from ${provider};\nexport const PROVIDERS = [ApiProvider];\n`,
  };
  const subject = await subjectOf({ files, isProduction });
  const findings: Finding[] = [];
  for (const check of featureChecksOf(subject)) findings.push(...(await check.run(subject)));
  return findings.filter(({ id }) => id.startsWith("tokens.")).map(({ id, severity }) => `${severity} ${id}`);
}

test("tokens that neither expire nor can be revoked are an error in production", async () => {
  const immortal = "{ expires: null, authenticates: false }";
  expect(await withTokens(immortal, true)).toEqual(["error tokens.immortal"]);
  expect(await withTokens(immortal, false)).toEqual(["warning tokens.immortal"]);
  expect(await withTokens("{ expires: null, authenticates: true }", true)).toEqual(["warning tokens.immortal"]);
  expect(await withTokens("{ expires: 60, authenticates: true }", true)).toEqual([]);
});
