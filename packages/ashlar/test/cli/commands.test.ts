import { execFile } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, edit, execute, generatedApplication } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Every file below a folder, by path, with its text. */
async function snapshot(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(file, "latin1")] as const)),
  );
}

describe("help", () => {
  test("every command is listed and has its own help", async () => {
    const { output } = await ashlar(".", "--help");
    const commands = [
      "serve",
      "migrate",
      "migrate:rollback",
      "migrate:status",
      "migrate:fresh",
      "db:copy",
      "routes",
      "doctor",
      "lang:keys",
      "prune",
      "key:generate",
      "auth",
      "api:install",
      "make:controller",
      "make:model",
      "make:migration",
      "make:middleware",
      "make:provider",
      "make:deploy",
    ];
    for (const command of commands) {
      expect(output).toMatch(new RegExp(`^ {2}${command} `, "m"));
      const help = await ashlar(".", command, "--help");
      expect(help).toMatchObject({ code: 0, errors: "" });
      expect(help.output).toContain(`Usage: ashlar ${command}`);
    }
  });

  test("an unknown command fails with a suggestion", async () => {
    const { code, errors } = await ashlar(".", "migrat");
    expect(code).toBe(1);
    expect(errors).toContain("unknown command 'migrat'");
    expect(errors).toContain("Did you mean migrate?");
  });

  test("the version is the package's", async () => {
    const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8"));
    expect(await ashlar(".", "--version")).toEqual({ code: 0, output: version, errors: "" });
  });
});

describe("make", () => {
  test("each command writes the file it names", async () => {
    const root = await temporaryFolder();
    expect(await ashlar(root, "make:controller", "Orders", "-a")).toEqual({
      code: 0,
      output: "Created app/controllers/orders-controller.ts",
      errors: "",
    });
    expect((await ashlar(root, "make:model", "Order")).output).toBe("Created app/models/order.ts");
    expect((await ashlar(root, "make:middleware", "Measure")).output).toBe(
      "Created app/middleware/measure-middleware.ts",
    );
    expect((await ashlar(root, "make:provider", "Search")).output).toBe("Created app/providers/search-provider.ts");
    const provider = await readFile(join(root, "app/providers/search-provider.ts"), "utf8");
    expect(provider).toContain('declareFeature({ name: "search" })');
    expect(provider).not.toContain("stock");
    expect((await ashlar(root, "make:migration", "create_orders")).output).toMatch(
      /^Created database\/migrations\/\d{4}_\d\d_\d\d_\d{6}_create_orders\.ts$/,
    );
    expect(await readFile(join(root, "app/controllers/orders-controller.ts"), "utf8")).toContain(
      "class OrdersController",
    );
  });

  test("an existing file is never overwritten", async () => {
    const root = await temporaryFolder();
    await ashlar(root, "make:model", "Order");
    await writeFile(join(root, "app/models/order.ts"), "mine");
    const { code, errors } = await ashlar(root, "make:model", "Order");
    expect(code).toBe(1);
    expect(errors).toBe("app/models/order.ts already exists and was not changed. Choose another name.");
    expect(await readFile(join(root, "app/models/order.ts"), "utf8")).toBe("mine");
  });

  test("a name that points outside the folder is refused, and nothing is written", async () => {
    const root = await temporaryFolder();
    expect((await ashlar(root, "make:model", "../../evil")).code).toBe(1);
    expect(await readdir(root)).toEqual([]);
  });

  test("-a and -r together are refused", async () => {
    expect((await ashlar(await temporaryFolder(), "make:controller", "A", "-a", "-r")).code).toBe(1);
  });
});

describe("key:generate", () => {
  test("S12 a key of 64 random bytes is written for its owner only, and is never printed", async () => {
    const root = await temporaryFolder();
    const { output, errors } = await ashlar(root, "key:generate");
    const { APP_KEY: key } = parseEnv(await readFile(join(root, ".env"), "utf8"));
    expect(Buffer.from(key!, "base64url")).toHaveLength(64);
    expect(output + errors).not.toContain(key);
    expect((await stat(join(root, ".env"))).mode & 0o777).toBe(0o600);
  });

  test("S12 an existing key is left unchanged", async () => {
    const root = await temporaryFolder();
    await ashlar(root, "key:generate");
    const before = await snapshot(root);
    expect(await ashlar(root, "key:generate")).toEqual({
      code: 0,
      output:
        ".env already has an APP_KEY, which was not changed. To replace it and still accept everything made with it: " +
        "npx ashlar key:generate --rotate",
      errors: "",
    });
    expect(await snapshot(root)).toEqual(before);
  });
});

describe("key:generate --rotate", () => {
  const written = async (root: string) => parseEnv(await readFile(join(root, ".env"), "utf8"));

  test("S12 a new key is written, the old one goes before earlier ones, and none is printed", async () => {
    const root = await generatedApplication();
    const before = await readFile(join(root, ".env"), "utf8");
    const keys = [(await written(root)).APP_KEY!];
    for (const _ of [1, 2]) {
      const { code, output, errors } = await ashlar(root, "key:generate", "--rotate");
      expect([code, errors]).toEqual([0, ""]);
      expect(output).toContain("the old one is now first in APP_PREVIOUS_KEYS");
      keys.unshift((await written(root)).APP_KEY!);
      for (const key of keys) expect(output).not.toContain(key);
    }
    expect(new Set(keys).size).toBe(3);
    expect(Buffer.from(keys[0]!, "base64url")).toHaveLength(64);
    const [current, ...previous] = keys;
    expect(await readFile(join(root, ".env"), "utf8")).toBe(
      before
        .replace(/^APP_KEY=.*$/m, `APP_KEY=${current}`)
        .replace(/^APP_PREVIOUS_KEYS=$/m, `APP_PREVIOUS_KEYS=${previous.join(",")}`),
    );
  });

  test("S12 in two steps, the new key is written next to the old one first, and none is printed", async () => {
    const root = await generatedApplication();
    const { APP_KEY: old } = await written(root);
    const staging = await ashlar(root, "key:generate", "--rotate", "--stage");
    expect([staging.code, staging.errors]).toEqual([0, ""]);
    const { APP_KEY: current, APP_NEXT_KEY: staged } = await written(root);
    expect(current).toBe(old);
    expect(Buffer.from(staged!, "base64url")).toHaveLength(64);
    const promoting = await ashlar(root, "key:generate", "--promote");
    expect([promoting.code, promoting.errors]).toEqual([0, ""]);
    expect(await written(root)).toMatchObject({ APP_KEY: staged, APP_NEXT_KEY: "", APP_PREVIOUS_KEYS: old });
    for (const key of [old!, staged!]) expect(staging.output + promoting.output).not.toContain(key);
    expect((await ashlar(root, "key:generate", "--promote", "--stage")).code).toBe(1);
  });

  test("S12 if there is no key, it only creates one", async () => {
    const root = await temporaryFolder();
    expect((await ashlar(root, "key:generate", "--rotate")).output).toBe("APP_KEY was written to .env.");
    expect(await written(root)).toEqual({ APP_KEY: expect.stringMatching(/^[\w-]{86}$/) });
  });

  test("S12 if the old key can't be saved, it stays, is not printed, and the command fails", async () => {
    const root = await temporaryFolder();
    await writeFile(join(root, ".env"), "APP_KEY=hunter2\n");
    expect(await ashlar(root, "key:generate", "--rotate")).toEqual({
      code: 1,
      output: "",
      errors:
        ".env was not changed. The secret in APP_KEY is shorter than 32 bytes. No application accepts it as a previous " +
        "key. Clear its value and run: npx ashlar key:generate",
    });
    expect(await readFile(join(root, ".env"), "utf8")).toBe("APP_KEY=hunter2\n");
  });
});

describe("key:generate --jwt", () => {
  const written = async (root: string) => parseEnv(await readFile(join(root, ".env"), "utf8"));
  const bodyOf = (pem: string) => pem.split("\n")[1]!;

  test("S101 a private key is written and not printed, with the lines by which the driver reads it", async () => {
    const root = await generatedApplication();
    const before = await written(root);
    const { code, output, errors } = await ashlar(root, "key:generate", "--jwt", "ES256");
    expect([code, errors]).toEqual([0, ""]);
    const { JWT_PRIVATE_KEY, ...others } = await written(root);
    expect({ ...others }).toEqual({ ...before });
    expect(output).toBe(
      [
        "JWT_PRIVATE_KEY was written to .env: a private key for ES256.",
        "In config/api.ts, in DRIVERS.jwt:",
        '    algorithm: "ES256",',
        '    secret: env("JWT_PRIVATE_KEY"),',
        '    nextSecret: env("JWT_NEXT_KEY"),',
        '    previousSecrets: env("JWT_PREVIOUS_KEYS"),',
      ].join("\n"),
    );
    expect(output).not.toContain(bodyOf(JWT_PRIVATE_KEY!));
    const again = await ashlar(root, "key:generate", "--jwt", "ES256");
    expect(again.output).toMatch(/^\.env already has JWT_PRIVATE_KEY, which was not changed\..*--rotate\n/);
    expect((await written(root)).JWT_PRIVATE_KEY).toBe(JWT_PRIVATE_KEY);
  });

  test("S101 another driver's public key is announced along with that driver's keys", async () => {
    const root = await temporaryFolder();
    const run = async (...more: string[]) =>
      (await ashlar(root, "key:generate", "--jwt", "EdDSA", "--driver", "admin", ...more)).output;
    await run();
    const output = await run("--rotate", "--stage");
    expect(output).toContain(
      'at /.well-known/admin/jwks.json, if Api.keys({ driver: "admin" }) is in your routes. ' +
        "Then run: npx ashlar key:generate --jwt EdDSA --driver admin --promote",
    );
  });

  test("S101 it is replaced at once or in two steps, and no key is printed", async () => {
    const root = await temporaryFolder();
    const run = async (...options: readonly string[]) => {
      const { code, output, errors } = await ashlar(root, "key:generate", "--jwt", "EdDSA", ...options);
      expect([code, errors]).toEqual([0, ""]);
      const keys = await written(root);
      for (const pem of Object.values(keys).filter((value) => value!.includes("BEGIN"))) {
        expect(output).not.toContain(bodyOf(pem!));
      }
      return { output, keys };
    };
    expect((await run("--rotate")).output).toMatch(/^\.env has no JWT_PRIVATE_KEY yet/);
    const { keys: first } = await run();
    const { keys: rotated } = await run("--rotate");
    expect(rotated.JWT_PRIVATE_KEY).not.toBe(first.JWT_PRIVATE_KEY);
    expect(rotated.JWT_PREVIOUS_KEYS).toMatch(/^-----BEGIN PUBLIC KEY-----/);
    const { output, keys: staged } = await run("--rotate", "--stage");
    expect(output).toContain("npx ashlar key:generate --jwt EdDSA --promote");
    expect(output).toContain("at /.well-known/jwks.json, if Api.keys() is in your routes.");
    expect(staged.JWT_PRIVATE_KEY).toBe(rotated.JWT_PRIVATE_KEY);
    const { keys: promoted } = await run("--promote");
    expect(promoted).toMatchObject({ JWT_PRIVATE_KEY: staged.JWT_NEXT_KEY, JWT_NEXT_KEY: "" });
    expect(promoted.JWT_PREVIOUS_KEYS!.match(/BEGIN/g)).toHaveLength(2);
  });

  test("a driver with another name has separate keys, and other algorithms are refused", async () => {
    const root = await temporaryFolder();
    const { output } = await ashlar(root, "key:generate", "--jwt", "EdDSA", "--driver", "admin");
    expect(output).toContain("ADMIN_PRIVATE_KEY was written");
    for (const options of [["--jwt", "HS512"], ["--jwt", "none"], ["--jwt"], ["--jwt", "EdDSA", "--driver", "a b"]]) {
      expect((await ashlar(root, "key:generate", ...options)).code).toBe(1);
    }
  });
});

describe("api:install", () => {
  test("S12 it creates 64 random bytes, writes them to .env, and never prints them", async () => {
    const root = await generatedApplication({ api: false });
    const { output, errors } = await ashlar(root, "api:install");
    const { JWT_SECRET: secret } = parseEnv(await readFile(join(root, ".env"), "utf8"));
    expect(Buffer.from(secret!, "base64url")).toHaveLength(64);
    expect(output + errors).not.toContain(secret);
  });

  test("changes nothing when run again", async () => {
    const root = await generatedApplication({ api: false });
    await ashlar(root, "api:install");
    const before = await snapshot(root);
    const second = await ashlar(root, "api:install");
    expect(second.code).toBe(0);
    expect(second.output).toContain("Everything is already in place; nothing was changed.");
    expect(await snapshot(root)).toEqual(before);
  });

  test("files that the author has changed get only the missing lines", async () => {
    const root = await generatedApplication({ api: false, pages: false });
    const added = {
      "config/providers.ts": ['import { ApiProvider } from "ashlar/api";', "  ApiProvider,"],
      "app/kernel.ts": [
        'import { AbilityMiddleware, AnyAbilityMiddleware, JWTAuthenticationMiddleware } from "ashlar/api";',
        "    api: [JWTAuthenticationMiddleware],",
        "    ability: [AbilityMiddleware],",
        '    "any-ability": [AnyAbilityMiddleware],',
        '    this.container.bind("routes.api.location", "routes/api");',
        '    this.container.bind("routes.api.prefix", "/api");',
      ],
      "app/models/user.ts": [
        'import { AuthenticatesTokens } from "ashlar/api";',
        "export class User extends compose(Model, Authenticates, AuthenticatesTokens) {",
      ],
      "routes/web.ts": ['import { Api } from "ashlar/api";', "  ...Api.routes(),"],
      ".env.example": [
        "# 64 random bytes, base64url, that API tokens are signed with: npx ashlar key:generate",
        "JWT_SECRET=",
      ],
    };
    const read = (path: string) => readFile(join(root, path), "utf8");
    const before: Record<string, string[]> = {};
    for (const path of [...Object.keys(added), ".env"]) {
      await writeFile(join(root, path), `${await read(path)}\n`);
      before[path] = (await read(path)).split("\n");
    }
    const { output } = await ashlar(root, "api:install");
    expect(output).not.toContain("by hand");
    for (const [path, lines] of Object.entries(added)) {
      const after = (await read(path)).split("\n");
      expect(after.filter((line) => !before[path]!.includes(line))).toEqual(lines);
    }
    const complete = await ashlar(await generatedApplication({ api: true }), "api:install");
    expect(complete.output).toBe("Everything is already in place; nothing was changed.");
  });

  test("a step that is only mentioned in a comment does not count as done", async () => {
    const root = await generatedApplication({ api: false });
    const file = join(root, "routes/web.ts");
    await writeFile(file, `// one day: ...Api.routes()\n${await readFile(file, "utf8")}`);
    await ashlar(root, "api:install");
    expect(await readFile(file, "utf8")).toMatch(/^ {2}\.\.\.Api\.routes\(\),$/m);
  });

  test("the author's own configuration and routes are left alone", async () => {
    const root = await generatedApplication({ api: false });
    await writeFile(join(root, "config/api.ts"), "mine");
    await ashlar(root, "api:install");
    expect(await readFile(join(root, "config/api.ts"), "utf8")).toBe("mine");
    expect(await readFile(join(root, "routes/api.ts"), "utf8")).toContain("ROUTES");
  });

  test("the migration for the token column is not created twice", async () => {
    const root = await generatedApplication({ api: false });
    await writeFile(
      join(root, "database/migrations/2026_01_01_000000_tokens.ts"),
      'addColumn("api_token", "varchar(255)")',
    );
    const { output } = await ashlar(root, "api:install");
    expect(output).not.toContain("database/migrations");
  });
});

describe("a command that starts the application", () => {
  const BOOT = join(import.meta.dirname, "../../src/boot/index.ts");

  /** An application that writes a file when it has shut down. */
  async function application(prune: string): Promise<string> {
    const root = await temporaryFolder();
    const program = `
      import { writeFileSync } from "node:fs";
      import { createApplication, Provider } from ${JSON.stringify(BOOT)};
      class Cleaning extends Provider {
        prune() { ${prune} }
        shutdown() { writeFileSync(this.application.root + "/shut-down", ""); }
      }
      const environment = { APP_ENV: "test" };
      export default await createApplication({ root: import.meta.dirname, environment, providers: [Cleaning] });`;
    await writeFile(join(root, "app.ts"), program);
    return root;
  }

  test("shuts it down when it is done", async () => {
    for (const command of ["prune", "routes"]) {
      const root = await application('return { "old things": 3 };');
      const { code, output } = await ashlar(root, command);
      expect([code, output]).toEqual([0, command === "prune" ? "old things: 3 deleted" : expect.any(String)]);
      expect(await readdir(root)).toContain("shut-down");
    }
  });

  test("shuts it down when it fails", async () => {
    const root = await application('throw new Error("locked");');
    const { code, errors } = await ashlar(root, "prune");
    expect([code, errors]).toEqual([1, expect.stringContaining("Error: locked")]);
    expect(await readdir(root)).toContain("shut-down");
  });
});

describe("a command that fails", () => {
  test("exits with 1 even if the file it loaded serves an application itself", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    const program = [
      'import { createApplication } from "ashlar";',
      "const application = await createApplication({ routes: [] });",
      "await application.listen({ port: 0 });",
    ];
    await writeFile(join(root, "app.ts"), program.join("\n"));
    const listing = await ashlar(root, "routes");
    expect(listing.errors).toBe(
      "A command that inspects the application must not start it. Replace the call of listen() in app.ts with: " +
        "export default application;",
    );
    expect(listing.code).toBe(1);
    const { code, output } = await execute(root, process.execPath, [COMMAND, "prune"]);
    expect(output).toContain("does not export an application. Add: export default await createApplication(");
    expect(output).toContain("If the file calls listen() itself, start it with: node app.ts");
    expect(code).toBe(1);
  });
});

describe("an old Node", () => {
  test.for([
    { name: "ashlar", version: "20.20.2", needs: "Ashlar needs Node.js 24.7", advice: '"npm install node@26"' },
    { name: "create-ashlar", version: "20.11.1", needs: "create-ashlar needs Node.js 20.12", advice: "" },
  ])("$name prints one sentence that says what to do", async ({ name, version, needs, advice }) => {
    const script = join(import.meta.dirname, "../../..", name, `bin/${name}.js`);
    const old = `data:text/javascript,${encodeURIComponent('Object.defineProperty(process.versions, "node", { value: VERSION });'.replace("VERSION", JSON.stringify(version)))}`;
    const failure = await promisify(execFile)(process.execPath, ["--import", old, script]).then(
      () => null,
      (error: { code: number; stderr: string }) => error,
    );
    expect(failure?.code).toBe(1);
    expect(failure?.stderr).toContain(`${needs} or newer, and this is ${version}: `);
    expect(failure?.stderr).toContain(advice);
    expect(failure?.stderr).toMatch(/^[^\n]+\.\n$/);
  });
});

test.for(["doctor", "routes", "lang:keys"])(
  "%s ends even if a module of the application has a timer",
  async (command) => {
    const root = await generatedApplication();
    await edit(root, "routes/web.ts", ["export const ROUTES", "setInterval(() => {}, 1000);\n\nexport const ROUTES"]);
    await execute(root, process.execPath, [COMMAND, "migrate"]);
    const { code, output } = await execute(root, process.execPath, [COMMAND, command]);
    expect([code, output.length > 20]).toEqual([0, true]);
  },
);
