import fc from "fast-check";
import { expect, test } from "vitest";
import { ADA, PASSWORD, testAccounts } from "../../../../test/support/account-application.ts";
import { anyText } from "../../../../test/support/any-text.ts";

/** Values that a form never sends, but an attacker might. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  anyText({ maxLength: 300 }),
  fc.constantFrom(ADA.email, PASSWORD, "", "\0", "\ud800", "__proto__", "1 or 1=1", "'--", "a".repeat(5000)),
);

const FIELDS = [
  ["/register", ["name", "email", "password", "password_confirmation", "__proto__", "id", "verified_at"]],
  ["/change_password", ["email"]],
  ["/password_reset", ["token", "password", "password_confirmation"]],
  ["/account/password", ["current_password", "password", "password_confirmation"]],
  ["/account/email", ["email", "password"]],
  ["/confirm_password", ["password"]],
] as const;

test.each(FIELDS)(
  "S36 POST %s accepts any value for its fields, and responds with a success or a 4xx",
  async (path, fields) => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    const sent = fc.record(Object.fromEntries(fields.map((field) => [field, anything])), { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(sent, async (body) => {
        // These inputs change the password, as they should.
        fc.pre(body.current_password !== PASSWORD || body.password !== body.password_confirmation);
        const { status } = await visitor.post(path, body, { accept: "application/json" });
        expect([200, 201, 202, 400, 403, 410, 422]).toContain(status);
      }),
      { numRuns: 60 },
    );
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  },
);

test("S38 S39 a link with any other value instead of its token has no effect", async () => {
  const accounts = await testAccounts();
  const visitor = accounts.visitor();
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }), async (text) => {
      fc.pre(text.isWellFormed());
      const token = encodeURIComponent(text);
      const path = `/email/verify/${token}`;
      for (const { status, headers } of [await visitor.get(path), await visitor.post(path)]) {
        expect([302, 303, 400, 404, 405, 200]).toContain(status);
        expect(headers.get("location") ?? "/email/verify/notice").toBe("/email/verify/notice");
      }
    }),
  );
  expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
});
