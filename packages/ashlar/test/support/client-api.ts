import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Application } from "../../src/boot/index.ts";
import { captureMail, linksIn, type MailCapture } from "../../src/testing/index.ts";
import { bootApplication } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { edit, generateApplication } from "./generated-application.ts";

/** Steps for users of certain names. */
const STEPS = `steps: [
    { name: "blocked", check: ({ user }) => (user.name === "Mallory" ? { failed: "This account is blocked." } : "passed") },
    { name: "code", flows: () => [{ id: "code", field: "code", url: "/login/code" }], check: ({ user, context }) => (user.name === "Penny" && context.request.input("code") !== "123456" ? "pending" : "passed") },
  ],`;

/** Routes with and without a login, in addition to those of accounts. */
const WEB_ROUTES = `
  Route.match(["GET", "POST", "PUT", "PATCH", "DELETE"], "/echo", ({ request }) => ({
    method: request.raw.method,
    note: request.input("note"),
  })),
  Route.post("/login/code", async ({ auth }) => {
    const login = await (await auth.pendingLogin())?.resume();
    if (login?.status !== "complete") throw new ValidationError({ code: ["That is not the code."] });
    return auth.answer({ status: "complete" });
  }),
  Route.post("/notes", ({ request }) => ({ by: request.user()!.email })).middleware("auth"),
  Route.post("/transfer", () => "done").middleware("auth", "password.confirm"),
`;

/** A listening application without pages. */
export interface ClientApi {
  readonly application: Application;
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly mail: MailCapture;
  /** The token of the newest link that was mailed to an address. */
  linkTo(address: string): Promise<URL>;
  end(): Promise<void>;
}

/** The features of a {@link ClientApi}, in addition to accounts. */
export interface ClientApiOptions {
  /** How its API tokens work; default: it has no API. */
  readonly tokens?: "single" | "many";
  readonly environment?: Record<string, string>;
  /** Additional routes, each with a trailing comma. */
  readonly routes?: string;
  /** Whether users can create personal tokens, which needs `tokens`. */
  readonly personal?: boolean;
  /** Whether it has two-factor authentication, passkeys, and logins by mail; default: `false`. Users who are named Frieda need a second factor. */
  readonly factors?: boolean;
  /** Lines to replace in `config/session.ts`. */
  readonly session?: readonly [from: string, to: string];
}

/** Generates an application for front ends, and serves it in this process. */
export async function startClientApi({
  tokens,
  environment = {},
  session,
  routes: others = "",
  personal = false,
  factors = false,
}: ClientApiOptions = {}): Promise<ClientApi> {
  const { root, remove } = await generateApplication({ pages: false, json: true, api: tokens !== undefined });
  await edit(root, "config/auth.ts", ["// steps: [terms],", STEPS]);
  await edit(root, "routes/web.ts", ["  ...Csrf.routes(),", `  ...Csrf.routes(),${WEB_ROUTES}${others}`]);
  const routes = await readFile(join(root, "routes/web.ts"), "utf8");
  const imports = 'import { ValidationError } from "ashlar";\n';
  await writeFile(join(root, "routes/web.ts"), imports + routes);
  if (session !== undefined) await edit(root, "config/session.ts", session);
  if (tokens === "many") await ashlar(root, "api:install", "--many");
  if (personal) await ashlar(root, "tokens:install");
  if (factors) {
    await ashlar(root, "auth", "--two-factor", "--passkeys", "--login-links");
    await edit(root, "config/login-links.ts", ["registers: false", "registers: true"]);
    await edit(root, "config/two-factor.ts", ["required: false", "required: ({ name }) => name === 'Frieda'"]);
  }
  const { application, end } = await bootApplication(root, { environment });
  const mail = await captureMail(application);
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const { port } = new URL(url);
  return {
    application,
    mail,
    port: Number(port),
    url: `http://127.0.0.1:${port}`,
    async linkTo(address) {
      return new URL(linksIn((await mail.all()).findLast(({ to }) => to === address)!)[0]!);
    },
    async end() {
      await end();
      await remove();
    },
  };
}
