import { describe, expect, test } from "vitest";
import { CookieGuard, HeaderGuard, Person } from "../../../test/support/people.ts";
import { createApplication, Provider } from "../../boot/index.ts";
import { compose, Model } from "../../database/index.ts";
import { Container } from "../../kernel/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { ApplicationAccess } from "../access/application-access.ts";
import { AuthProvider } from "../auth-provider.ts";
import { Authenticates } from "../models/authenticates.ts";
import { PendingLogins } from "../pipeline/pending-logins.ts";
import { ProofRegistry } from "../proofs/proof-registry.ts";
import { readAuthSettings } from "../settings.ts";
import { GuardRegistry } from "./guard-registry.ts";
import type { GuardDriver } from "./guard-table.ts";

class Robot extends Person {}

const header: GuardDriver =
  ({ name, model }) =>
  (context) =>
    new HeaderGuard(name, context, model);
const cookie: GuardDriver =
  ({ name, model }) =>
  (context) =>
    new CookieGuard(name, context, model);

function registry(GUARDS: object = {}): GuardRegistry {
  const pendingLogins = new PendingLogins({ secret: () => "", storeOf: () => null });
  return new GuardRegistry(readAuthSettings({ GUARDS }), () => null, {
    pendingLogins,
    proofs: new ProofRegistry(),
    access: new ApplicationAccess(new Container()),
  });
}

describe("the names of the guards", () => {
  test("are those in the configuration, and those of drivers with their own model", () => {
    const guards = registry({ default: "web", web: { driver: "cookie", model: Person } });
    guards.registerDriver("cookie", cookie);
    guards.registerDriver("header", header, Robot);
    expect(guards.names).toEqual(["web", "header"]);
    expect(guards.defaultName).toBe("web");
  });

  test("without a configuration the only guard is the default", () => {
    const guards = registry();
    guards.registerDriver("header", header, Robot);
    expect(guards.defaultName).toBe("header");
  });

  test("an application works without guards as long as nothing requests one", () => {
    const guards = registry();
    guards.prepare();
    expect(guards.names).toEqual([]);
    expect(() => guards.defaultName).toThrow(expect.objectContaining({ code: "E_UNKNOWN_GUARD" }));
  });

  test("an unknown name causes an error that suggests similar ones", () => {
    const guards = registry();
    guards.registerDriver("header", header, Robot);
    guards.checkName("header");
    expect(() => guards.checkName("haeder")).toThrow('No guard is named "haeder". Did you mean "header"?');
    expect(() => guards.checkName("constructor")).toThrow(expect.objectContaining({ code: "E_UNKNOWN_GUARD" }));
  });
});

describe("startup failures", () => {
  test("a guard that cannot be created, even if no route asks for it", async () => {
    const boot = createApplication({
      environment: { APP_ENV: "test" },
      providers: [AuthProvider],
      config: { auth: { GUARDS: { default: "strangers", strangers: { model: Person } } } },
    });
    await expect(boot).rejects.toThrow('config/auth.ts: GUARDS.strangers: no guard driver is named "strangers".');
  });

  test("a guard whose driver is not registered", () => {
    const guards = registry({ default: "web", web: { model: Person } });
    guards.registerDriver("cookie", cookie);
    expect(() => guards.prepare()).toThrow(
      'config/auth.ts: GUARDS.web: no guard driver is named "web". Known are "cookie". Is the provider that brings it ' +
        "listed in PROVIDERS?",
    );
  });

  test("a guard that a provider asks for in boot(), before its driver is registered", async () => {
    class EarlyProvider extends Provider {
      override boot(): void {
        this.application.container.make("auth").usersOf("badge");
      }
    }
    const boot = createApplication({
      environment: { APP_ENV: "test" },
      providers: [EarlyProvider, AuthProvider],
      config: { auth: { GUARDS: { badge: { model: Person } } } },
    });
    await expect(boot).rejects.toThrow(
      'config/auth.ts: GUARDS.badge: no guard driver is named "badge". Known are "web". Is the provider that brings it ' +
        "listed in PROVIDERS? Drivers are registered by boot() of their providers: ask for guards in ready().",
    );
  });

  test("a guard in an application without any driver", () => {
    expect(() => registry({ web: { model: Person } }).prepare()).toThrow(
      new ConfigurationError(
        "config/auth.ts: GUARDS.web",
        'no guard driver is named "web".',
        "Is the provider that brings it listed in PROVIDERS?",
      ),
    );
  });

  test("an option for a guard whose driver is configured elsewhere", () => {
    for (const [option, problem] of [
      ["minutes", "is not a known setting."],
      ["drvier", 'is not a known setting. Did you mean "driver"?'],
      ["modle", 'is not a known setting. Did you mean "model"?'],
      ["ruotes", 'is not a known setting. Did you mean "routes"?'],
    ] as const) {
      const guards = registry({ default: "header", header: { [option]: 5 } });
      guards.registerDriver("header", header, Robot);
      expect(() => guards.prepare()).toThrow(`config/auth.ts: GUARDS.header.${option}: ${problem}`);
    }
  });

  test.each([
    [true, /^config\/auth\.ts: GUARDS\.header\.model: Root extends User, the model of the guard "web",/],
    [false, /^config\/auth\.ts: GUARDS\.web\.model: Root extends User, the model of the guard "header",/],
  ])("S69 a driver's model that extends another guard's, or is extended, with its own table: %s", (extend, problem) => {
    class User extends compose(Model, Authenticates) {}
    class Root extends User {
      static override table = "admins";
    }
    const guards = registry({ default: "web", web: { driver: "cookie", model: extend ? User : Root } });
    guards.registerDriver("cookie", cookie);
    guards.registerDriver("header", header, extend ? Root : User);
    expect(() => guards.prepare()).toThrow(problem);
  });

  test("a guard without a model", () => {
    const guards = registry({ cookie: {} });
    guards.registerDriver("cookie", cookie);
    expect(() => guards.prepare()).toThrow("config/auth.ts: GUARDS.cookie: it has no model.");
  });

  test("S37 a guard with another model than its driver's, whose keys would be confused", () => {
    const guards = registry({ header: { model: Person } });
    guards.registerDriver("header", header, Robot);
    expect(() => guards.prepare()).toThrow('its model is not the one of the driver "header", Robot.');
  });

  test("a default that is not a guard", () => {
    const guards = registry({ default: "hedaer" });
    guards.registerDriver("header", header, Robot);
    expect(() => guards.prepare()).toThrow('GUARDS.default: no guard is named "hedaer". Did you mean "header"?');
  });

  test("several guards and no default", () => {
    const guards = registry({ web: { driver: "cookie", model: Person } });
    guards.registerDriver("cookie", cookie);
    guards.registerDriver("header", header, Robot);
    expect(() => guards.prepare()).toThrow(
      "GUARDS.default: is missing. Name the guard that a request begins with, one of web, header.",
    );
  });

  test("an error from the driver itself", () => {
    const guards = registry({ web: { driver: "picky", model: Person, color: "red" } });
    guards.registerDriver("picky", ({ options }) => {
      throw new Error(`refused ${JSON.stringify(options)}`);
    });
    expect(() => guards.prepare()).toThrow('refused {"color":"red"}');
  });

  test("a driver that is registered after startup", () => {
    const guards = registry();
    guards.prepare();
    expect(() => guards.registerDriver("late", header)).toThrow('"late" was registered after the boot');
  });
});

test("S69 attempts are counted together for guards whose users are the same rows and, unless the key counts, log in with the same identifier", () => {
  class User extends compose(Model, Authenticates) {
    static override table = "users";
  }
  class Editor extends User {}
  class Sailor extends User {
    static override identifierColumn = "name";
  }
  class Clerk extends compose(Model, Authenticates) {
    static override table = "clerks";
  }
  const models = { web: User, editor: Editor, crew: Sailor, desk: Clerk, directory: Person };
  const entries = Object.entries(models).map(([name, model]) => [name, { driver: "cookie", model }]);
  const guards = registry({ default: "web", ...Object.fromEntries(entries) });
  guards.registerDriver("cookie", cookie);
  guards.registerDriver("header", header, Person);
  const names = [...Object.keys(models), "header", "nobody"];
  expect(names.map((name) => guards.modelOf(name))).toEqual([...Object.values(models), Person, null]);
  expect(names.map((name) => guards.realmOf(name))).toEqual([
    "web",
    "web",
    "crew",
    "desk",
    "directory",
    "directory",
    "nobody",
  ]);
  expect(names.map((name) => guards.rowsOf(name))).toEqual([
    "web",
    "web",
    "web",
    "desk",
    "directory",
    "directory",
    "nobody",
  ]);
});

test("a driver is called once for each guard, at boot, with the guard's own settings", () => {
  const seen: unknown[] = [];
  const driver: GuardDriver = (settings) => {
    seen.push(settings);
    return (context) => new HeaderGuard(settings.name, context, settings.model);
  };
  const guards = registry({
    default: "a",
    a: { driver: "d", model: Person, minutes: 1 },
    b: { driver: "d", model: Robot },
  });
  guards.registerDriver("d", driver);
  guards.registerDriver("e", driver, Robot);
  guards.prepare();
  guards.prepare();
  expect(seen).toStrictEqual([
    { name: "a", model: Person, options: { minutes: 1 } },
    { name: "b", model: Robot, options: {} },
    { name: "e", model: Robot, options: {} },
  ]);
});
