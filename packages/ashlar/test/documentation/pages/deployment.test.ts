import { execFileSync } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { DEPLOYMENT_KINDS } from "../../../src/scaffold/index.ts";
import { generateSecret } from "../../../src/security/index.ts";
import { ashlar } from "../../support/command-line.ts";
import { setVariables } from "../../support/doctor.ts";
import {
  checkTypes,
  freePort,
  generateApplication,
  generatedApplication,
  type ServedProcess,
  startServing,
} from "../../support/generated-application.ts";
import { followPage, pageFiles } from "../../support/page-files.ts";
import { pageTables } from "../../support/page-tables.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";
import { withProgram } from "../../support/system-programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PAGE = "docs/guides/deployment.md";

/** The rows of the page's table, as the variables of a machine behind a proxy. */
function variables(port: number): Record<string, string> {
  return {
    APP_ENV: "production",
    NODE_ENV: "production",
    APP_URL: "https://shop.example",
    APP_KEY: generateSecret(),
    JWT_SECRET: generateSecret(),
    HOST: "127.0.0.1",
    PORT: String(port),
    TRUSTED_PROXIES: "127.0.0.1",
    MAIL_FROM: "shop@shop.example",
    SMTP_HOST: "127.0.0.1",
  };
}

describe("in production, set up as on the page", () => {
  let root: string;
  let remove: () => Promise<void>;
  let served: ServedProcess;

  beforeAll(async () => {
    ({ root, remove } = await generateApplication());
    await followPage(root, PAGE);
    await checkTypes(root);
    await ashlar(root, "migrate");
    served = await startServing(root, variables(await freePort()));
  });
  afterAll(async () => {
    served?.child.kill("SIGKILL");
    await remove();
  });

  test("the page's monitoring paths show this machine the details, and others only the status", async () => {
    const shown = (await markdownSamples(PAGE)).find(({ code }) => code.startsWith('{"status":"not ready"'))!.code;
    const ready = await fetch(`${served.url}ready`);
    const told = (await ready.json()) as { readonly checks: Readonly<Record<string, string>> };
    const { checks } = JSON.parse(shown) as typeof told;
    expect([ready.status, told]).toEqual([
      200,
      { status: "ready", draining: false, checks: { ...checks, database: "ok" } },
    ]);
    const proxied = await fetch(`${served.url}ready`, { headers: { "x-forwarded-for": "203.0.113.9" } });
    expect(await proxied.json()).toEqual({ status: "ready" });
    expect(await (await fetch(`${served.url}up`)).json()).toEqual({ status: "up" });
  });
});

test("the page's first deployment serves in production, and its commands run", async () => {
  const page = await readFile(join(REPOSITORY, PAGE), "utf8");
  const section = /\n## The first deployment\n([\s\S]*?)\n## /.exec(page)![1]!;
  const [prepare, variables, serve] = [...section.matchAll(/```(?:sh|ini)\n([\s\S]*?)```/g)].map(([, code]) =>
    code!.trim(),
  );
  expect(prepare!.split("\n").at(-1)).toBe("npx ashlar key:generate");
  expect(serve!.split("\n").filter((line) => line.startsWith("np"))).toEqual([
    "npm run migrate",
    "npx ashlar doctor",
    "npm start",
  ]);

  const root = await generatedApplication();
  await rm(join(root, ".env"));
  await ashlar(root, "key:generate");
  await setVariables(root, ...variables!.split("\n"));
  await ashlar(root, "migrate");
  const { output } = await ashlar(root, "doctor", "--json");
  expect(JSON.parse(output)).toMatchObject({ environment: "production" });
  const { child, url } = await startServing(root);
  onTestFinished(() => void child.kill("SIGKILL"));
  expect((await fetch(`${url}dev/mailbox`, { headers: { "x-forwarded-proto": "https" } })).status).toBe(404);
});

describe("the files of `ashlar make:deploy`", () => {
  test("the page shows them for an application called shop with PostgreSQL and npm", async () => {
    const root = await generatedApplication({ database: "postgres" });
    await writeFile(join(root, "package-lock.json"), "{}");
    const { output } = await ashlar(root, "make:deploy");
    const written = [...output.matchAll(/^Created (.+)$/gm)].map(([, path]) => path!);
    const shown = new Map((await pageFiles(PAGE)).map(({ path, text }) => [path, text]));
    // Its servers are those of the other configuration of nginx, with other addresses, and HTTP/2.
    for (const path of written.filter((one) => one !== "deploy/nginx.compose.conf")) {
      expect([path, shown.get(path)]).toEqual([path, await readFile(join(root, path), "utf8")]);
    }
    const [own, composed] = await Promise.all(
      ["deploy/nginx.conf", "deploy/nginx.compose.conf"].map((path) => readFile(join(root, path), "utf8")),
    );
    const [, servers = ""] = /\nhttp \{\n([\s\S]*)\}\n$/.exec(composed!) ?? [];
    expect(servers.replaceAll(/^ {2}/gm, "").replaceAll(/172\.30\.0\.1\d:\d+/g, "")).toBe(
      own!.replaceAll(/127\.0\.0\.1:\d+/g, "").replace(/ {2}# For HTTP\/2.*\n {2}# (http2 on;)/, "  $1"),
    );
  });

  test("the table names each kind with its files", async () => {
    const root = await generatedApplication({ database: "postgres" });
    const { rows } = (await pageTables(PAGE)).find(({ columns }) => columns[0] === "`npx ashlar make:deploy`")!;
    const kinds = rows.flatMap((row) => row["`npx ashlar make:deploy`"]!.match(/(?<=`)\w+(?=`)/g)!);
    expect(kinds.toSorted()).toEqual([...DEPLOYMENT_KINDS].toSorted());
    for (const row of rows) {
      for (const kind of row["`npx ashlar make:deploy`"]!.match(/(?<=`)\w+(?=`)/g)!) {
        const { output } = await ashlar(root, "make:deploy", kind, "--force");
        const files = [...output.matchAll(/^Created (.+)$/gm)].map(([, path]) => path!);
        expect(files.length).toBeGreaterThan(0);
        for (const file of files) expect(row.writes).toContain(`\`${file}\``);
      }
    }
  });

  test("every Compose command on a page names the file with compose.yaml's variables, and builds", async () => {
    const lines = (await markdownSamples("docs", "README.md")).flatMap(({ code }) => code.split("\n"));
    const commands = lines.filter((line) => line.startsWith("docker compose "));
    expect(commands.length).toBeGreaterThan(3);
    for (const command of commands) {
      expect(command).toMatch(/^docker compose --env-file \/etc\/shop\.env up --detach --build( --wait (one|two))?$/);
    }
  });

  test("the page's commands use the files' names and times, and no secret is in the copied folder", async () => {
    const samples = await markdownSamples(PAGE);
    const docker = samples.find(({ code }) => code.startsWith("docker build"))!.code;
    expect(docker.match(/--env-file \S+/g)).toEqual(["--env-file /etc/shop.env", "--env-file /etc/shop.env"]);
    const files = new Map((await pageFiles(PAGE)).map(({ path, text }) => [path, text]));
    const [, seconds] = /stop_grace_period: (\d+)s/.exec(files.get("compose.yaml")!)!;
    expect(docker).toContain(`docker stop --timeout ${seconds} shop`);
    expect(files.get("deploy/shop@.service")).toContain(`TimeoutStopSec=${seconds}\n`);
    expect(files.get("compose.yaml")).toContain("env_file: /etc/shop.env\n");
    const updates = samples.find(({ code }) => /^docker compose .* --wait/.test(code))!.code;
    const services = [...updates.matchAll(/--wait (\w+)$/gm)].map(([, service]) => service);
    expect(services).toEqual(["one", "two"]);
    for (const service of services) expect(files.get("compose.yaml")).toContain(`\n  ${service}:\n`);
  });
});

withProgram("sqlite3", () => {
  test("a backup is readable by its owner only", async () => {
    const folder = await temporaryFolder();
    const [database, copy] = [join(folder, "app.sqlite"), join(folder, "copy.sqlite")];
    execFileSync("sqlite3", [database, "create table users (id integer)"]);
    const [line = ""] = (await markdownSamples(PAGE)).find(({ code }) => code.includes(".backup"))!.code.split("\n");
    const command = line.replace("/srv/shop/database/app.sqlite", database).replace("/var/backups/shop.sqlite", copy);
    execFileSync("sh", ["-c", command]);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
  });
});
