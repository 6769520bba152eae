// The image and the services from `ashlar make:deploy`.
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { DCLinter } from "dclint";
import { validate } from "dockerfile-utils";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { edit, execute, freePort, generatedApplication } from "../support/generated-application.ts";
import { buildImage } from "../support/image-folder.ts";
import { startProcess } from "../support/long-process.ts";
import { canInstall, packageRegistry } from "../support/package-registry.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DATABASES = ["sqlite", "postgres", "mariadb"] as const;
/** Rules about style, and one against public ports, which a public site needs. */
const OTHER_TASTE = ["no-unbound-port-interfaces", "require-quotes-in-ports", "service-keys-order"];

/** The linter's findings. Its types import files without extensions, so TypeScript doesn't find them. */
interface Finding {
  readonly rule: string;
  readonly category: string;
  readonly message: string;
}

/** The problems in a Compose file, according to Compose's schema and the linter. */
async function problemsOf(file: string): Promise<string[]> {
  const linter = new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [], disableAllRules: false });
  // The linter doesn't follow YAML merges, which the services use.
  const merged = join(await temporaryFolder(), "compose.yaml");
  await writeFile(
    merged,
    stringify(parse(await readFile(file, "utf8"), { merge: true }), { aliasDuplicateObjects: false }),
  );
  const found = (one: string): Finding[] =>
    (linter.lintFiles([one], false) as { readonly messages: Finding[] }[]).flatMap(({ messages }) => messages);
  return [
    ...found(file).filter(({ rule, category }) => category !== "style" && !OTHER_TASTE.includes(rule)),
    ...found(merged).filter(({ rule }) => rule.startsWith("invalid-")),
  ].map(({ rule, message }) => `${rule}: ${message}`);
}

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly networks: Readonly<Record<string, { readonly ipv4_address?: string }>>;
  readonly depends_on: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly [setting: string]: unknown;
}

async function servicesOf(root: string): Promise<Readonly<Record<string, Service>>> {
  const text = await readFile(join(root, "compose.yaml"), "utf8");
  return (parse(text, { merge: true }) as { readonly services: Readonly<Record<string, Service>> }).services;
}

describe.each([...DATABASES, "no database"] as const)("with %s", (database) => {
  test("a parser of Dockerfiles and Compose's schema accept the files", async () => {
    const has = database === "no database" ? { pages: false, api: false } : { database };
    const root = await generatedApplication(has);
    if (database === "no database") {
      await edit(root, "config/providers.ts", ["  DatabaseProvider,\n", ""], ["  AuthProvider,\n", ""]);
    }
    for (const flags of [[], ["--no-redis", "--force"]]) {
      expect(await ashlar(root, "make:deploy", "compose", ...flags)).toMatchObject({ code: 0, errors: "" });
      expect(validate(await readFile(join(root, "Dockerfile"), "utf8"))).toEqual([]);
      expect(await problemsOf(join(root, "compose.yaml"))).toEqual([]);
    }
  });
});

test("the schema would refuse a setting that Compose doesn't know, and the parser a broken instruction", async () => {
  const root = await generatedApplication();
  await ashlar(root, "make:deploy", "compose");
  const file = join(root, "compose.yaml");
  await writeFile(file, (await readFile(file, "utf8")).replace("read_only:", "readonly:"));
  expect((await problemsOf(file)).join()).toContain("must NOT have additional properties");
  expect(validate("FROM node\nRUNS npm ci\n")).toHaveLength(1);
});

test("two instances on PostgreSQL trust only nginx, and start after the migrations", async () => {
  const root = await generatedApplication({ database: "postgres" });
  await ashlar(root, "make:deploy", "compose");
  const { migrate, one, two, nginx, database, redis, ...others } = await servicesOf(root);
  expect(others).toEqual({});
  const addresses = [one, two].map((service) => service!.networks.front!.ipv4_address);
  const configuration = await readFile(join(root, "deploy/nginx.compose.conf"), "utf8");
  expect([...configuration.matchAll(/^ {4}server (\S+):3000 /gm)].map(([, address]) => address)).toEqual(addresses);
  for (const service of [one!, two!]) {
    expect(service.environment).toMatchObject({
      TRUSTED_PROXIES: nginx!.networks.front!.ipv4_address,
      DATABASE_CONNECTION: "postgres",
      APP_PROCESSES: "2",
    });
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], stop_grace_period: "25s" });
    expect(service.depends_on).toEqual({
      migrate: { condition: "service_completed_successfully" },
      redis: { condition: "service_started" },
    });
    expect(service.healthcheck.test).toEqual([
      "CMD",
      "bash",
      "-c",
      expect.stringMatching(/127\.0\.0\.1\/3000 .*GET \/ready /),
    ]);
  }
  expect(migrate).toMatchObject({
    command: ["node", "node_modules/ashlar/bin/ashlar.js", "migrate", "--allow-newer"],
    depends_on: { database: { condition: "service_healthy" } },
  });
  // Only the instances and the migrations can reach the data.
  expect([database!.networks, redis!.networks, nginx!.networks]).toEqual([
    ["back"],
    ["back"],
    { front: { ipv4_address: expect.any(String) } },
  ]);
  expect([database!.ports, redis!.ports]).toEqual([undefined, undefined]);
});

test("Compose's health check distinguishes ready instances from others without starting a Node.js process", async () => {
  const root = await generatedApplication();
  let status = 200;
  const server = createServer((_, response) => void response.writeHead(status).end());
  onTestFinished(() => void server.close());
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await edit(root, ".env", ["PORT=3000", `PORT=${port}`]);
  await ashlar(root, "make:deploy", "compose");
  const [, program, ...args] = (await servicesOf(root)).one!.healthcheck.test;
  const codes: (number | null)[] = [];
  for (status of [200, 503, 404]) codes.push((await execute(root, program!, args)).code);
  expect(codes).toEqual([0, 1, 1]);
  expect([program, ...args].join(" ")).not.toContain("node");
});

test("the size of containers' logs is limited", async () => {
  for (const database of DATABASES) {
    const root = await generatedApplication({ database });
    await ashlar(root, "make:deploy", "compose");
    for (const [name, { logging }] of Object.entries(await servicesOf(root))) {
      expect([name, logging]).toEqual([name, { driver: "local", options: { "max-size": "50m", "max-file": "10" } }]);
    }
  }
});

test("a missing password stops Compose, and no file contains one", async () => {
  for (const database of DATABASES) {
    const root = await generatedApplication({ database });
    await ashlar(root, "make:deploy", "compose");
    const text = await readFile(join(root, "compose.yaml"), "utf8");
    const variables = [...text.matchAll(/\$\{([^}]*)\}/g)].map(([, variable]) => variable!);
    expect(variables.every((variable) => /^\w+_PASSWORD:\?set it in \/etc\/shop\.env$/.test(variable))).toBe(true);
    expect(new Set(variables.map((variable) => variable.split(":")[0]))).toEqual(
      new Set(["REDIS_PASSWORD", ...(database === "sqlite" ? [] : ["DATABASE_PASSWORD"])]),
    );
  }
});

test("with SQLite, both instances and the migrations share one file, in a volume", async () => {
  const root = await generatedApplication();
  await ashlar(root, "make:deploy", "compose", "--no-redis");
  const { migrate, one, two, nginx, ...others } = await servicesOf(root);
  expect(others).toEqual({});
  for (const service of [migrate!, one!, two!]) {
    expect(service.volumes).toEqual(["data:/data"]);
    expect(service.environment).toMatchObject({ DATABASE_PATH: "/data/app.sqlite" });
  }
  expect(nginx).toBeDefined();
});

/** Runs a command as another user, who doesn't own the files and can't write to any. */
async function asStranger(folder: string, command: readonly string[]): Promise<readonly [string, ...string[]]> {
  const [, ...args] = command;
  if (process.getuid!() === 0) {
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, ...args];
  }
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o555);
  }
  return [process.execPath, ...args];
}

test.skipIf(!canInstall && !process.env.CI)(
  "the Dockerfile's instructions make an application that serves without writing to its files, and reports its health",
  async () => {
    const registry = await packageRegistry();
    const folder = await temporaryFolder();
    const root = await generatedApplication();
    const port = await freePort();
    await writeFile(join(root, ".env"), `${await readFile(join(root, ".env"), "utf8")}\nPORT=${port}\n`);
    await writeFile(join(root, "database/app.sqlite-shm"), "");
    const locked = await execute(root, "npm", ["install", "--package-lock-only", "--silent"], registry);
    expect(locked.code, locked.output).toBe(0);
    const planted = [".npmrc", "server.pem", "private.key", "old.db", "old.db-wal", "backup.sql", "users.dump"];
    for (const file of planted) await writeFile(join(root, file), file === ".npmrc" ? "fund=false\n" : "secret");
    await ashlar(root, "make:deploy", "docker");
    expect(await readFile(join(root, "Dockerfile"), "utf8")).not.toMatch(/^COPY .*\.npmrc/m);
    await chmod(folder, 0o755);

    const image = await buildImage(root, folder, registry);
    expect(image.base).toMatch(/^node:\d+-slim$/);
    expect(image.user).toBe("node");
    expect(image.environment).toMatchObject({ APP_ENV: "production", HOST: "0.0.0.0", PORT: String(port) });
    const files = await readdir(image.workFolder);
    expect(files).toEqual(expect.arrayContaining(["app.ts", "config", "node_modules", "package.json"]));
    // Neither secrets nor files for development.
    expect(files.filter((file) => /^\.env|Dockerfile|^deploy$/.test(file))).toEqual([]);
    for (const name of ["typescript", "youch"]) {
      expect([name, existsSync(join(image.workFolder, "node_modules", name))]).toEqual([name, false]);
    }
    // A database with another name, keys, and files that a package manager or a dump may have left.
    expect(files.filter((file) => planted.includes(file))).toEqual([]);

    const data = join(image.folder, "data");
    await chmod(data, 0o777);
    const scratch = join(folder, "tmp");
    await mkdir(scratch);
    await chmod(scratch, 0o777);
    const environment = {
      ...image.environment,
      ...{ HOST: "127.0.0.1", DATABASE_PATH: join(data, "app.sqlite"), TMPDIR: scratch, HOME: "/nonexistent" },
      ...{ APP_URL: "https://shop.example", APP_KEY: generateSecret(), JWT_SECRET: generateSecret() },
      ...{ MAIL_FROM: "shop@shop.example", SMTP_HOST: "127.0.0.1" },
    };
    const [program, ...migrate] = await asStranger(image.workFolder, [...image.command.slice(0, -1), "migrate"]);
    const migrated = await execute(image.workFolder, program, migrate, environment);
    expect(migrated.code, migrated.output).toBe(0);
    const [, ...serve] = await asStranger(image.workFolder, image.command);
    const served = startProcess(image.workFolder, program, serve, environment);
    await served.printed(/is listening on/);
    expect((await fetch(`http://127.0.0.1:${port}/login`)).status).toBe(200);
    const health = (): Promise<{ code: number | null }> =>
      execute(image.workFolder, image.healthCheck[0]!, image.healthCheck.slice(1));
    // Starting Node.js would cost more than the requests of many visitors.
    expect(image.healthCheck.join(" ")).not.toContain("node");
    expect(await health()).toEqual({ code: 0, output: "" });
    served.child.kill("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
    expect(await health()).toMatchObject({ code: 1 });
  },
  180_000,
);
