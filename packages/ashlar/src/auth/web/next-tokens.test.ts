import { afterEach, expect, test } from "vitest";
import {
  ADA,
  BOB,
  NEW_PASSWORD,
  PASSWORD,
  pathIn,
  type TestAccounts,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { freeze, travelBack } from "../../testing/index.ts";

afterEach(travelBack);

const MINUTE = 60_000;
const START = Date.parse("2030-01-01T00:00:00.000Z");

const provedAt = async ({ auth }: HttpContext) => (await auth.webGuard.confirmedAt())?.getTime() ?? null;
const change = (context: HttpContext, password = NEW_PASSWORD) => {
  return context.accounts.changePassword(PASSWORD, password, password);
};

/** The path of a link that verifies the address of the request's user, as it is now. */
async function linkFor({ auth, mail, request }: HttpContext, accounts: TestAccounts): Promise<string> {
  await accounts.mails();
  await ((await auth.user()) as unknown as InstanceType<TestAccounts["User"]>).verifyEmail(mail, request);
  return pathIn((await accounts.mails()).at(-1));
}

await onEachDatabase("a login whose request changes it more than once", (engine) => {
  /** An application with the route `/several`. */
  async function open(several: (context: HttpContext, accounts: TestAccounts) => Promise<unknown>) {
    const accounts: TestAccounts = await testAccounts({
      engine,
      routes: [
        Route.post("/several", (context) => several(context, accounts)),
        Route.get("/proved", async (context) => ({ at: await provedAt(context) })),
      ],
    });
    return accounts;
  }

  test("S22 has the token of the last change, and no copy of an earlier one is accepted", async () => {
    const accounts = await open(async (context) => {
      await change(context);
      await context.auth.logins().endOthers();
      await context.auth.logins().keepCurrent();
      return {};
    });
    const [visitor, other] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const thief = visitor.copy();
    const { setCookies } = await visitor.post("/several");
    expect(setCookies.filter((cookie) => /token=/.test(cookie))).toHaveLength(1);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    for (const one of [thief, other]) expect((await one.get("/me")).body).toEqual({ user: null });
  });

  test("S22 never gets an earlier change's token again", async () => {
    freeze(new Date(START));
    const accounts = await open(async (context, own) => {
      const { auth } = context;
      await auth.logins().endOthers();
      const link = await linkFor(context, own);
      freeze(new Date(START + MINUTE));
      const isProved = await auth.webGuard.confirmPassword(PASSWORD);
      // Only verifies the address: this login keeps its token.
      return { isProved, outcome: await context.accounts.verifyEmail(link.split("/").at(-1)) };
    });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/several")).body).toEqual({ isProved: true, outcome: "verified" });
    expect((await visitor.get("/proved")).body).toEqual({ at: START + MINUTE });
  });

  test("S52 has the proof of the first change from that time, not from the second", async () => {
    freeze(new Date(START));
    const accounts = await open(async (context) => {
      freeze(new Date(START + MINUTE));
      await change(context);
      freeze(new Date(START + 2 * MINUTE));
      await context.auth.logins().endOthers();
      return { at: await provedAt(context) };
    });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/several")).body).toEqual({ at: START + MINUTE });
    expect((await visitor.get("/proved")).body).toEqual({ at: START + MINUTE });
  });

  test("S52 doesn't have a proof that another user gave earlier in the same request", async () => {
    const accounts = await open(async (context) => {
      const { auth } = context;
      const refused = await change(context, "short").catch((error: { code: string }) => error.code);
      await auth.attemptById(BOB.id);
      await auth.logins().endOthers();
      return { refused, at: await provedAt(context) };
    });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/several")).body).toEqual({ refused: "E_INVALID_INPUT", at: null });
    expect((await visitor.get("/me")).body).toMatchObject({ user: { id: BOB.id } });
    expect((await visitor.get("/proved")).body).toEqual({ at: null });
  });

  test("S22 keeps its token if the change that would have replaced it is rolled back", async () => {
    const accounts = await open(async (context, own) => {
      const link = await linkFor(context, own);
      const failed = await own.database
        .transaction(async () => {
          await change(context);
          throw new Error("The disk is full.");
        })
        .catch((error: Error) => error.message);
      return { failed, outcome: await context.accounts.verifyEmail(link.split("/").at(-1)) };
    });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/several")).body).toEqual({ failed: "The disk is full.", outcome: "verified" });
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    await accounts.loggedIn(ADA, PASSWORD);
  });

  test("S22 keeps its token if the logins of the change cannot be ended", async () => {
    const accounts = await open(async (context, own) => {
      const link = await linkFor(context, own);
      const stop = own.database.onQuery(({ sql }) => {
        if (/^delete from .logins./.test(sql)) throw new Error("The disk is full.");
      });
      const failed = await change(context).catch((error: Error) => error.message);
      stop();
      return { failed, outcome: await context.accounts.verifyEmail(link.split("/").at(-1)) };
    });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/several")).body).toEqual({ failed: "The disk is full.", outcome: "verified" });
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
  });
});
