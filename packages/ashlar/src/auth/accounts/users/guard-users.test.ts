import { describe, expect, expectTypeOf, test } from "vitest";
import { ADA, AdminUser, testAccounts } from "../../../../test/support/account-application.ts";
import type { HttpContext } from "../../../http/index.ts";
import { Route } from "../../../routing/index.ts";
import type { GuardUser, RegisteredUser } from "../../../support/index.ts";
import { type Authenticatable, type Guard, type GuardFactory, RequestGuard, type WebGuard } from "../../index.ts";

class Sailor extends AdminUser {
  rank(): string {
    return "mate";
  }
}

// Only the guard with this name is registered, so all other tests run without one.
declare module "../../../support/register.ts" {
  interface Register {
    guards: { crew: Sailor };
  }
}

class BadgeGuard extends RequestGuard<Sailor> {
  protected override retrieve(): Authenticatable | null {
    return null;
  }
}

describe("a guard whose users' class is registered for it", () => {
  test("has users of that class", () => {
    expectTypeOf<GuardUser<"crew">>().toEqualTypeOf<Sailor>();
    const types = async ({ auth }: HttpContext, sailor: Sailor): Promise<void> => {
      const guard = auth.guard("crew");
      expectTypeOf(guard).toEqualTypeOf<WebGuard<Sailor>>();
      expectTypeOf(guard.knownUser).toEqualTypeOf<Sailor | null>();
      expectTypeOf(await guard.user()).toEqualTypeOf<Sailor | null>();
      expectTypeOf(await guard.attempt("ada@example.com", "password")).toEqualTypeOf<Sailor | null>();
      expectTypeOf(await guard.attemptById(1)).toEqualTypeOf<Sailor | null>();
      expectTypeOf(await guard.loginAs(sailor)).toEqualTypeOf<Sailor | null>();
      guard.once(sailor);
      // @ts-expect-error an admin is not a sailor
      await guard.loginAs(new AdminUser());
      // @ts-expect-error an admin is not a sailor
      guard.once(new AdminUser());
    };
    expectTypeOf(types).returns.resolves.toBeVoid();
  });

  test("logs in one of them, who is then the guard's user", async () => {
    class Mate extends Sailor {}
    const routes = [
      Route.post("/board", async ({ auth }) => {
        const sailor = await auth.guard("crew").loginAs(await Mate.findOrFail(1));
        return { name: sailor?.name };
      }),
      Route.get("/rank", async ({ auth }) => {
        const sailor = await auth.guard("crew").user();
        return { rank: sailor?.rank() ?? null, name: sailor?.name ?? null };
      }),
    ];
    const accounts = await testAccounts({ routes, guards: { crew: { driver: "web", model: Mate } } });
    Mate.useDatabase(accounts.database);
    const visitor = await accounts.loggedIn();
    expect((await visitor.get("/rank")).body).toEqual({ rank: null, name: null });
    expect((await visitor.post("/board")).body).toEqual({ name: "Root" });
    expect((await visitor.get("/rank")).body).toEqual({ rank: "mate", name: "Root" });
    expect((await visitor.get("/me")).body).toMatchObject({ user: { id: ADA.id } });
  });

  test("can be of a class of your own", () => {
    expectTypeOf<(context: HttpContext) => BadgeGuard>().toExtend<GuardFactory>();
  });
});

describe("any other guard", () => {
  test("has the application's users", () => {
    expectTypeOf<GuardUser<"web">>().toEqualTypeOf<RegisteredUser>();
    const types = async ({ auth }: HttpContext, name: string, user: RegisteredUser): Promise<void> => {
      expectTypeOf(auth.guard("web")).toEqualTypeOf<WebGuard>();
      expectTypeOf(auth.guard(name)).toEqualTypeOf<Guard>();
      expectTypeOf(await auth.guard("web").user()).toEqualTypeOf<RegisteredUser | null>();
      expectTypeOf(await auth.user()).toEqualTypeOf<RegisteredUser | null>();
      expectTypeOf(await auth.loginAs(user)).toEqualTypeOf<RegisteredUser | null>();
    };
    expectTypeOf(types).returns.resolves.toBeVoid();
  });
});
