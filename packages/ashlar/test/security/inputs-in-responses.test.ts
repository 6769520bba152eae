import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Route } from "../../src/routing/index.ts";
import { Browser, sessionApplication } from "../support/session-application.ts";

const SENT = "Hunter-Two-Secret";
const EXPECTED = "731946-by-mail";

/** Schemas that compare a password, a code with the author's own sentence, and a field with a harmless name. */
const SCHEMAS = {
  valibot: v.object({
    password: v.literal(EXPECTED),
    code: v.literal(EXPECTED, "Wrong code."),
    note: v.pipe(v.string(), v.email()),
  }),
  zod: z.object({
    password: z.literal(EXPECTED),
    code: z.literal(EXPECTED, "Wrong code."),
    note: z.string().refine(() => false, { error: ({ input }) => `${String(input)} is not an address.` }),
  }),
};

const FORM = `<form method="post">{{ csrf_field }}</form>
@each((problems, field) in errors)
<p>{{ field }}: {{ problems.map(({ message }) => message).join() }}</p>
@end`;

describe.each([
  ["valibot", "literal"],
  ["zod", "invalid_value"],
] as const)("S60 a wrong password that %s refuses", (library, rule) => {
  /** A visitor of an application with the form, and all stored session data. */
  async function visitor() {
    const application = await sessionApplication({
      routes: [Route.view("/form", "form"), Route.post("/form", ({ request }) => request.validate(SCHEMAS[library]))],
      views: { form: FORM },
      session: { store: "database" },
      languages: ["de"],
    });
    const { kysely } = application.container.make("database");
    const browser = new Browser(application);
    await browser.open("/form");
    return { browser, stored: () => kysely.selectFrom("session_data").selectAll().execute() };
  }

  const sent = (browser: Browser) => ({ __token: browser.token, password: SENT, code: "123456", note: "my own note" });

  test("is not in the response to an API client, nor is the value it is compared with", async () => {
    const { browser } = await visitor();
    const { status, text } = await browser.post("/form", sent(browser), { headers: { accept: "application/json" } });
    const invalid = (name: string) => [
      { rule: "input.invalid", params: { name }, message: `The field "${name}" is not valid.` },
    ];
    expect([status, (JSON.parse(text) as { errors: unknown }).errors]).toEqual([
      422,
      { password: invalid("password"), code: [{ rule, params: {}, message: "Wrong code." }], note: invalid("note") },
    ]);
  });

  test("is not on the page, which is in the visitor's language, or in the stored session", async () => {
    const { browser, stored } = await visitor();
    expect((await browser.post("/form", sent(browser))).status).toBe(303);
    const sessions = JSON.stringify(await stored());
    // The session stores the sentences, which would contain the password.
    expect(sessions).toContain("Wrong code.");
    expect(sessions).toContain("input.invalid");
    expect(sessions).not.toMatch(/Hunter|731946/);
    const { text } = await browser.send("/form", { headers: { "accept-language": "de" } });
    expect(text.match(/<p>.*<\/p>/g)).toEqual([
      "<p>password: Das Feld „password“ ist ungültig.</p>",
      "<p>code: Wrong code.</p>",
      "<p>note: Das Feld „note“ ist ungültig.</p>",
    ]);
  });
});
