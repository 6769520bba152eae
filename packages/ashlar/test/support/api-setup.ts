import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { type Application, createApplication, type HttpKernel } from "../../src/public/index.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The files of an application with API tokens, by path, with everything that the setup requires. */
export const API_FILES: Readonly<Record<string, string>> = {
  ".env": `JWT_SECRET=${randomBytes(64).toString("base64url")}\n`,
  "config/providers.ts": `
    import { ApiProvider } from "ashlar/api";
    import { AuthProvider } from "ashlar/auth";
    import { DatabaseProvider } from "ashlar/database";
    export const PROVIDERS = [DatabaseProvider, AuthProvider, ApiProvider];`,
  "config/database.ts": `
    export const DATABASES = { default: "sqlite", sqlite: { driver: "sqlite", path: "app.sqlite" } };`,
  "config/api.ts": `
    import { env } from "ashlar";
    import { User } from "../app/models/user.ts";
    export const DRIVERS = { jwt: { secret: env("JWT_SECRET"), model: User } };`,
  "app/models/user.ts": `
    import { AuthenticatesTokens } from "ashlar/api";
    import { Authenticates } from "ashlar/auth";
    import { compose, Model } from "ashlar/database";
    export class User extends compose(Model, Authenticates, AuthenticatesTokens) {
      static table = "users";
      static timestamps = false;
    }`,
  "app/kernel.ts": `
    import { HttpKernel } from "ashlar";
    import { JWTAuthenticationMiddleware } from "ashlar/api";
    import { GuardMiddleware } from "ashlar/auth";
    export class Kernel extends HttpKernel {
      routeMiddleware = { web: [], api: [JWTAuthenticationMiddleware], guard: [GuardMiddleware] };
      registerRoutes() {
        this.container.bind("routes.location", "routes/web");
        this.container.bind("routes.api.location", "routes/api");
      }
    }`,
  "routes/web.ts": `
    import { Route } from "ashlar";
    import { Api } from "ashlar/api";
    export const ROUTES = [Route.get("/", () => "welcome")];
    ROUTES.push(...Api.routes());`,
  "routes/api.ts": `
    import { Route } from "ashlar";
    export const ROUTES = [Route.get("/me", ({ request }) => request.user()).middleware("guard:jwt")];`,
};

/**
 * Creates an application from files in its own folder, with the user `ada@example.com` (1) in its table.
 *
 * @param changes replacements for some of the files; `null` leaves one out
 */
export async function apiOfFiles(changes: Readonly<Record<string, string | null>> = {}): Promise<Application> {
  const root = await temporaryFolder();
  for (const [path, text] of Object.entries({ ...API_FILES, ...changes })) {
    if (text === null) continue;
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const { Kernel } = (await import(pathToFileURL(join(root, "app/kernel.ts")).href)) as {
    readonly Kernel: typeof HttpKernel;
  };
  const application = await createApplication({ root, kernel: Kernel, environment: { APP_ENV: "test" } });
  onTestFinished(() => application.shutdown());
  return application;
}
