import { Auth, GuardMiddleware } from "../../src/auth/index.ts";
import type { Row } from "../../src/database/index.ts";
import { Api, ApiProvider } from "../../src/public/api.ts";
import type { LoginStep } from "../../src/public/auth.ts";
import { type HttpContext, Route } from "../../src/public/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { createSessionDataTable } from "../../src/session/index.ts";
import {
  ADA,
  AdminUser,
  FullUser,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
  type Visitor,
} from "./account-application.ts";
import { ACCOUNT_CONTROLLERS } from "./account-controllers.ts";

/** All applications in a test file share it. */
const SECRET = generateSecret();

/** The code that the step {@link code} asks for. */
export const CODE = "314159";

/** The addresses of users who have accepted the terms. */
export const accepted: Set<string> = new Set<string>();

const emailOf = (user: object) => (user as FullUser).email;

/** A step that refuses, with the application's own message. */
export const blocked: LoginStep = {
  name: "blocked",
  check: ({ user }) => (emailOf(user) === "" ? "passed" : { failed: "This account is blocked." }),
};

/** A step that waits for its page. */
export const terms: LoginStep = {
  name: "terms",
  page: "terms",
  check: ({ user }) => (accepted.has(emailOf(user)) ? "passed" : "pending"),
};

/** A step with its own proof, which any request can contain as an input. */
export const code: LoginStep = {
  name: "code",
  page: "code",
  async check({ context, prove }) {
    const given = context.request.bodyInput("code");
    if (typeof given !== "string") return "pending";
    return (await prove(() => given === CODE)) ? "passed" : "pending";
  },
};

/** How an application with steps differs from the default. */
export interface SteppedOptions
  extends Pick<
    TestAccountsOptions,
    "config" | "engine" | "environment" | "logged" | "restarted" | "store" | "throttle"
  > {
  /** Further members of `GUARDS`. */
  readonly guards?: object;
  /** The steps of the guard `web` only. */
  readonly webSteps?: readonly LoginStep[];
}

/** An application with its own steps, and every way to log in. */
export async function shopWith(steps: readonly LoginStep[], options: SteppedOptions = {}): Promise<TestAccounts> {
  const { config, guards, webSteps = [], ...others } = options;
  class User extends FullUser {}
  class Admin extends AdminUser {}
  const ada = ({ auth }: HttpContext) => User.findOrFail(ADA.id).then((user) => auth.loginAs(user));
  const accounts: TestAccounts = await testAccounts({
    ...others,
    User,
    models: [Admin],
    providers: [ApiProvider],
    middleware: { guard: [GuardMiddleware] },
    config: { ...config, api: { DRIVERS: { jwt: { secret: SECRET, model: User } } } },
    guards: { web: { model: User, steps: webSteps }, admin: { driver: "web", model: Admin }, steps, ...guards },
    routes: [
      ...Auth.routes({ ...ACCOUNT_CONTROLLERS }, { guard: "admin" }).prefix("/admin"),
      ...Api.routes(),
      Route.get("/terms", () => "Accept our terms.").name("terms"),
      Route.get("/admin/terms", () => "Accept our terms.").name("admin.terms"),
      Route.post("/terms", accept),
      Route.get("/code", () => "Enter the code.").name("code"),
      Route.get("/admin/code", () => "Enter the code.").name("admin.code"),
      Route.post("/code", resume),
      Route.post("/cancel", async ({ auth }) => (await auth.pendingLogin())?.cancel()),
      Route.post("/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })),
      Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
      Route.get("/identity", ({ session }) => ({ id: session.put("seen", true).id })),
      Route.post("/pass", async ({ auth, request }) => {
        const login = await auth.pendingLogin();
        const verify = async () => (request.input("code") ?? CODE) === CODE;
        const step = String(request.input("step") ?? login?.step);
        return { step: login?.step ?? null, result: await login?.pass(step, verify), pending: auth.pending };
      }),
      Route.post("/pass-each", async ({ auth, request }) => {
        const login = await auth.pendingLogin();
        const results: unknown[] = [];
        for (const given of request.input("codes") as string[]) {
          results.push(await login?.pass("code", () => given === CODE));
        }
        return { results };
      }),
      Route.post("/admin/pass", async ({ auth, request }) => {
        const login = await auth.guard("admin").pendingLogin();
        auth.guard("web");
        return { result: await login?.pass("code", () => request.input("code") === CODE) };
      }),
      Route.post("/only-sent", async ({ auth }) => {
        if (!(await auth.webGuard.confirmPassword(PASSWORD))) auth.requireNoPendingStep();
        return {};
      }),
      Route.post("/as-ada", async (context) => ({ user: await ada(context), pending: context.auth.pending })),
      Route.post("/by-id", async ({ auth }) => ({ user: await auth.attemptById(ADA.id), pending: auth.pending })),
      Route.post("/second-attempt", async ({ auth }) => {
        const attempts = [await auth.attempt(ADA.email, "wrong"), await auth.attempt(ADA.email, PASSWORD)];
        return { attempts, pending: auth.pending };
      }),
      Route.post("/attempt", async ({ auth }) => ({
        user: await auth.attempt(ADA.email, PASSWORD),
        pending: auth.pending,
      })),
    ],
  });
  if (others.restarted === undefined) await createSessionDataTable(accounts.database.kysely);
  return accounts;
}

async function accept(context: HttpContext) {
  const login = await context.auth.pendingLogin();
  if (login !== null) accepted.add(emailOf(login.user));
  return resume(context);
}

async function resume({ auth }: HttpContext) {
  const login = await auth.pendingLogin();
  if (login === null) return auth.redirectToRoute("login");
  const { status } = await login.resume();
  return status === "complete" ? auth.redirectToIntended("home") : auth.redirectToStep();
}

export const CREDENTIALS: { readonly email: string; readonly password: string } = {
  email: ADA.email,
  password: PASSWORD,
};

/** Returns whether a visitor is logged in. */
export async function isIn(visitor: Pick<Visitor, "get">, prefix = ""): Promise<boolean> {
  return (await visitor.get(`${prefix}/home`, { accept: "text/html" })).status === 200;
}

/** The status of a response, and where it redirects. */
export function target({ status, headers }: { status: number; headers: Headers }): [number, string | null] {
  return [status, headers.get("location")];
}

/** The rows of logged-in users, without those of logins that wait for a step. */
export async function loginsOf(accounts: TestAccounts): Promise<Row[]> {
  return (await accounts.rows("logins")).filter((row) => row.access_epoch !== "pending");
}
