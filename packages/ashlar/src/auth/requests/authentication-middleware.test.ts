import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { kernelWith } from "../../../test/support/application-parts.ts";
import { guardProvider, HeaderGuard, Person } from "../../../test/support/people.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { isUserUnknown } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import type { Authenticatable } from "../users/authenticatable.ts";

/** Fails to identify its user, immediately or later, if the request contains a flag for that. */
class BadgeGuard extends HeaderGuard {
  protected override retrieve(): Promise<Authenticatable | null> | null {
    const fails = this.context.request.header("x-fails");
    if (fails === "at once") throw new Error("The directory is down.");
    return fails === "later" ? Promise.reject(new Error("The directory is down.")) : super.retrieve();
  }
}

const BadgeProvider = guardProvider({ badge: BadgeGuard }, ["badge"]);

const handle = vi.fn(() => ({ handled: true }));
const outcomes: unknown[] = [];

async function running(): Promise<Application> {
  const application = await createApplication({
    kernel: kernelWith({
      web: [
        async (context, next) => {
          const outcome = await (async () => next())().then(
            () => "an answer",
            (error: Error) => error.message,
          );
          outcomes.push([outcome, isUserUnknown(context)]);
          return { outcome };
        },
      ],
    }),
    routes: [Route.get("/", handle).middleware("user")],
    providers: [AuthProvider, BadgeProvider],
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  return application;
}

const ask = (application: Application, headers: Record<string, string>) =>
  application.fetch(new Request("http://localhost/", { headers }));

beforeEach(async () => {
  await Person.populate("a password of hers");
  handle.mockClear();
  outcomes.length = 0;
});

test("a user who cannot be looked up is not treated as a guest: the request fails, and its page knows no user", async () => {
  const application = await running();
  for (const fails of ["at once", "later"]) await ask(application, { "x-person": "1", "x-fails": fails });
  expect(outcomes).toEqual([
    ["The directory is down.", true],
    ["The directory is down.", true],
  ]);
  expect(handle).not.toHaveBeenCalled();
  await ask(application, { "x-person": "1" });
  expect([outcomes.at(-1), handle.mock.calls.length]).toEqual([["an answer", false], 1]);
});
