import { expect, test } from "vitest";
import { DEFAULT_HASHER } from "../../src/security/index.ts";
import { ADA, NEW_PASSWORD, type TestAccounts, testAccounts, type Visitor } from "../support/account-application.ts";
import { testApi } from "../support/api-application.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { onEachDatabase } from "../support/services.ts";

/** One password, as two browsers send it. */
const [NFC, NFD] = ["gr\u00fcner B\u00e4r am See", "gru\u0308ner Ba\u0308r am See"] as const;
const EVE = { name: "Eve", email: "eve@example.com" };

async function register(accounts: TestAccounts, typed: string, confirmed = typed): Promise<Visitor> {
  const visitor = accounts.visitor();
  const sent = { ...EVE, password: typed, password_confirmation: confirmed };
  expect((await visitor.post("/register", sent)).headers.get("location")).toBe("/email/verify/notice");
  return visitor;
}

test.for([
  ["NFC", NFC, NFD],
  ["NFD", NFD, NFC],
] as const)(
  "S170 every page accepts a password that was set in %s when it is typed in the other form",
  async ([, set, typed]) => {
    const accounts = await testAccounts();
    const visitor = await register(accounts, set, typed);
    await accounts.loggedIn(EVE, typed);
    const confirmed = await visitor.post("/confirm_password", { password: typed });
    expect(confirmed.headers.get("location")).toBe("/home");
    const changed = await visitor.post("/account/email", { email: "eve@other.example", password: typed });
    expect(changed.status).toBe(302);
    const current = { current_password: typed, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await visitor.post("/account/password", current)).headers.get("location")).toBe("/home");
  },
);

test.for([
  ["NFC", NFC, NFD],
  ["NFD", NFD, NFC],
] as const)(
  "S170 a password that a reset set in %s logs in in the other form, which is not a new password",
  async ([, set, typed]) => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await accounts.visitor().post("/password_reset", { token, password: set, password_confirmation: typed });
    const visitor = await accounts.loggedIn(ADA, typed);
    const again = { current_password: set, password: typed, password_confirmation: typed };
    const refused = await visitor.post("/account/password", again, { accept: "application/json" });
    expect([refused.status, Object.keys(sentencesIn(refused.body) ?? {})]).toEqual([422, ["password"]]);
  },
);

test("S170 the token endpoint accepts a password in both forms", async () => {
  const api = await testApi();
  const user = (await api.User.find(1))!;
  await user.setPassword(NFD);
  await user.save();
  for (const password of [NFC, NFD]) {
    expect((await api.post("/api/auth", { username: ADA.email, password })).status).toBe(200);
  }
});

test("S170 length and the list of common passwords apply to the normal form", async () => {
  const accounts = await testAccounts();
  // Eight bytes as typed, seven in NFC.
  const user = await accounts.user();
  await expect(user.setPassword("abcdee\u0301")).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
  // 1120 bytes as typed, 800 in NFC.
  const long = "e\u0301a\u0300o".repeat(160);
  await user.setPassword(long);
  expect(await DEFAULT_HASHER.verify(user.passwordHash(), long.normalize("NFC"))).toBe(true);
});

await onEachDatabase("a hash of a password that was not normalized", (engine) => {
  test("S170 verifies as it was typed, is renewed by the login, and ends no other login", async () => {
    const accounts = await testAccounts({ engine });
    const before = await DEFAULT_HASHER.hash(NFD);
    await accounts.User.where("id", ADA.id).update({ password: before });
    const visitor = await accounts.loggedIn(ADA, NFD);
    expect((await accounts.user()).passwordHash()).not.toBe(before);
    await accounts.loggedIn(ADA, NFC);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
  });
});
