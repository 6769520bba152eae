import { expect, onTestFinished, test } from "vitest";
import { createAuthenticatorsTable } from "../../src/authenticators/index.ts";
import { type HttpContext, Route } from "../../src/public/index.ts";
import { authenticatorCode, freeze, travel, travelBack } from "../../src/testing/index.ts";
import { newSecret } from "../../src/two-factor/codes/one-time-codes.ts";
import { TwoFactorProvider } from "../../src/two-factor/index.ts";
import { ADA, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";
import { storeShop } from "../support/store-shop.ts";

const PAGES = [
  Route.get("/login/two_factor", () => "").name("two_factor"),
  Route.get("/login/two_factor/setup", () => "").name("two_factor.setup"),
  Route.post("/login/two_factor", async ({ auth }: HttpContext) => {
    return { status: (await (await auth.pendingLogin())?.resume())?.status ?? "none" };
  }),
];

/** Two applications on one database, as two processes are. */
async function twoApplications(engine: TestEngine): Promise<readonly [TestAccounts, TestAccounts]> {
  const options = { engine, providers: [TwoFactorProvider], routes: PAGES };
  const one = await testAccounts(options);
  await createAuthenticatorsTable(one.database.kysely);
  return [one, await testAccounts({ ...options, restarted: one })];
}

const servicesOf = ({ application }: TestAccounts) => application.container.make("twoFactor");

await onEachDatabase("S142 of twenty requests at once, to two applications,", (engine) => {
  test("one sets the app up, one logs in with a code, and one with a recovery code", async () => {
    freeze();
    onTestFinished(travelBack);
    const applications = await twoApplications(engine);
    const secret = newSecret();
    const twenty = Array.from({ length: 20 }, (_, index) => applications[index % 2]!);
    const added = await Promise.all(
      twenty.map(async (one) => servicesOf(one).totp.add(await one.user(), secret, authenticatorCode(secret))),
    );
    expect(added.toSorted()).toEqual(["added", ...Array(19).fill("taken")]);
    const ada = await applications[0].user();
    const codes = (await servicesOf(applications[0]).recoveryCodes.renew(ada))!;
    travel(0.5);
    for (const proof of [{ code: authenticatorCode(secret) }, { recovery_code: codes[0]! }]) {
      const visitors = await Promise.all(
        twenty.map(async (one, index) => {
          const visitor = one.visitor({ ip: `203.0.113.${index}` });
          await visitor.post("/login", { email: ADA.email, password: PASSWORD });
          return visitor;
        }),
      );
      const answers = await Promise.all(visitors.map((visitor) => visitor.post("/login/two_factor", proof)));
      const statuses = answers.map(({ body }) => (body as { status?: unknown }).status);
      expect(statuses.filter((status) => status === "complete")).toHaveLength(1);
      for (const name of ["login.step", "login.step.total"] as const) {
        await applications[0].application.container.make("throttle").reset(name, { account: ADA.email });
      }
    }
    expect(await servicesOf(applications[1]).recoveryCodes.left(ada)).toBe(9);
  });
});

test("users of an account store have second factors, too", async () => {
  freeze();
  onTestFinished(travelBack);
  const { accounts, cleo, store } = await storeShop({ providers: [TwoFactorProvider], routes: PAGES });
  await createAuthenticatorsTable(accounts.database.kysely);
  await cleo();
  const user = (await store.findByIdentifier("cleo@example.com"))!;
  const { recoveryCodes, totp } = servicesOf(accounts);
  const secret = newSecret();
  expect(await totp.add(user, secret, authenticatorCode(secret))).toBe("added");
  const [code] = (await recoveryCodes.renew(user))!;
  for (const [proof, status] of [
    [{ code: authenticatorCode(secret, 30) }, "complete"],
    [{ recovery_code: code! }, "complete"],
    [{ recovery_code: code! }, "pending"],
  ] as const) {
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: "cleo@example.com", password: PASSWORD });
    expect((await visitor.post("/login/two_factor", proof)).body).toEqual({ status });
  }
});
