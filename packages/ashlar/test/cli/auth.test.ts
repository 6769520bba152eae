import { execFileSync } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, edit, generatedApplication, passesItsOwnChecks } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Every file of an application by path, without secrets and the times in migrations' names. */
async function filesOf(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== ".env");
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = relative(root, join(parentPath, name)).replace(/\d{4}_\d\d_\d\d_\d{6}_/, "");
        return [path, await readFile(join(parentPath, name), "utf8")] as const;
      }),
    ),
  );
}

/** Adds an author's lines to the files that wire up the features. */
async function makeOwn(root: string): Promise<void> {
  const first = (path: string) => edit(root, path, ["\n", "\n// Mine.\n"]);
  await first("app/kernel.ts");
  await first("app/models/user.ts");
  await first("config/providers.ts");
  await first("routes/web.ts");
  // The author has removed limits, too.
  await edit(
    root,
    "app/kernel.ts",
    ['import { ThrottleMiddleware } from "ashlar/throttle";\n', ""],
    ["    throttle: [ThrottleMiddleware],\n", ""],
  );
  await edit(
    root,
    "config/providers.ts",
    ['import { ThrottleProvider } from "ashlar/throttle";\n', ""],
    ["  ThrottleProvider,\n", ""],
  );
}

describe("on an unchanged application without pages", () => {
  test.for([{ api: true }, { api: false }])(
    "leaves no manual steps, and the application passes its checks: %j",
    async ({ api }) => {
      const root = await generatedApplication({ pages: false, api });
      const { code, output } = await ashlar(root, "auth");
      expect(code).toBe(0);
      expect(output).toContain("Changed app/kernel.ts\n");
      expect(output).toContain("Created app/controllers/auth/login-controller.ts\n");
      expect(output).toMatch(/Run the migrations: npx ashlar migrate$/);
      await passesItsOwnChecks(root, { pages: true, api });
    },
  );

  test("changes nothing when run again", async () => {
    const root = await generatedApplication({ pages: false });
    await ashlar(root, "auth");
    const before = await filesOf(root);
    expect(await ashlar(root, "auth")).toEqual({
      code: 0,
      output: "Everything is already in place; nothing was changed.",
      errors: "",
    });
    expect(await filesOf(root)).toEqual(before);
  });

  test("changes nothing in a new application with pages", async () => {
    const { output } = await ashlar(await generatedApplication(), "auth");
    expect(output).toBe("Everything is already in place; nothing was changed.");
  });
});

describe("on an application that its author has changed", () => {
  test("adds its lines beside the author's, and the application passes its checks", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    await makeOwn(root);
    const { code, output } = await ashlar(root, "auth");
    expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
    for (const file of ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"]) {
      expect(await readFile(join(root, file), "utf8")).toContain("// Mine.\n");
    }
    expect((await ashlar(root, "auth")).output).toBe("Everything is already in place; nothing was changed.");
    await passesItsOwnChecks(root, { pages: true, api: false });
  });

  test("leaves code in an unknown form alone, and prints the lines file by file", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    await makeOwn(root);
    await edit(
      root,
      "app/kernel.ts",
      ["override routeMiddleware = {", "override routeMiddleware = stacks({"],
      ["  };\n", "  });\n"],
    );
    await edit(
      root,
      "app/models/user.ts",
      ["extends compose(Model, Authenticates)", "extends Base"],
      ["export class", "class Base extends mixed(Model, Authenticates) {}\n\nexport class"],
    );
    await edit(root, "config/providers.ts", ["PROVIDERS = [", "PROVIDERS = inOrder(["], ["];", "]);"]);
    await edit(root, "routes/web.ts", ["ROUTES: RouteEntry[] = [", "ROUTES: RouteEntry[] = sorted(["], ["];", "]);"]);
    const files = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"];
    const texts = () => Promise.all(files.map((file) => readFile(join(root, file), "utf8")));
    const before = await texts();
    const { code, output } = await ashlar(root, "auth");
    expect(code).toBe(0);
    expect(await texts()).toEqual(before);
    expect(output.slice(output.indexOf("Add the following"))).toBe(`Add the following by hand:

config/providers.ts
  import { SessionProvider } from "ashlar/session";
  // in PROVIDERS, after ViewProvider:
  SessionProvider,

config/providers.ts
  import { ThrottleProvider } from "ashlar/throttle";
  // in PROVIDERS, after SessionProvider:
  ThrottleProvider,

config/providers.ts
  import { MailProvider } from "ashlar/mail";
  // in PROVIDERS, after ThrottleProvider:
  MailProvider,

app/kernel.ts
  import { SecurityHeadersMiddleware } from "ashlar";
  import { LoadUserMiddleware } from "ashlar/auth";
  import { SessionMiddleware, VerifyCsrfToken } from "ashlar/session";
  // in routeMiddleware, in this order:
  web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken],

app/kernel.ts
  import { AuthPageMiddleware } from "ashlar/auth";
  // in routeMiddleware:
  "auth.page": [AuthPageMiddleware],

app/kernel.ts
  import { ConfirmPasswordMiddleware } from "ashlar/auth";
  // in routeMiddleware:
  "password.confirm": [ConfirmPasswordMiddleware],

app/kernel.ts
  import { ConfirmPasswordMiddleware } from "ashlar/auth";
  // in routeMiddleware:
  confirm: [ConfirmPasswordMiddleware],

app/kernel.ts
  import { VerifiesEmailMiddleware } from "ashlar/auth";
  // in routeMiddleware:
  verified: [VerifiesEmailMiddleware],

app/kernel.ts
  import { ThrottleMiddleware } from "ashlar/throttle";
  // in routeMiddleware:
  throttle: [ThrottleMiddleware],

app/models/user.ts
  import { MustVerifyEmail } from "ashlar/auth";
  // add the mixin to the class: MustVerifyEmail

routes/web.ts
  import { Auth } from "ashlar/auth";
  import { AuthControllers } from "../app/controllers/auth/index.ts";
  // in ROUTES:
  ...Auth.routes(AuthControllers),

routes/web.ts
  import { Csrf } from "ashlar/session";
  // in ROUTES:
  ...Csrf.routes(),`);
  });

  test("the author's own guards stay, and the author chooses the default", async () => {
    const root = await generatedApplication({ pages: false, api: true });
    await edit(root, "config/auth.ts", ["\n", "\n// Mine.\n"]);
    const { output } = await ashlar(root, "auth");
    expect(output.split("Add the following by hand:\n\n")[1]).toBe(
      'config/auth.ts\n  // in GUARDS:\n  default: "web",',
    );
    const text = await readFile(join(root, "config/auth.ts"), "utf8");
    for (const line of ["// Mine.", 'default: "jwt",', "jwt: { model: User },", "web: { model: User },"]) {
      expect(text).toContain(line);
    }
    expect(text).toContain("    verifyEmail: VerifyEmailMail,\n");
    await checkTypes(root);
    await edit(root, "config/auth.ts", ['default: "jwt"', 'default: "web"']);
    await ashlar(root, "auth");
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test("a table that one of the author's migrations creates is not created again", async () => {
    const root = await generatedApplication({ pages: false });
    await writeFile(join(root, "database/migrations/2026_01_01_000000_own.ts"), 'createTable("logins")');
    const { output } = await ashlar(root, "auth");
    expect(output).not.toContain("create_logins");
    expect(output).toContain("create_password_resets");
  });

  test("S51 a user table older than the access epoch gets its column, once", async () => {
    const root = await generatedApplication();
    const folder = join(root, "database/migrations");
    for (const file of await readdir(folder)) {
      // The table of its logins had another name.
      if (file.includes("create_logins")) await rm(join(folder, file));
      if (!file.includes("create_users")) continue;
      const text = await readFile(join(folder, file), "utf8");
      await writeFile(join(folder, file), text.replace(/^ *\.addColumn\("access_epoch".*\n/m, ""));
    }
    const { output } = await ashlar(root, "auth");
    expect(output).toMatch(/create_logins\.ts\n[\s\S]*add_access_epoch_to_users\.ts\n/);
    expect((await ashlar(root, "auth")).output).toBe("Everything is already in place; nothing was changed.");
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test("if a file conflicts, nothing is written", async () => {
    const root = await generatedApplication({ pages: false });
    await writeFile(join(root, "views/home.edge"), "mine");
    await writeFile(join(root, "public/style.css"), "mine");
    const before = await filesOf(root);
    expect(await ashlar(root, "auth")).toEqual({
      code: 1,
      output: "",
      errors:
        "These files differ from what would be written:\n  views/home.edge\n  public/style.css\n" +
        "Nothing was written. Use --dry-run to see the differences, --migrations to write only the missing migrations, " +
        "or --force to overwrite these files.",
    });
    expect(await filesOf(root)).toEqual(before);
  });

  test("with --force, it overwrites conflicting files, but never the author's lines in the files that wire it up", async () => {
    const root = await generatedApplication();
    await edit(root, "views/home.edge", ["pages.home.hello", "app.home.hello"]);
    await edit(root, "app/kernel.ts", ["verified: [VerifiesEmailMiddleware],", "// none"]);
    const { code, output } = await ashlar(root, "auth", "--force");
    expect([code, output]).toEqual([0, "Changed views/home.edge\nChanged app/kernel.ts"]);
    expect(await readFile(join(root, "views/home.edge"), "utf8")).toContain("pages.home.hello");
    expect(await readFile(join(root, "app/kernel.ts"), "utf8")).toMatch(
      /\/\/ none[\s\S]*verified: \[VerifiesEmailMiddleware\],/,
    );
  });
});

describe("--dry-run", () => {
  test("writes nothing, and prints a patch for git with the same result", async () => {
    const root = await generatedApplication({ pages: false });
    await writeFile(join(root, "views/home.edge"), "mine\n");
    const before = await filesOf(root);
    const { code, output } = await ashlar(root, "auth", "--dry-run", "--force");
    expect(code).toBe(0);
    expect(await filesOf(root)).toEqual(before);

    const copy = await temporaryFolder();
    await cp(root, copy, { recursive: true });
    execFileSync("git", ["apply", "--whitespace=nowarn", "-"], { cwd: copy, input: `${output}\n` });
    await ashlar(root, "auth", "--force");
    expect(await filesOf(copy)).toEqual(await filesOf(root));
  });

  test("reports that nothing would change", async () => {
    const { output } = await ashlar(await generatedApplication(), "auth", "--dry-run");
    expect(output).toBe("Everything is already in place; nothing would be changed.");
  });
});

test("outside an application, the error says where to run the command", async () => {
  const root = await temporaryFolder();
  const refusal = `There is no application in ${root}. Run the command in the application's folder.`;
  expect(await ashlar(root, "auth")).toEqual({ code: 1, output: "", errors: refusal });
  const application = await generatedApplication({ pages: false });
  await rm(join(application, "app.ts"));
  expect((await ashlar(application, "auth")).code).toBe(1);
});

describe("on a checkout with CRLF line endings", () => {
  /** Changes the line endings of all text files of an application, as git does with core.autocrlf. */
  async function withCrlf(root: string): Promise<string> {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile() && one.name !== ".env")) {
      const file = join(entry.parentPath, entry.name);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("\n", "\r\n"));
    }
    return root;
  }

  test("files that differ only in their line endings do not conflict", async () => {
    const root = await withCrlf(await generatedApplication());
    const before = await filesOf(root);
    expect(await ashlar(root, "auth")).toEqual({
      code: 0,
      output: "Everything is already in place; nothing was changed.",
      errors: "",
    });
    expect(await filesOf(root)).toEqual(before);
  });

  test("a changed file keeps its line endings, and the patch shows only the changes", async () => {
    const root = await withCrlf(await generatedApplication({ pages: false }));
    const { output: difference } = await ashlar(root, "auth", "--dry-run");
    expect(difference).toContain("+++ b/app/kernel.ts");
    expect(difference).not.toContain("-export class Kernel");
    const { output } = await ashlar(root, "auth");
    expect(output).toContain("Changed app/kernel.ts");
    const kernel = await readFile(join(root, "app/kernel.ts"), "utf8");
    expect(kernel).toContain("VerifyCsrfToken");
    expect(kernel.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test("files with the author's lines still conflict", async () => {
    const root = await withCrlf(await generatedApplication());
    await edit(root, "views/home.edge", ["pages.home.hello", "app.home.hello"]);
    const { code, errors } = await ashlar(root, "auth");
    expect(code).toBe(1);
    expect(errors).toContain("  views/home.edge\n");
    await ashlar(root, "auth", "--force");
    const home = await readFile(join(root, "views/home.edge"), "utf8");
    expect(home).toContain("pages.home.hello");
    expect(home.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });

  test("api:install works, and its lines in .env have CRLF too", async () => {
    const root = await generatedApplication({ api: false });
    const env = await readFile(join(root, ".env"), "utf8");
    await withCrlf(root);
    await writeFile(join(root, ".env"), env.replaceAll("\n", "\r\n"));
    const { output } = await ashlar(root, "api:install");
    expect(output).toContain("JWT_SECRET was written to .env.");
    const after = await readFile(join(root, ".env"), "utf8");
    expect(after).toMatch(/\r\nJWT_SECRET=[\w-]{86}\r\n/);
    expect(after.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });
});
