import { afterAll, expect, onTestFinished, test } from "vitest";
import type { FullUser } from "../../../test/support/account-application.ts";
import { bootApplication, userClass } from "../../../test/support/booted-application.ts";
import { generateApplication } from "../../../test/support/generated-application.ts";
import { RequestGuard } from "../../auth/index.ts";
import { type Application, Provider, type ProviderClass } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route, type RouteDefinition } from "../../routing/index.ts";
import { doorSuite } from "./door-suite.ts";

/** A side door: a guard that trusts the session, and a route that fills in the session without any login step. */
class SideGuard extends RequestGuard {
  protected override retrieve() {
    const id = this.context.session.get("side_door");
    return typeof id === "string" ? this.model.findByAuthId(id) : null;
  }
}

class SideProvider extends Provider {
  override boot(): void {
    const { container } = this.application;
    container.make("auth").registerDriver(
      "side",
      ({ name, model }) =>
        (context) =>
          new SideGuard(name, context, model),
    );
  }
}

const { root, remove } = await generateApplication({});
afterAll(remove);

async function boot(routes: readonly RouteDefinition[] = []): Promise<Application> {
  const { PROVIDERS } = (await import(`${root}/config/providers.ts`)) as { PROVIDERS: readonly ProviderClass[] };
  const { GUARDS } = (await import(`${root}/config/auth.ts`)) as { GUARDS: { web: { model: unknown } } };
  const { application } = await bootApplication(root, {
    providers: [...PROVIDERS, SideProvider],
    routes,
    config: { auth: { GUARDS: { ...GUARDS, side: { driver: "side", model: GUARDS.web.model } } } },
  });
  return application;
}

async function account(password: string): Promise<FullUser> {
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  user.verified_at = new Date();
  await user.setPassword(password);
  return user.save();
}

test("a generated application has no side door", async () => {
  const application = await boot();
  onTestFinished(() => application.shutdown());
  const suite = doorSuite(application, { account });
  const titles = suite.map(({ title }) => title);
  expect(titles.filter((title) => title.endsWith("nothing holds back"))).toEqual([
    "login, by its page: lets in a user whom nothing holds back",
    "login, by JSON: lets in a user whom nothing holds back",
    "registration, by its page: lets in a user whom nothing holds back",
    "registration, by JSON: lets in a user whom nothing holds back",
    "token, by JSON: lets in a user whom nothing holds back",
  ]);
  expect(titles).toHaveLength(11);
  for (const { run } of suite) await run();
});

test("a route that logs in without the pipeline is found", async () => {
  const application = await boot([
    Route.post("/support/enter", ({ request, session }: HttpContext) => {
      session.put("side_door", request.string("user_id", ""));
      return { status: "in" };
    }),
  ]);
  onTestFinished(() => application.shutdown());
  const last = doorSuite(application, { account }).at(-1)!;
  await expect(last.run()).rejects.toThrow("POST /support/enter logs in past a step.");
});

test("an application's own door is tried like the others, and `false` leaves a door out", async () => {
  const application = await boot([
    Route.post("/magic", async ({ auth, request }: HttpContext) => {
      await auth.attemptById(request.string("user_id", ""));
      return { status: "done" };
    }),
  ]);
  onTestFinished(() => application.shutdown());
  const suite = doorSuite(application, {
    account,
    doors: {
      login: false,
      registration: false,
      token: false,
      magic: ({ client, user }) => {
        const user_id = String((user as unknown as FullUser).id);
        return client.withCsrfToken().postJson("/magic", { user_id });
      },
    },
  });
  expect(suite.map(({ title }) => title)).toEqual([
    "magic: lets in a user whom nothing holds back",
    "magic: a login that waits for a step proves nothing",
    "every other route: credentials sent to it log no one in past a step",
  ]);
  for (const { run } of suite) await run();
});

test("a way that leads nowhere fails, and shows the last response", async () => {
  const application = await boot();
  onTestFinished(() => application.shutdown());
  const suite = doorSuite(application, { account, doors: { nowhere: ({ client }) => client.get("/nowhere") } });
  const nowhere = suite.find(({ title }) => title === "nowhere: lets in a user whom nothing holds back")!;
  await expect(nowhere.run()).rejects.toThrow("The last response:\nGET /nowhere returned 404 Not Found");
});
