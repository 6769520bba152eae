import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execute, freePort } from "../support/generated-application.ts";
import { compile, installedApplication } from "../support/installed-application.ts";
import { startProcess } from "../support/long-process.ts";
import { isPageFile, PAGES } from "../support/page-files.ts";
import { filesOf, moduleOf, publicNames, type SampleModule, settingNames } from "../support/sample-modules.ts";
import { docCommentSamples, markdownSamples, REPOSITORY, type Sample } from "../support/samples.ts";

/** The files that samples import from; both are in the folder `samples/` of an application. */
const SETTING = ["given.ts", "setting.ts"];
const SOURCES = ["packages/ashlar/src", "packages/create-ashlar/src"];
const READMES = ["README.md", "packages/ashlar/README.md"];
const DOCUMENTS = [
  ...READMES,
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs",
  "packages/create-ashlar/README.md",
  "packages/ashlar/stubs",
];

/** The languages of fences with code other than TypeScript, which is not compiled. */
const OTHER_LANGUAGES = [
  "sh",
  "css",
  "text",
  "http",
  "json",
  "edge",
  "sql",
  "html",
  "diff",
  "dockerfile",
  "nginx",
  "ini",
  "yaml",
  "caddy",
  "haproxy",
  "bash",
  "php",
  "python",
  "js",
];

async function allSamples(): Promise<Sample[]> {
  return [...(await docCommentSamples(...SOURCES)), ...(await markdownSamples(...DOCUMENTS))];
}

async function modules(): Promise<SampleModule[]> {
  const setting: ReturnType<typeof settingNames>[] = [];
  for (const name of SETTING) {
    setting.push(settingNames(await readFile(join(import.meta.dirname, `${name}.stub`), "utf8"), `./${name}`));
  }
  const names = await publicNames();
  const samples = (await allSamples()).filter((sample) => sample.language === "ts" && !isPageFile(sample));
  const files = samples.flatMap(filesOf);
  return files.map((file) => {
    // Files that one sample shows together import from each other.
    const others = files.flatMap((other, index) =>
      other.path !== null && other !== file && other.sample === file.sample
        ? [...settingNames(other.code, `./${index}.ts`)]
        : [],
    );
    return moduleOf(file, new Map(others), ...setting, names);
  });
}

/** An installed application with the files that the samples assume. */
async function applicationForSamples(): Promise<string> {
  const root = await installedApplication();
  await mkdir(join(root, "samples"));
  for (const name of SETTING) {
    await copyFile(join(import.meta.dirname, `${name}.stub`), join(root, "samples", name));
  }
  return root;
}

test("every fence names a known language", async () => {
  const samples = await allSamples();
  const unknown = samples.filter(({ language }) => language !== "ts" && !OTHER_LANGUAGES.includes(language));
  expect(unknown.map(({ file, line, language }) => `${file}:${line} ${language}`)).toEqual([]);
  expect(samples.filter(({ language }) => language === "ts").length).toBeGreaterThan(40);
});

test("each page of the manual that shows complete files is followed by a test", async () => {
  const tests = await readdir(import.meta.dirname, { recursive: true });
  const texts = await Promise.all(
    tests.filter((name) => name.endsWith(".test.ts")).map((name) => readFile(join(import.meta.dirname, name), "utf8")),
  );
  const folders = PAGES.filter((folder) => existsSync(join(REPOSITORY, folder)));
  const pages = new Set((await markdownSamples(...folders)).filter(isPageFile).map(({ file }) => file));
  expect([...pages].filter((page) => !texts.some((text) => text.includes(`"${page}"`)))).toEqual([]);
});

/** Samples that are compiled but not run, identified by a part of them, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'auth.guard("staff")': "the generated application has one guard with logins",
  "Bun.serve(": "it needs Bun",
  "dialectSuite(": "its database does not exist",
  "doorSuite(": "it would need another application of the same models",
  "authenticatorCode(": "its page is the application's",
  "new VirtualAuthenticator()": "no one is logged in",
  "await accounts.events(": "no one is logged in",
  "user.authenticators()": "its user is declared only",
  "isPin(user": "its functions are declared only",
};

test("the code in doc comments and documents compiles in an application, and runs", { timeout: 240_000 }, async () => {
  const root = await applicationForSamples();
  const samples = await modules();
  for (const [index, { text }] of samples.entries()) await writeFile(join(root, `samples/${index}.ts`), text);
  const output = await compile(root, "TypeScript 7", "--singleThreaded");
  const problems = output
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((problem) =>
      problem.replace(/^samples\/(\d+)\.ts\((\d+),/, (_, index: string, line: string) => {
        const { file, line: first } = samples[Number(index)]!;
        return `${file}:${first + Math.max(0, Number(line) - 2)} (`;
      }),
    );
  expect(problems).toEqual([]);
  expect(await run(root, samples)).toEqual([]);
});

/** Runs the samples that are not files of a complete application, and reports failures. */
async function run(root: string, samples: readonly SampleModule[]): Promise<string[]> {
  const reasons = Object.keys(NOT_RUN);
  for (const piece of reasons)
    expect(
      samples.some(({ code }) => code.includes(piece)),
      piece,
    ).toBe(true);
  await copyFile(join(import.meta.dirname, "run-samples.ts.stub"), join(root, "samples/run.ts"));
  await copyFile(join(import.meta.dirname, "routes.ts.stub"), join(root, "routes/web.ts"));
  for (const form of ["text", "html"]) {
    await mkdir(join(root, "views/mail"), { recursive: true });
    await writeFile(join(root, `views/mail/shipped.${form}.edge`), "{{ link }}");
  }
  const examples: { module: string; setting: string; name: string }[] = [];
  for (const [index, { file, line, path, code, text }] of samples.entries()) {
    if (path !== null || reasons.some((piece) => code.includes(piece))) continue;
    // The query makes it a separate module, with its own application and database.
    const own = text.replaceAll('"./setting.ts"', `"./setting.ts?${index}"`).replace("port: 3000", "port: 0");
    await writeFile(join(root, `samples/run-${index}.ts`), own);
    examples.push({ module: `./run-${index}.ts`, setting: `./setting.ts?${index}`, name: `${file}:${line}` });
  }
  const { output } = await execute(root, process.execPath, ["samples/run.ts", JSON.stringify(examples)]);
  const [, count, problems] = /^RAN (\d+) (.*)$/m.exec(output) ?? [];
  if (problems === undefined) return [output];
  expect(Number(count)).toBeGreaterThan(40);
  return JSON.parse(problems) as string[];
}

test("the store in the comment of ThrottleStore passes its test", async () => {
  const root = await applicationForSamples();
  const all = await modules();
  const files = [...all.entries()].filter(([, { file }]) => file.endsWith("throttle/stores/store.ts"));
  expect(files.map(([, { path }]) => path)).toEqual(["app/stores/file-store.ts", "tests/file-store.test.ts"]);
  for (const [index, { text }] of files) await writeFile(join(root, `samples/${index}.ts`), text);
  const { code, output } = await execute(root, process.execPath, ["--test", `samples/${files[1]![0]}.ts`]);
  expect(code, output).toBe(0);
  expect(output).toContain("no two concurrent attempts see the same count");
});

/** The application that a README shows in files, within a generated one. */
const README_TEST = `
  import { createTestApplication, createTestClient, factory } from "ashlar/testing";
  import { Kernel } from "./app/kernel.ts";
  import { User } from "./app/models/user.ts";
  import { ROUTES } from "./routes/web.ts";
  import { route as count } from "./routes/count.ts";
  import { route as store } from "./routes/store.ts";

  ROUTES.push(count, store);
  const application = await createTestApplication({ root: import.meta.dirname, kernel: Kernel });
  const { kysely } = application.container.make("database");
  await kysely.schema.createTable("orders").addColumn("id", "integer", (id) => id.primaryKey())
    .addColumn("number", "integer").addColumn("note", "text").addColumn("user_id", "integer")
    .addColumn("created_at", "text").addColumn("updated_at", "text").execute();
  const user = await factory(User, () => ({ name: "Ada", email: "ada@example.com", password: "a password of hers", verified_at: new Date() })).create();
  const credentials = { username: "ada@example.com", password: "a password of hers" };
  const { data: token } = (await createTestClient(application).post("/api/auth", credentials)).json;
  const client = createTestClient(application).withToken(token);
  const order = (await client.postJson("/api/orders", { number: "7", note: "Ring twice." })).json;
  const me = (await client.get("/api/me")).json;
  const visitor = createTestClient(application).withCsrfToken();
  const statuses = [(await visitor.post("/orders", { note: "Guest" })).status];
  for (const path of ["/", "/register", "/orders", "/orders/7", "/api/me"]) statuses.push((await visitor.get(path)).status);
  await visitor.actingAs(user);
  statuses.push((await visitor.get("/orders/7")).text);
  const { note, user_id } = (await visitor.post("/orders", { note: "Leave it at the door." })).json;
  const languages = [note, user_id, (await visitor.get("/orders")).text];
  const { errors } = (await visitor.postJson("/orders", { note: "x".repeat(81) })).json;
  languages.push(errors.note[0].message);
  await application.shutdown();
  console.log("RESULT " + JSON.stringify({ languages, order: [order.number, order.note, order.user_id], me: me.email, statuses }));
  process.exit(0);
`;

test.for(READMES)("the application in %s boots unchanged, and responds", async (readme) => {
  const root = await applicationForSamples();
  const files = (await modules()).filter(({ file, path }) => file === readme && path !== null);
  expect(files.map(({ path }) => path)).toEqual([
    "routes/web.ts",
    "routes/api.ts",
    "app/models/order.ts",
    "app/controllers/orders-api-controller.ts",
    "config/auth.ts",
    "lang/en.ts",
    "lang/de.ts",
  ]);
  const all = await modules();
  const routes = [/^Route\.get\("\/orders"/m, /^Route\.post\("\/orders"/m].map((start, index) => {
    const { text } = all.find(({ file, code }) => file === readme && start.test(code))!;
    const own = text.replace('{ Order } from "./given.ts"', '{ Order } from "../app/models/order.ts"');
    expect(own).not.toBe(text);
    return { path: `routes/${["count", "store"][index]}.ts`, text: own.replace(start, "export const route = $&") };
  });
  for (const { path, text } of [...files, ...routes]) {
    const up = "../".repeat(path!.split("/").length - 1);
    const placed = text
      .replaceAll('"./given.ts"', `"${up}samples/given.ts"`)
      .replaceAll(/"\.\/(\d+)\.ts"/g, (_, index: string) => `"${up}${all[Number(index)]!.path}"`);
    await mkdir(join(root, path!, ".."), { recursive: true });
    await writeFile(join(root, path!), placed);
  }
  await writeFile(join(root, "run.ts"), README_TEST);
  const { output } = await execute(root, process.execPath, ["run.ts"]);
  const [, json] = /^RESULT (.+)$/m.exec(output) ?? [];
  expect(json === undefined ? output : JSON.parse(json)).toEqual({
    order: [7, "Ring twice.", 1],
    me: "ada@example.com",
    statuses: [302, 200, 200, 302, 302, 401, "Order 7"],
    languages: ["Leave it at the door.", 1, "2 orders", "Use at most 80 characters."],
  });
});

test.for(READMES)("the first program in %s prints the URL it listens on, and responds there", async (readme) => {
  const sample = (await markdownSamples(readme)).find(({ code }) => code.includes(".listen("))!;
  const root = await installedApplication();
  const port = await freePort();
  await writeFile(join(root, "hello.ts"), sample.code.replace("port: 3000", `port: ${port}`));
  const program = startProcess(root, process.execPath, ["hello.ts"]);
  await program.printed(new RegExp(`is listening on http://localhost:${port}/`));
  await expect.poll(() => fetch(`http://localhost:${port}/`).then((answer) => answer.text(), String)).toBe("hello");
});
