import { describe, expect, onTestFinished, test } from "vitest";
import { Member, PeopleProvider, Person } from "../../test/support/people.ts";
import { AuthenticationMiddleware, AuthProvider } from "../auth/index.ts";
import { type Application, type ApplicationOptions, createApplication, createLogger } from "../boot/index.ts";
import { compose, Model } from "../database/index.ts";
import { HttpKernel, type RouteMiddleware } from "../kernel/index.ts";
import { MailProvider } from "../mail/index.ts";
import { Route } from "../routing/index.ts";
import { SessionMiddleware, SessionProvider } from "../session/index.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import { ViewProvider } from "../views/index.ts";
import { ApiProvider } from "./api-provider.ts";
import { AuthenticatesTokens } from "./authenticates-tokens.ts";
import { Api } from "./endpoints/api.ts";
import { JWTAuthenticationMiddleware } from "./requests/jwt-authentication-middleware.ts";

const SECRET = "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-one";
const PASSWORD = "correct horse battery";

class Kernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = {
    web: [],
    api: [JWTAuthenticationMiddleware],
    auth: [AuthenticationMiddleware],
  };
}

const PROTECTED = Route.get("/protected", ({ auth }) => auth.user()).middleware("api");

async function boot(options: ApplicationOptions): Promise<Application> {
  const application = await createApplication({ kernel: Kernel, environment: { APP_ENV: "test" }, ...options });
  onTestFinished(() => application.shutdown());
  return application;
}

const config = { api: { DRIVERS: { jwt: { secret: SECRET, model: Member } } } };

describe("an application", () => {
  test("boots without the API", async () => {
    const application = await boot({ routes: [Route.get("/", () => "hello")], providers: [AuthProvider] });
    const response = await application.fetch(new Request("http://localhost/"));
    expect([response.status, await response.text()]).toEqual([200, "hello"]);
  });

  test("keeps no pending login if only the API is installed beside a guard, because there is no store", async () => {
    await Person.populate(PASSWORD);
    class Sessions extends HttpKernel {
      override routeMiddleware: RouteMiddleware = { web: [SessionMiddleware] };
    }
    const begin = Route.get("/begin", async ({ auth }) => {
      const attempt = await auth.attempt("ada@example.com", PASSWORD);
      return { attempt, pending: auth.pending };
    });
    const steps = [{ name: "terms", check: () => "pending" }];
    const application = await boot({
      kernel: Sessions,
      routes: [begin],
      providers: [SessionProvider, ApiProvider, PeopleProvider],
      config: {
        ...config,
        auth: { GUARDS: { default: "cookie", cookie: { driver: "cookie", model: Person }, steps } },
      },
    });
    const response = await application.fetch(new Request("http://localhost/begin"));
    expect(await response.json()).toEqual({ attempt: null, pending: "terms" });
  });

  test.each([
    ["ApiProvider alone", [ApiProvider]],
    ["AuthProvider before it", [AuthProvider, ApiProvider]],
    ["AuthProvider after it", [ApiProvider, AuthProvider]],
    ["limits besides", [ThrottleProvider, AuthProvider, ApiProvider]],
  ])("issues tokens with %s, and needs neither events nor a model of the framework", async (_, providers) => {
    await Person.populate(PASSWORD);
    const application = await boot({ routes: [...Api.routes(), PROTECTED], providers, config });
    const issued = await application.fetch(
      new Request("http://localhost/api/auth", {
        method: "POST",
        body: new URLSearchParams({ username: "ada@example.com", password: PASSWORD }),
      }),
    );
    const { data } = (await issued.json()) as { readonly data: string };
    const headers = { authorization: `Bearer ${data}` };
    const response = await application.fetch(new Request("http://localhost/protected", { headers }));
    expect(await response.json()).toEqual({ id: 1, email: "ada@example.com" });
  });

  test("has the guard jwt as its default if no other is configured", async () => {
    const application = await boot({ providers: [ApiProvider], config });
    expect(application.container.make("auth").defaultName).toBe("jwt");
  });

  test("can name the guard jwt in GUARDS, with the same model or none", async () => {
    for (const jwt of [{}, { model: Member }]) {
      const application = await boot({
        providers: [AuthProvider, ApiProvider],
        config: { ...config, auth: { GUARDS: { default: "jwt", jwt } } },
      });
      expect(application.container.make("auth").names).toEqual(["jwt"]);
    }
  });
});

describe("in production", () => {
  const production = { APP_ENV: "production", APP_KEY: SECRET, APP_URL: "https://shop.example" };

  /** The warnings that an application logs while it boots. */
  async function warnings(
    jwt: object,
    environment: Record<string, string> = production,
    options: ApplicationOptions = {},
  ): Promise<string[]> {
    const lines: string[] = [];
    const settings = { name: "Shop", environment: "test", log: { level: "warn", requests: false } } as const;
    await boot({
      providers: [AuthProvider, ApiProvider],
      ...options,
      config: { api: { DRIVERS: { jwt: { secret: SECRET, model: Member, ...jwt } } } },
      environment,
      logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line).msg) }),
    });
    return lines;
  }

  test("tokens that neither expire nor can be revoked cause a warning", async () => {
    expect(await warnings({})).toEqual([expect.stringContaining("API tokens never expire and cannot be revoked.")]);
    expect(await warnings({ expires: 60 })).toEqual([]);
    expect(await warnings({ authenticates: true })).toEqual([]);
    expect(await warnings({}, { ...production, APP_ENV: "test" })).toEqual([]);
  });

  test("S65 token endpoints without limits cause a warning in any other environment, and with limits in none", async () => {
    const elsewhere = { ...production, APP_ENV: "test" };
    expect(await warnings({}, elsewhere, { routes: Api.routes() })).toEqual([
      expect.stringContaining("config/providers.ts: PROVIDERS: the token endpoints have no limits"),
    ]);
    class OtherController {
      show(): string {
        return "";
      }
    }
    const others = [PROTECTED, Route.get("/other", [OtherController, "show"])];
    expect(await warnings({}, elsewhere, { routes: others })).toEqual([]);
    const providers = [ThrottleProvider, AuthProvider, ApiProvider];
    for (const environment of [elsewhere, production]) {
      expect(await warnings({ expires: 60 }, environment, { routes: Api.routes(), providers })).toEqual([]);
    }
  });

  test("S65 token endpoints without limits make startup fail", async () => {
    const options = { routes: Api.routes(), providers: [AuthProvider, ApiProvider], environment: production };
    const expiring = { api: { DRIVERS: { jwt: { secret: SECRET, model: Member, expires: 60 } } } };
    await expect(boot({ ...options, config: expiring })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("the token endpoints have no limits"),
    });
  });
});

describe("startup failures", () => {
  test("S58 preventEnumeration, if users with an unverified address can get a token", async () => {
    const config = {
      api: { DRIVERS: { jwt: { secret: SECRET, model: Member } } },
      auth: { ACCOUNTS: { preventEnumeration: true } },
    };
    await expect(boot({ config, providers: [ApiProvider] })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        "config/auth.ts: ACCOUNTS.preventEnumeration: users log in once their address is verified, but nothing checks " +
        'that for the token endpoints. Add AuthProvider to PROVIDERS, from "ashlar/auth".',
    });
    await expect(
      boot({ config, providers: [ViewProvider, MailProvider, AuthProvider, ApiProvider] }),
    ).resolves.toBeDefined();
    for (const ACCOUNTS of [undefined, {}, { preventEnumeration: false }]) {
      await expect(
        boot({ config: { ...config, auth: { ACCOUNTS } }, providers: [ApiProvider] }),
      ).resolves.toBeDefined();
    }
  });

  test.each([
    ["the stack", [PROTECTED]],
    ["the token endpoints", [...Api.routes()]],
  ])("%s without ApiProvider", async (_, routes) => {
    await expect(boot({ routes, providers: [AuthProvider] })).rejects.toMatchObject({
      code: "E_UNKNOWN_SERVICE",
      message: expect.stringMatching(
        /: The application has no API tokens\. Add ApiProvider to PROVIDERS in config\/providers\.ts\.$/,
      ),
    });
  });

  test("no config/api.ts", async () => {
    await expect(boot({ providers: [ApiProvider] })).rejects.toMatchObject({
      message: expect.stringContaining("npx ashlar api:install"),
    });
  });

  test("an export of config/api.ts other than DRIVERS", async () => {
    const booting = boot({ providers: [ApiProvider], config: { api: { DRVIERS: config.api.DRIVERS } } });
    await expect(booting).rejects.toThrow('Did you mean "DRIVERS"?');
  });

  test("a model without Authenticates", async () => {
    class Tag extends compose(Model, AuthenticatesTokens) {}
    const broken = { api: { DRIVERS: { jwt: { secret: SECRET, model: Tag } } } };
    await expect(boot({ providers: [ApiProvider], config: broken })).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message:
        "config/api.ts: DRIVERS.jwt.model: Tag lacks what the mixin Authenticates adds. " +
        "Declare it as class Tag extends compose(Model, Authenticates, AuthenticatesTokens).",
    });
  });

  test("S37 another model for the guard jwt in GUARDS than in DRIVERS", async () => {
    class Stranger extends Person {}
    const booting = boot({
      routes: [Route.get("/", () => "").middleware("auth")],
      providers: [AuthProvider, ApiProvider],
      config: { ...config, auth: { GUARDS: { default: "jwt", jwt: { model: Stranger } } } },
    });
    await expect(booting).rejects.toMatchObject({ message: expect.stringContaining("config/auth.ts: GUARDS.jwt") });
  });

  test("generateJwt() throws an error that says so if no API is configured for the model", async () => {
    class Loner extends compose(Model, AuthenticatesTokens) {}
    await expect(new Loner().generateJwt()).rejects.toMatchObject({
      code: "E_UNKNOWN_SERVICE",
      message: expect.stringContaining("the model of a driver in config/api.ts: DRIVERS"),
    });
  });
});
