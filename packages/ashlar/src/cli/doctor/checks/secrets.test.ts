import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { SECRETS } from "./secrets.ts";

const RANDOM = "x4Kq9ZrT2vLm8NwB6yHd3JfG7sPc5AeU1oViX0lRzQtWbYnMkSgDhFjCpEaOuIxv";

/** The ids of the findings about an application with this key. */
async function findingsOf(key: string): Promise<string[]> {
  const files = { ".env": `APP_ENV=development\nAPP_KEY=${key}\n`, ".env.example": "APP_KEY=\n" };
  const findings = await SECRETS.run(await subjectOf({ files }));
  return findings.map(({ id }) => id).filter((id) => id !== "env.mode");
}

test("a random key is not a finding", async () => {
  expect(await findingsOf(RANDOM)).toEqual([]);
});

test.for([
  ...["secret", "changeme", "change-me", "change_me", "change me", "password", "example", "placeholder"],
  ...["replace-", "replace_", "replace ", "your-", "your_", "your ", "default", "qwertyu", "abcdefg", "1234567"],
])("a key that contains %j is known, in any case", async (word) => {
  for (const text of [word, word.toUpperCase()]) {
    const key = `"${RANDOM.slice(0, 30)}${text}${RANDOM.slice(30)}"`;
    expect([text, await findingsOf(key)]).toEqual([text, ["secret.known"]]);
  }
});
