import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { outputOf } from "../../../test/support/own-process.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { Route } from "../../routing/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { type AshlarError, ConfigurationError } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import { createApplication } from "../application/create-application.ts";
import { createLogger } from "../log/create-logger.ts";
import { env } from "./environment.ts";
import { loadConfiguration } from "./load-configuration.ts";

const ENVIRONMENT = pathToFileURL(join(import.meta.dirname, "environment.ts")).href;

describe("loadConfiguration", () => {
  test("each file is a section with its exports in capital letters", async () => {
    const root = folderWith({
      "config/app.ts": "export const APP: { name: string } = { name: 'Shop' };\nexport const helper = 1;",
      "config/auth.js": "export const GUARDS = { default: 'web' };\nexport const LIMIT_2 = 2;\nexport default 3;",
      "config/types.d.ts": "export const NOTHING: number;",
      "config/app.test.ts": "throw new Error('not to be loaded');",
      "config/readme.md": "# not a module",
      "config/deeper/more.ts": "export const MORE = 1;",
    });
    const configuration = await loadConfiguration(root, {});
    expect(configuration.names).toEqual(["app", "auth"]);
    expect(configuration.section("app")).toEqual({ APP: { name: "Shop" } });
    expect(configuration.section("auth")).toEqual({ GUARDS: { default: "web" }, LIMIT_2: 2 });
  });

  test("configuration in the options wins over the files, export by export", async () => {
    const root = folderWith({ "config/app.js": "export const APP = { name: 'Shop' };\nexport const OTHER = 1;" });
    const configuration = await loadConfiguration(root, {}, { app: { APP: { name: "Test" } }, mail: { MAIL: true } });
    expect(configuration.section("app")).toEqual({ APP: { name: "Test" }, OTHER: 1 });
    expect(configuration.section("mail")).toEqual({ MAIL: true });
  });

  test("without a folder, or without a config folder, the configuration is empty", async () => {
    expect((await loadConfiguration(null, {})).names).toEqual([]);
    expect((await loadConfiguration(folderWith({}), {})).names).toEqual([]);
  });

  test("env() reads the environment of the application being created, even if several are created at once", async () => {
    const root = folderWith({
      "config/app.ts": `import { env } from ${JSON.stringify(ENVIRONMENT)};\nexport const APP = { name: env("APP_NAME", "none") };`,
    });
    const names = ["one", "two", "three", "four"];
    const loaded = await Promise.all(names.map((name) => loadConfiguration(root, { APP_NAME: name })));
    expect(loaded.map((configuration) => configuration.section("app"))).toEqual(
      names.map((name) => ({ APP: { name } })),
    );
  });

  // When a module has loaded, Node runs all files that waited for it in the async context of one of them.
  test("env() does so even if files of several applications wait for the same module", async () => {
    const root = folderWith({
      "config/app.ts": `import "../app/shared.ts";\nimport { env } from ${JSON.stringify(ENVIRONMENT)};\nexport const APP = env("APP_NAME");`,
      "app/shared.ts": "await new Promise(setImmediate);",
    });
    const program = `
      import { loadConfiguration } from ${JSON.stringify(new URL("load-configuration.ts", ENVIRONMENT))};
      const load = (APP_NAME) => loadConfiguration(${JSON.stringify(root)}, { APP_NAME });
      const loaded = await Promise.all(["one", "two", "three"].map(load));
      console.log(loaded.map((configuration) => configuration.section("app").APP).join(" "));`;
    expect(await outputOf(program)).toBe("one two three\n");
  });

  test("the error for a file without exports in capital letters names it and says what to write", async () => {
    const root = folderWith({ "config/app.ts": "export const app = {};" });
    await expect(loadConfiguration(root, {})).rejects.toThrow(
      new ConfigurationError(
        "config/app.ts",
        "exports nothing that could be configuration.",
        "Export a constant in capital letters, like: export const APP = { … };",
      ),
    );
  });

  describe("a file that nothing reads", () => {
    const boot = async (files: Record<string, string>) => {
      const warnings: unknown[] = [];
      const logger = createLogger({ name: "test", environment: "test", log: { level: "silent", requests: false } });
      logger.warn = ((warning: unknown) => void warnings.push(warning)) as typeof logger.warn;
      const providers = [ThrottleProvider, SessionProvider];
      const environment = { APP_ENV: "test" };
      const application = await createApplication({ root: folderWith(files), providers, environment, logger });
      await application.shutdown();
      return warnings;
    };
    const throttle = "export const THROTTLE = { store: 'memory' };";

    test.each(["throtle", "Throttle", "throttles"])(
      "fails startup if it was meant to be another: %s.ts",
      async (name) => {
        await expect(boot({ [`config/${name}.ts`]: throttle })).rejects.toThrow(
          new ConfigurationError(`config/${name}.ts`, "is not read. Did you mean config/throttle.ts?", "Rename it."),
        );
      },
    );

    test("causes a warning if only its name is similar", async () => {
      const warnings = await boot({ "config/throtle.ts": "export const LIMITS = {};" });
      expect(warnings).toEqual(["config/throtle.ts: is not read. Did you mean config/throttle.ts?"]);
    });

    test("may be the application's own, or that of a feature that is off", async () => {
      const own = { "config/shop.ts": "export const SHOP = {};", "config/mail.ts": "export const MAIL = {};" };
      expect(await boot({ ...own, "config/throttle.ts": throttle })).toEqual([]);
      expect(await boot({ "config/throttle.ts": throttle, "config/throttles.ts": throttle })).toEqual([]);
    });
  });

  test("one name with two extensions is refused", async () => {
    const root = folderWith({ "config/app.ts": "export const APP = {};", "config/app.js": "export const APP = {};" });
    await expect(loadConfiguration(root, {})).rejects.toThrow(
      new ConfigurationError("config/app.ts and config/app.js", "both exist, but only one can be used.", "Remove one."),
    );
  });

  test("env() reads the environment of an application that is created during another one's request", async () => {
    const root = folderWith({
      "config/app.ts": `import { env } from ${JSON.stringify(ENVIRONMENT)};\nawait 0;\nexport const APP = { name: env("APP_NAME") };`,
    });
    const names = async () => {
      const inner = await loadConfiguration(root, { APP_NAME: "inner" });
      return [inner.section("app").APP, env("APP_NAME")];
    };
    const environment = { APP_ENV: "test", APP_NAME: "outer" };
    const outer = await createApplication({ environment, routes: [Route.get("/", names)] });
    const answer = await outer.fetch(new Request("http://localhost/"));
    expect(await answer.json()).toEqual([{ name: "inner" }, "outer"]);
    await outer.shutdown();
  });

  test("an error thrown by a file is wrapped in one that names the file and keeps the cause", async () => {
    const root = folderWith({ "config/app.ts": "throw new RangeError('out of range');" });
    const error = await loadConfiguration(root, {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(
        /^config\/app\.ts: it could not be loaded: out of range \(at .*config\/app\.ts:1\)$/,
      ),
    });
    expect((error as AshlarError).cause).toBeInstanceOf(Error);
  });

  test("the error names the line that threw, even in a file that the configuration imports", async () => {
    const script = "const a = 1;\n\nthrow new RangeError('too far');";
    const root = folderWith({
      "config/app.ts": 'import "../app/own.ts";\nexport const APP = {};',
      "app/own.ts": script,
    });
    await expect(loadConfiguration(root, {})).rejects.toThrow(/^config\/app\.ts: .*: too far \(at .*app\/own\.ts:3\)$/);
  });

  test("an error of the framework that a file throws is not wrapped", async () => {
    const errors = new URL("../../support/errors.ts", ENVIRONMENT);
    const root = folderWith({
      "config/app.ts": `import { AshlarError } from ${JSON.stringify(errors)};\nthrow new AshlarError("E_MISSING_ENVIRONMENT", "Set SHOP.");`,
    });
    const error = await loadConfiguration(root, {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "E_MISSING_ENVIRONMENT", message: "Set SHOP." });
  });

  test("a file may throw any value", async () => {
    for (const [thrown, reason] of [
      ["'only text'", "only text"],
      ["null", "null"],
      ["undefined", "undefined"],
    ]) {
      const root = folderWith({ "config/app.ts": `throw ${thrown};` });
      const error = await loadConfiguration(root, {}).catch((error: unknown) => error);
      expect(error).toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: `config/app.ts: it could not be loaded: ${reason}`,
      });
    }
  });

  test("a failed load does not affect the next one", async () => {
    const broken = loadConfiguration(folderWith({ "config/app.ts": "throw new Error('broken');" }), {});
    const sound = loadConfiguration(folderWith({ "config/app.ts": "export const APP = 1;" }), {});
    await expect(broken).rejects.toThrow("broken");
    expect((await sound).section("app")).toEqual({ APP: 1 });
  });
});
