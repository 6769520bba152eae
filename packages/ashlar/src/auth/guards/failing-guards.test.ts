import { beforeEach, expect, onTestFinished, test } from "vitest";
import { kernelWith } from "../../../test/support/application-parts.ts";
import { CookieGuard, guardProvider, Person } from "../../../test/support/people.ts";
import { createApplication } from "../../boot/index.ts";
import { EventProvider } from "../../events/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { AuthProvider } from "../auth-provider.ts";

const PASSWORD = "correct horse battery";
const STALE = new AshlarError("E_STALE_PROOF");
const FOREIGN = Object.assign(new Error("The directory is down."), { code: "E_STALE_PROOF" });

/** Stores and ends logins, unless a failure is set. */
let failure: unknown;
class FailingGuard extends CookieGuard {
  protected override persist(): Promise<void> {
    return Promise.reject(failure);
  }

  protected override async forget(): Promise<void> {
    if (failure !== undefined) throw failure;
  }
}

const FailingProvider = guardProvider({ failing: FailingGuard }, ["failing"]);

/** The result of a request with the given cookie, such as `person=2`, or by a guest, and the events that it emitted. */
async function outcomeOf(act: (context: HttpContext) => Promise<unknown>, cookie = ""): Promise<unknown[]> {
  let outcome: unknown;
  const application = await createApplication({
    kernel: kernelWith({ web: [] }),
    routes: [
      Route.get("/", async (context) => {
        const [settled] = await Promise.allSettled([act(context)]);
        const user = (await context.auth.user()) as Person | null;
        outcome = [settled.status === "rejected" ? settled.reason : settled.value, user?.authId() ?? null];
        return {};
      }),
    ],
    providers: [EventProvider, AuthProvider, FailingProvider],
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const told: unknown[] = [];
  const events = application.container.make("events");
  for (const name of ["auth.login", "auth.failed", "auth.logout"] as const) events.on(name, () => void told.push(name));
  await application.fetch(new Request("http://localhost/", { headers: { cookie } }));
  await events.settled();
  return [outcome, told];
}

const attempt = ({ auth }: HttpContext) => auth.attempt("ada@example.com", PASSWORD);
const attemptById = ({ auth }: HttpContext) => auth.attemptById(1);
const loginAs = async ({ auth }: HttpContext) => auth.loginAs((await Person.findByAuthId(1))!);
const logout = ({ auth }: HttpContext) => auth.logout();

beforeEach(() => Person.populate(PASSWORD));

test.each([
  ["attempt", attempt],
  ["attemptById", attemptById],
])("S52 a login by %s that could not be stored because access ended counts as failed", async (_, act) => {
  failure = STALE;
  expect(await outcomeOf(act, "person=2")).toEqual([[null, 2], ["auth.failed"]]);
});

test.each([
  ["attempt", attempt, FOREIGN],
  ["attemptById", attemptById, FOREIGN],
  ["attempt", attempt, new AshlarError("E_OVERLOADED")],
  ["attempt", attempt, null],
  ["loginAs", loginAs, STALE],
  ["logout", logout, STALE],
] as const)("a failure in %s is passed on, and the request keeps its user", async (_, act, error) => {
  failure = error;
  expect(await outcomeOf(act, "person=2")).toEqual([[error, 2], []]);
});

test("a logout of a guest emits no event", async () => {
  failure = undefined;
  expect(await outcomeOf(logout)).toEqual([[undefined, null], []]);
  expect(await outcomeOf(logout, "person=2")).toEqual([[undefined, null], ["auth.logout"]]);
});
